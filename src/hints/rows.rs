//! The table of all hints. A new hint is one row: key, field, type, default, codec, unit, meaning, the reason why a user sets
//! it, and `ONLY_EXCHANGED` if so. A value that no user would set is a constant in the code and no hint.

use serde::{Deserialize, Serialize};

use super::names::{
    DRIVER, DriverName, KERNEL, KERNEL_OR_COMMON, KernelHint, LIMIT_OR_COMMON, Limit, OnFailure, Overlap, PLACEMENT,
    PlacementHint, RankListHint, Switch, THROTTLE_MODE,
};
use super::values::{
    COUNT, COUNT_OR_AUTO, COUNT_OR_ZERO, PATH, PER_NODE, SERVER_OR_AUTO, SIZE, SIZE_OR_AUTO, SIZE_OR_ZERO,
    STRIPES_OR_AUTO, TRUTH,
};
use crate::exchange::{ASCENDING_ISSEND, Kernel};
use crate::schedule::ThrottleMode;

/// A row of the table.
pub(super) struct Key {
    pub(super) key: &'static str,
    pub(super) unit: &'static str,
    pub(super) allowed: fn() -> &'static str,
    pub(super) meaning: &'static str,
    pub(super) when: &'static str,
    /// Whether it has an effect only where bytes are exchanged by messages.
    pub(super) only_exchanged: bool,
    /// Sets the value; returns false and changes nothing if it is not allowed.
    pub(super) set: fn(&mut Hints, &str) -> bool,
    pub(super) get: fn(&Hints) -> String,
}

/// At the end of a row: the hint has an effect only where bytes are exchanged by messages.
const ONLY_EXCHANGED: bool = true;

macro_rules! hints {
    ($($(#[doc = $doc:literal])+ $key:literal $field:ident: $type:ty = $default:expr, $codec:expr, $unit:literal,
       $when:literal $(, $only_exchanged:ident)?;)+) => {
        /// The hints of a file: the user's values, and defaults for the others.
        ///
        /// Made by [`Hints::parse`], [`Hints::from_env`] or [`Default`]; must pass [`Hints::check`] once the number of ranks is
        /// known. The caller passes equal hints on all ranks of a collective call.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Hints {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\nHint `", $key, "`, unit: ", $unit, ", default `", stringify!($default), "`.")]
                #[serde(rename = $key)]
                pub $field: $type,
            )+
        }

        impl Default for Hints {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        /// All hints, in the order of the documentation.
        pub(super) const KEYS: &[Key] = &[$(Key {
            key: $key,
            unit: $unit,
            allowed: $codec.allowed,
            meaning: concat!($($doc,)+),
            when: $when,
            only_exchanged: false $(|| $only_exchanged)?,
            set: |hints, text| ($codec.parse)(text).map(|value| hints.$field = value).is_some(),
            get: |hints| ($codec.print)(&hints.$field),
        },)+];
    };
}

hints! {
    /// How many I/O aggregators. `auto`: the driver decides (Lustre: the stripe count; GPFS: two per node, or one where there is
    /// one node or a placement; others: one per node, but where nodes are containers of one machine, at most one for two cores
    /// that all ranks share). More than there are ranks, or than `cb_config_list` permits, is cut down.
    "cb_nodes" cb_nodes: Option<usize> = None, COUNT_OR_AUTO, "ranks",
        "The file system gives more to more (or fewer) writers than the default has.", ONLY_EXCHANGED;
    /// What an aggregator holds of the file in one round, for each of its `trib_write_buffers`. `auto`: 16 MiB; on file systems
    /// that lock no stripes or blocks 64 KiB a rank, but 4 MiB at least and 16 MiB at most. In whole stripes or blocks
    /// where it holds one; the Lustre driver takes at least one stripe. Small windows are allowed,
    /// and slow: every rank that has bytes in a window sends (or gets) a message for it, and below 64 KiB that is what the time
    /// goes to.
    "cb_buffer_size" cb_buffer_size: Option<u64> = None, SIZE_OR_AUTO, "bytes",
        "Memory on the aggregators is scarce, or rounds are many and small.";
    /// The most aggregators of any one node; `*:*` is no limit. Without `cb_nodes`, the drivers that take one or two aggregators
    /// per node take N.
    "cb_config_list" cb_config_list: Option<usize> = None, PER_NODE, "ranks per node",
        "Several aggregators on a node share one network port or memory, and slow each other down.", ONLY_EXCHANGED;
    /// Stripe size of a new file on Lustre, in whole 64 KiB, and what the domains are aligned to on any other file system. `auto`:
    /// as the file system has it.
    "striping_unit" striping_unit: Option<u64> = None, SIZE_OR_AUTO, "bytes",
        "A new file on Lustre is to have stripes of another size than its directory's.";
    /// Stripe count of a new file on Lustre, and what the Lustre driver takes it for on any other file system. `auto`: as the
    /// file system has it.
    "striping_factor" striping_factor: Option<u32> = None, STRIPES_OR_AUTO, "stripes",
        "A new file on Lustre is to lie on more or fewer servers than its directory says.";
    /// The server (OST) of the first stripe of a new file on Lustre. `auto`, or -1: any.
    "start_iodevice" start_iodevice: Option<u16> = None, SERVER_OR_AUTO, "",
        "Files that are written at the same time are to lie on different servers.";
    /// Whether collective writes are exchanged. `automatic`: unless the requests are large and do not interleave (see
    /// `trib_direct_min`). Overlapping bytes of several ranks are one rank's only where they are exchanged.
    "romio_cb_write" cb_write: Switch = Switch::Automatic, Switch::CODEC, "",
        "Calls are known to pay by exchange, or not to, where the automatic choice is wrong.";
    /// Whether collective reads are exchanged; as for writes.
    "romio_cb_read" cb_read: Switch = Switch::Automatic, Switch::CODEC, "",
        "Collective reads are known to pay by exchange, or not to, where the automatic choice is wrong.";
    /// Whether a window with holes is read, changed and written as a whole, in blocking calls during which nobody else of the
    /// program can be writing the file. `disable`: each piece is written by itself; `automatic`: whichever is expected to take less
    /// time; `disable` where hosts cache the file by themselves (NFS, FUSE) and there are several.
    "romio_ds_write" ds_write: Switch = Switch::Automatic, Switch::CODEC, "",
        "Another program writes into the holes at the same time (`disable`), or small writes are very slow (`enable`).";
    /// Whether a window (or, on the direct path, 4 MiB) is read as a whole where only parts of it are wanted. `disable`: each
    /// part is read by itself; `automatic`: parts at most 4 KiB apart are read together, on Lustre and GPFS 256 KiB.
    "romio_ds_read" ds_read: Switch = Switch::Automatic, Switch::CODEC, "",
        "Reading what is not wanted is too slow (`disable`), or small reads are (`enable`).";
    /// Whether writes of 4 MiB and more go past the cache of the system (`O_DIRECT`), but for ends of less than a page of memory;
    /// what is smaller goes through it. On Lustre, a large write without many holes is then divided in contiguous ranges in place
    /// of stripes in turn. `automatic`: on Lustre.
    "direct_write" direct_write: Switch = Switch::Automatic, Switch::CODEC, "",
        "Files that are much larger than memory, or are synced at once, on a fast disk (`enable`); what is written is read right after by the same hosts (`disable`).";
    /// Whether aggregators tell the file system what they are about to write, and that they have: on Lustre by a lock of their group on
    /// the file, for which all others wait meanwhile and which rules `direct_write` out; on GPFS by `gpfs_fcntl`. Nothing elsewhere.
    "trib_announce_writes" announce_writes: bool = false, TRUTH, "",
        "The file system's servers are busy with locks that the writing nodes take from each other.", ONLY_EXCHANGED;
    /// A promise that the file is not read or written independently: where bytes are exchanged by messages, only aggregators
    /// open it, and ranks whose large pieces amount to 1 MiB or more.
    "romio_no_indep_rw" no_indep_rw: bool = false, TRUTH, "",
        "Opening a file on every rank takes long, and the program does only collective I/O.";
    /// Local aggregators on every node for the kernel `two_layer`; 0: where `auto` chose the kernel, as suits the ranks and
    /// nodes; otherwise 512 in all, dealt to the nodes, as in the paper: up to 512 ranks every rank is its own.
    "nc_num_aggrs_per_node" num_aggrs_per_node: usize = 0, COUNT_OR_ZERO, "ranks per node",
        "`two_layer` is used on fewer than 512 ranks, or one local aggregator's memory or core is the bottleneck.", ONLY_EXCHANGED;
    /// The kernel that exchanges metadata and data. `auto`: `two_layer` where many ranks on few nodes send to few aggregators, as
    /// a formula predicts for each call, otherwise `balanced`.
    "trib_kernel" kernel: KernelHint = KernelHint::Auto, KernelHint::CODEC, "",
        "The report says that the exchange takes long: another kernel may suit the machine better.", ONLY_EXCHANGED;
    /// The kernel that exchanges metadata. `common`: the kernel of `trib_kernel`.
    "trib_kernel_meta" kernel_meta: Option<KernelHint> = None, KERNEL_OR_COMMON, "",
        "The metadata phase takes long, and the exchange of data does not.", ONLY_EXCHANGED;
    /// The kernel that exchanges data. `common`: the kernel of `trib_kernel`.
    "trib_kernel_data" kernel_data: Option<KernelHint> = None, KERNEL_OR_COMMON, "",
        "The exchange of data takes long, and the metadata phase does not.", ONLY_EXCHANGED;
    /// The maximum number of sends, and of receives, that a rank has outstanding. `default`: the kernel's own, see the table of
    /// kernels; for `two_layer`, that of its outer kernel. A kernel that finishes each step's send and receive before the next
    /// step takes no other than 1.
    "trib_throttle" limit: Limit = Limit::Default, Limit::CODEC, "requests",
        "Aggregators are flooded by messages (lower), or their network is idle (higher).", ONLY_EXCHANGED;
    /// The same for the metadata phase. `common`: the value of `trib_throttle`.
    "trib_throttle_meta" limit_meta: Option<Limit> = None, LIMIT_OR_COMMON, "requests",
        "Aggregators are flooded by lists of many ranks (lower), or wait for them (higher).", ONLY_EXCHANGED;
    /// The same for the data phase. `common`: the value of `trib_throttle`.
    "trib_throttle_data" limit_data: Option<Limit> = None, LIMIT_OR_COMMON, "requests",
        "The data phase needs another limit than the metadata phase.", ONLY_EXCHANGED;
    /// How the limit is kept: `batch` posts so many and waits for all of them, as in the paper; `window` posts the next as any
    /// one finishes. `auto`: `window` for a limit that is `default`, `batch` for a limit that is given.
    "trib_throttle_mode" throttle_mode: Option<ThrottleMode> = None, THROTTLE_MODE, "",
        "The paper's throttle is wanted (`batch`), or a given limit is not to wait for the slowest rank (`window`).", ONLY_EXCHANGED;
    /// The order of ranks that the kernel `balanced` divides into groups.
    "trib_rank_list" rank_list: RankListHint = RankListHint::Identity, RankListHint::CODEC, "",
        "Neighbouring ranks share a node, and a node's port is busy with one group at a time.", ONLY_EXCHANGED;
    /// The kernel between local aggregators and aggregators in `two_layer`.
    "trib_two_layer_outer" two_layer_outer: &'static Kernel = &ASCENDING_ISSEND, KERNEL, "",
        "Nodes are so many that the exchange between local aggregators and aggregators needs a throttle.", ONLY_EXCHANGED;
    /// The file-system driver. `auto`: by the file system that the file is on.
    "trib_driver" driver: DriverName = DriverName::Auto, DRIVER, "",
        "The file system is taken for another than it is, or the layout of another is to be tried.";
    /// Which ranks are aggregators: `stride:K` ranks 0, K, 2 K, ...; `spread` as far apart as there are nodes;
    /// `lowest_per_node` one on every node; `list:` exactly these.
    "trib_placement" placement: PlacementHint = PlacementHint::Default, PLACEMENT, "",
        "Some ranks are better connected to the file system than others.", ONLY_EXCHANGED;
    /// Whose bytes stay where several ranks write. `any`: one of theirs, never a mixture within an extent (but with
    /// `romio_cb_write=disable`, where the file system decides); `rank_order`: the highest rank's, whatever the kernel. (`two_layer` then gathers only for ranks that
    /// follow one another, and everything is exchanged, also with `romio_cb_write=disable`.)
    "trib_overlap" overlap: Overlap = Overlap::Any, Overlap::CODEC, "",
        "Ranks write the same bytes, and the program relies on which rank's stay.";
    /// A file of what messages cost on this machine, which `trib tune machine` wrote, in JSON: `auto` chooses kernels by it.
    /// Empty: the costs of a cluster of the present. They are also taken, and standard error has a line, if the file cannot be
    /// used. It is read once.
    "trib_machine" machine: String = String::new(), PATH, "",
        "Messages cost much more, or less, than on most clusters, and `trib tune machine` has measured them.";
    /// Calls of so many bytes or fewer, over all ranks, go through one rank: rank 0 writes data that comes with the first
    /// agreement, and the first aggregator what does not fit there; more would cost a message from every rank to each
    /// aggregator for nothing. 0: never.
    "trib_tiny_call" tiny_call: u64 = 64 << 10, SIZE_OR_ZERO, "bytes",
        "One aggregator is too slow for small calls (lower), or messages are (higher).";
    /// Pretends that nodes hold so many consecutive ranks; 0: what the machine says.
    "trib_ranks_per_node" ranks_per_node: usize = 0, COUNT_OR_ZERO, "ranks per node",
        "Kernels and placements for several nodes are tried on one, or the launcher hides which ranks share a node.";
    /// Buffers of `cb_buffer_size` per aggregator: one round is written (or read) while another is exchanged. 1: no overlap.
    "trib_write_buffers" write_buffers: usize = 2, COUNT, "buffers",
        "Memory on the aggregators is scarce (1), or the file's speed varies (more than 2).";
    /// With `romio_cb_write=automatic` (or `romio_cb_read`): the mean size of a request from which requests that do not
    /// overlap are written (read) by their owners, without exchange, on Lustre and GPFS; elsewhere it is 16 KiB (4 KiB for
    /// at most 4 requests of a rank; 4 requests of any size are read so), if that is less.
    "trib_direct_min" direct_min: u64 = 4 << 20, SIZE, "bytes",
        "The file system takes smaller requests well (lower), or needs larger ones (higher).";
    /// Whether ranks that are all on one host write and read through memory that they share, without messages, and whether,
    /// where they are on several, they agree, and `two_layer` gathers, through memory inside each host. `automatic`: on MPI, unless nodes are pretended;
    /// `enable`: also where ranks are threads, and inside pretended nodes.
    "trib_shared_memory" shared_memory: Switch = Switch::Automatic, Switch::CODEC, "",
        "The host has little shared memory (`disable`), or pretended nodes and threads are to use it (`enable`).";
    /// Where ranks are on several hosts: whether each host writes (and reads) what its ranks hold, through memory that they
    /// share, if no host holds bytes, or gaps below 32 KiB, of another. Nothing then travels between hosts. `automatic`: on file
    /// systems that lock no larger units and where clients may write different bytes of a page (not NFS, SMB, AFS, FUSE, 9P),
    /// unless `cb_nodes` is less than the hosts or `trib_placement` is given; `enable`: everywhere, if no hosts share a block or stripe.
    "trib_host_domains" host_domains: Switch = Switch::Automatic, Switch::CODEC, "",
        "More hosts than there are aggregators would write at once: too many (`disable`), or not too many (`enable`).";
    /// How long a rank waits in a collective call for others to come to it before a line on standard error says so: one a host,
    /// with the ranks that have not come, as far as the host knows. The call goes on. 0: no line.
    "trib_patience" patience: usize = 30, COUNT_OR_ZERO, "seconds",
        "Ranks come late to calls as a rule (longer, or 0), or a program hangs and one does not want to wait (less).";
    /// What a rank does when a collective call fails in a way that the other ranks cannot be told of: a panic, an error of MPI,
    /// a damaged message. `abort`: it says why on standard error and ends the job; `return`: it returns the error, and the
    /// others may wait for ever. (Errors of arguments and of the file are returned by all ranks alike.)
    "trib_on_failure" on_failure: OnFailure = OnFailure::Abort, OnFailure::CODEC, "",
        "The program ends its own job, and must not be aborted.";
}
