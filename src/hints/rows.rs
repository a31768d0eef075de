//! The table of all hints. A new hint is one row: key, field, type, default, codec, unit, meaning, the reason why a user sets it,
//! and `ONLY_EXCHANGED` if the hint has an effect only in exchanges. A value that no user would set is a constant in the code and
//! no hint.

use serde::{Deserialize, Serialize};

use super::names::{
    DRIVER, DriverName, KERNEL, KERNEL_OR_COMMON, KernelHint, LIMIT_OR_COMMON, Limit, OnFailure, Overlap, PLACEMENT,
    PlacementHint, RankListHint, Switch, THROTTLE_MODE,
};
use super::values::{
    COUNT_OR_AUTO, COUNT_OR_ZERO, PATH, PER_NODE, RATIO, SERVER_OR_AUTO, SIZE, SIZE_OR_AUTO, SIZE_OR_ZERO,
    SIZE_OR_ZERO_OR_AUTO, STRIPES_OR_AUTO, TRUTH,
};
use crate::exchange::{ASCENDING_ISSEND, Kernel};
use crate::schedule::ThrottleMode;

/// A row of the table of hints: how the value of one hint is set, printed and explained.
pub(super) struct Key {
    pub(super) key: &'static str,
    pub(super) unit: &'static str,
    pub(super) allowed: fn() -> &'static str,
    pub(super) meaning: &'static str,
    pub(super) when: &'static str,
    /// True if the hint has an effect only if bytes are exchanged by messages.
    pub(super) only_exchanged: bool,
    /// Function that sets the value. Returns false and changes nothing if the value is not allowed.
    pub(super) set: fn(&mut Hints, &str) -> bool,
    pub(super) get: fn(&Hints) -> String,
}

/// Stands at the end of a row whose hint has an effect only if bytes are exchanged by messages.
const ONLY_EXCHANGED: bool = true;

macro_rules! hints {
    ($($(#[doc = $doc:literal])+ $key:literal $field:ident: $type:ty = $default:expr, $codec:expr, $unit:literal,
       $when:literal $(, $only_exchanged:ident)?;)+) => {
        /// The hints of a file: the user's values, and defaults for the others.
        ///
        /// [`Hints::parse`], [`Hints::from_env`] or [`Default`] creates the hints; the caller must call
        /// [`Hints::check`] when the number of ranks is known. The caller passes equal hints on all ranks of a
        /// collective call.
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
    /// Number of I/O aggregators: the ranks that access the file for all ranks. `auto`: the driver chooses. Lustre: the stripe
    /// count. GPFS: two per node, but one if there is one node only or `trib_placement` is set. Other file systems: one per
    /// node. A number larger than the number of ranks, or than `cb_config_list` permits, is reduced to it.
    "cb_nodes" cb_nodes: Option<usize> = None, COUNT_OR_AUTO, "ranks",
        "The file system is faster with more (or fewer) writers than the default.", ONLY_EXCHANGED;
    /// Size of a window: the part of the file that an aggregator holds in memory in one round. An aggregator has
    /// `trib_write_buffers` such buffers. `auto`: 1/32 of the part of an aggregator in the call, so that filling, sending and
    /// writing go on at the same time; at least 256 KiB, and 32 KiB times the number of ranks that send to aggregators; at most 16
    /// MiB, and on file systems that do not lock stripes or blocks 64 KiB times the number of ranks, but at least 4 MiB. Later
    /// calls take what the times of earlier ones suggest (`trib_aggregators_fixed`). A window that is larger than a stripe or block
    /// is rounded to whole stripes or blocks; the Lustre driver uses at least one stripe. Small windows are slow: in every round
    /// each rank that has bytes in a window sends (or receives) one message for it, and below 64 KiB the messages take most of the
    /// time.
    "cb_buffer_size" cb_buffer_size: Option<u64> = None, SIZE_OR_AUTO, "bytes",
        "The aggregators have little memory (lower), or the report shows many small rounds (higher).";
    /// Maximum number of aggregators on a node. `*:*`: no limit; `*:N`: N. If `cb_nodes` is not set, drivers that choose one or
    /// two aggregators per node choose N.
    "cb_config_list" cb_config_list: Option<usize> = None, PER_NODE, "ranks per node",
        "Several aggregators on a node share one network port or the memory, and slow each other down.", ONLY_EXCHANGED;
    /// Stripe size of a new file on Lustre, a multiple of 64 KiB. On other file systems: the unit to which file domains are
    /// aligned. `auto`: the file system's own.
    "striping_unit" striping_unit: Option<u64> = None, SIZE_OR_AUTO, "bytes",
        "A new file on Lustre needs another stripe size than its directory has.";
    /// Stripe count of a new file on Lustre. With `trib_driver=lustre` on another file system: the stripe count that the driver
    /// assumes. `auto`: the file system's own.
    "striping_factor" striping_factor: Option<u32> = None, STRIPES_OR_AUTO, "stripes",
        "A new file on Lustre needs more (or fewer) servers than its directory uses.";
    /// The server (OST) that gets the first stripe of a new file on Lustre. `auto` or -1: Lustre chooses.
    "start_iodevice" start_iodevice: Option<u16> = None, SERVER_OR_AUTO, "",
        "Files that are written at the same time must be on different servers.";
    /// Number of stripes that a server gets of a new file on Lustre (overstriping): `striping_factor` stripes lie on
    /// `striping_factor` divided by this number servers, from `start_iodevice` (or 0) on. 1: at most one, on servers that Lustre
    /// chooses. No effect without `striping_factor`, and on a Lustre before 2.13.
    "overstriping_ratio" overstriping_ratio: u16 = 1, RATIO, "stripes per server",
        "The file system has fewer servers than a large file needs stripes.";
    /// Collective buffering of writes: aggregators write for all ranks. `enable`: always. `disable`: never; each rank writes
    /// its own bytes. `automatic`: yes, unless the requests are large and do not overlap (see `trib_direct_min`). If several
    /// ranks write the same bytes, `disable` may leave a mixture of theirs in the file.
    "romio_cb_write" cb_write: Switch = Switch::Automatic, Switch::CODEC, "",
        "The automatic choice is wrong for your program: `enable` always uses aggregators, `disable` never does.";
    /// Collective buffering of reads, as `romio_cb_write` for writes.
    "romio_cb_read" cb_read: Switch = Switch::Automatic, Switch::CODEC, "",
        "The automatic choice is wrong for your program: `enable` always uses aggregators, `disable` never does.";
    /// Data sieving of writes: writes pieces and the holes between them together. Holes where the file has data are read first;
    /// other holes become zeros, as far as the library can know where the file has no data. It happens only in blocking calls,
    /// and only if no other rank of the program can write the file at that time. `enable`: always. `disable`: writes each piece
    /// by itself. `automatic`: what takes less time by an estimate; never if the ranks are on several hosts and each host caches
    /// the file for itself (NFS, FUSE).
    "romio_ds_write" ds_write: Switch = Switch::Automatic, Switch::CODEC, "",
        "Another program writes into the holes at the same time (`disable`), or small writes are very slow (`enable`).";
    /// Data sieving of reads: reads a window as a whole although the program wants only parts of it (a rank that reads for
    /// itself: 4 MiB). `enable`: always. `disable`: reads each part by itself. `automatic`: reads parts together if the gap
    /// between them is at most 4 KiB; on Lustre and GPFS, 256 KiB.
    "romio_ds_read" ds_read: Switch = Switch::Automatic, Switch::CODEC, "",
        "Reading the gaps takes too long (`disable`), or small reads are very slow (`enable`).";
    /// Writes of 4 MiB or more bypass the page cache (`O_DIRECT`), except their ends that do not fill a page. Smaller writes
    /// use the page cache. On Lustre, a large write without many holes is then divided into contiguous ranges, one per
    /// aggregator, and not stripe by stripe. `automatic`: on Lustre only.
    "direct_write" direct_write: Switch = Switch::Automatic, Switch::CODEC, "",
        "Files are much larger than memory or are synchronized at once, on a fast disk (`enable`); the same hosts read the file right after they wrote it (`disable`).";
    /// Aggregators tell the file system which range they will write, and when they have written it. Lustre: by a group lock on
    /// the file; all other processes wait for it, and `direct_write` has no effect. GPFS: by `gpfs_fcntl`. Other file systems:
    /// no effect.
    "trib_announce_writes" announce_writes: bool = false, TRUTH, "",
        "The writing nodes take locks from each other, and this keeps the servers of the file system busy.", ONLY_EXCHANGED;
    /// Every call divides the file between aggregators, and into windows, as the first call would. `false`: aggregators that take
    /// longer in the file than the others get less of it, and windows follow from the times of earlier calls on the file, or on
    /// the last file on the same file system; what other hints set stays. A first write of 64 MiB or more for each aggregator
    /// follows from the times of its first 32nd.
    "trib_aggregators_fixed" aggregators_fixed: bool = false, TRUTH, "",
        "Calls must not depend on the times of earlier ones: you compare measurements, or the speed of the file system varies from call to call.", ONLY_EXCHANGED;
    /// A promise of the program: it does no independent I/O on this file. Then only the aggregators open the file, and the
    /// ranks that write pieces of 1 MiB or more in all by themselves. It has an effect only if ranks exchange data by messages.
    "romio_no_indep_rw" no_indep_rw: bool = false, TRUTH, "",
        "The open takes long because every rank opens the file, and the program does collective I/O only.";
    /// Number of local aggregators on every node for the kernel `two_layer`. 0: if `auto` chose the kernel, the number that
    /// fits the ranks and nodes; otherwise 512 in all, spread over the nodes, as in the paper: with at most 512 ranks every
    /// rank is its own local aggregator, and there is one layer.
    "nc_num_aggrs_per_node" num_aggrs_per_node: usize = 0, COUNT_OR_ZERO, "ranks per node",
        "`two_layer` is used on fewer than 512 ranks, or the memory or core of one local aggregator limits the speed.", ONLY_EXCHANGED;
    /// The kernel that exchanges metadata and data. `auto`: `two_layer` where many ranks on few nodes send to few aggregators, as
    /// a formula predicts for each call, otherwise `balanced`.
    "trib_kernel" kernel: KernelHint = KernelHint::Auto, KernelHint::CODEC, "",
        "The report shows that the exchange takes long: another kernel may be faster on this machine.", ONLY_EXCHANGED;
    /// The kernel that exchanges metadata. `common`: the kernel of `trib_kernel`.
    "trib_kernel_meta" kernel_meta: Option<KernelHint> = None, KERNEL_OR_COMMON, "",
        "The metadata phase takes long, and the data phase does not.", ONLY_EXCHANGED;
    /// The kernel that exchanges data. `common`: the kernel of `trib_kernel`.
    "trib_kernel_data" kernel_data: Option<KernelHint> = None, KERNEL_OR_COMMON, "",
        "The data phase takes long, and the metadata phase does not.", ONLY_EXCHANGED;
    /// Maximum number of outstanding sends of a rank, and of outstanding receives. `default`: the limit of the kernel (table of
    /// kernels below); for `two_layer`, the limit of its outer kernel. A kernel that completes the send and the receive of a
    /// step before the next step accepts only 1.
    "trib_throttle" limit: Limit = Limit::Default, Limit::CODEC, "requests",
        "Too many messages arrive at the aggregators at once (lower), or their network is idle (higher).", ONLY_EXCHANGED;
    /// The limit in the metadata phase. `common`: the value of `trib_throttle`.
    "trib_throttle_meta" limit_meta: Option<Limit> = None, LIMIT_OR_COMMON, "requests",
        "Too many lists arrive at the aggregators at once (lower), or the aggregators wait for lists (higher).", ONLY_EXCHANGED;
    /// The limit in the data phase. `common`: the value of `trib_throttle`.
    "trib_throttle_data" limit_data: Option<Limit> = None, LIMIT_OR_COMMON, "requests",
        "The data phase needs another limit than the metadata phase.", ONLY_EXCHANGED;
    /// The way in which a rank keeps the limit N of outstanding messages. `batch`: it posts N and waits for all of
    /// them, as in the paper. `window`: it posts the next as soon as any of them completes. `auto`: `window` if the
    /// limit is `default`, `batch` if you set the limit.
    "trib_throttle_mode" throttle_mode: Option<ThrottleMode> = None, THROTTLE_MODE, "",
        "You compare with the paper (`batch`), or a limit that you set must not wait for the slowest rank (`window`).", ONLY_EXCHANGED;
    /// The order of ranks that the kernel `balanced` divides into groups. `identity`: by rank. `node_round_robin`: the first
    /// rank of every node, then the second of every node, and so on. Or a list of all ranks.
    "trib_rank_list" rank_list: RankListHint = RankListHint::Identity, RankListHint::CODEC, "",
        "Neighbouring ranks are on one node, so each group keeps the network port of one node busy.", ONLY_EXCHANGED;
    /// The kernel that `two_layer` uses between local aggregators and aggregators, and between all ranks and aggregators where
    /// ranks of a node share no memory.
    "trib_two_layer_outer" two_layer_outer: &'static Kernel = &ASCENDING_ISSEND, KERNEL, "",
        "There are so many nodes that this exchange needs a throttle.", ONLY_EXCHANGED;
    /// The file-system driver. `auto`: the driver for the file system of the file.
    "trib_driver" driver: DriverName = DriverName::Auto, DRIVER, "",
        "The library takes the file system for another one, or you want to try the layout of another driver.";
    /// The choice which ranks are aggregators. `default`: the driver chooses. `stride:K`: ranks 0, K, 2 K, ...
    /// `spread`: as far apart as there are nodes. `lowest_per_node`: the lowest rank of every node. `list:R,R,...`:
    /// exactly these ranks.
    "trib_placement" placement: PlacementHint = PlacementHint::Default, PLACEMENT, "",
        "Some ranks have a better connection to the file system than others.", ONLY_EXCHANGED;
    /// Whose bytes are in the file if several ranks write the same bytes. `any`: those of one of the ranks, never a mixture
    /// within an extent (except with `romio_cb_write=disable`, where the file system decides). `rank_order`: those of the
    /// highest rank, with every kernel. For this, `two_layer` gathers only ranks with consecutive numbers, and ranks exchange
    /// all bytes, also with `romio_cb_write=disable`.
    "trib_overlap" overlap: Overlap = Overlap::Any, Overlap::CODEC, "",
        "Ranks write the same bytes, and the program relies on the order of ranks.";
    /// Path of a JSON file with what was measured on this machine. By the costs of messages (`trib-lab tune machine` writes them)
    /// `auto` chooses kernels. The costs of calls on files (`trib doctor --measure` prints them) take the place of those that the
    /// library would measure, and do not change. Without the file, the library assumes the costs of messages of a typical
    /// cluster, and measures calls. If it cannot use the file, it prints a line on standard error. It reads the file once.
    "trib_machine" machine: String = String::new(), PATH, "",
        "Messages cost much more, or less, than on most clusters; or a choice must not depend on how fast the file is today.";
    /// Maximum size of a tiny call, in bytes of all ranks. One rank does all I/O of a tiny call: rank 0, if the data fits into
    /// the first agreement; otherwise the first aggregator. With more aggregators every rank would send one message to each of
    /// them. 0: no call is tiny.
    "trib_tiny_call" tiny_call: u64 = 64 << 10, SIZE_OR_ZERO, "bytes",
        "One aggregator is too slow for small calls (lower), or messages are slow (higher).";
    /// For tests: treats every N consecutive ranks as one node. 0: uses the real nodes.
    "trib_ranks_per_node" ranks_per_node: usize = 0, COUNT_OR_ZERO, "ranks per node",
        "You try kernels and placements for several nodes on one node, or the launcher hides which ranks share a node.";
    /// Number of windows that an aggregator has in memory. With 2 or more, the aggregator writes (or reads) one round while
    /// ranks exchange the next. 1: no such overlap. `auto`: 4 of the largest windows, up to 8 smaller ones.
    "trib_write_buffers" write_buffers: Option<usize> = None, COUNT_OR_AUTO, "buffers",
        "The aggregators have little memory (1), or the speed of the file system varies (3 or more).";
    /// Write-behind: a collective write returns when its bytes are in memory, and threads write them later. The value is the
    /// maximum number of such bytes for each rank, at least 1 MiB; an aggregator has that much for each of the ranks that it
    /// serves. `auto`: 1/16 of the host's memory, shared by its ranks, and at most 256 MiB a rank; but a rank writes at once where
    /// the file is as fast as memory. 0: off. The next collective call, sync or close returns the error of a late write. Off in
    /// atomic mode, and where ranks could not wait for each other's bytes.
    "trib_write_behind" write_behind: Option<u64> = Some(0), SIZE_OR_ZERO_OR_AUTO, "bytes per rank",
        "The file is slow, and the program computes between its writes.";
    /// Mean size of a request from which ranks write (read) their own bytes without exchange, if requests do not overlap and
    /// `romio_cb_write` (`romio_cb_read`) is `automatic`. This value is for Lustre and GPFS. On other file systems the size is
    /// 16 KiB, or this value if it is smaller; for a rank with at most 4 requests it is 4 KiB in writes and 0 in reads.
    "trib_direct_min" direct_min: u64 = 4 << 20, SIZE, "bytes",
        "The file system is fast with smaller requests (lower), or needs larger ones (higher).";
    /// If all ranks are on one host, they write and read through shared memory, without messages. If they are on several hosts,
    /// the ranks of a host agree through shared memory. `automatic`: with MPI, unless `trib_ranks_per_node` is set. `enable`:
    /// also between threads, and inside the nodes of `trib_ranks_per_node`. `disable`: never. `two_layer` gathers through shared
    /// memory unless this hint is `disable`; then it has one layer.
    "trib_shared_memory" shared_memory: Switch = Switch::Automatic, Switch::CODEC, "",
        "The host has little shared memory (`disable`), or threads or the nodes of `trib_ranks_per_node` should use it (`enable`).";
    /// If ranks are on several hosts, each host writes (reads) the bytes of its own ranks through shared memory, and no data
    /// goes from host to host. This needs that no host has bytes within the range of another host, apart from gaps of 32 KiB or
    /// more. `automatic`: on file systems that do not lock stripes or blocks and whose clients may write different bytes of one
    /// page (not NFS, SMB, AFS, FUSE, 9P), unless `cb_nodes` is less than the number of hosts or `trib_placement` is set.
    /// `enable`: on every file system, if no two hosts have bytes in one block or stripe. `disable`: never.
    "trib_host_domains" host_domains: Switch = Switch::Automatic, Switch::CODEC, "",
        "All hosts would write at once, more than there are aggregators, and the file system is slower then (`disable`) or faster (`enable`).";
    /// Time that a rank waits for other ranks in a collective call before the stall watchdog prints a line on standard error:
    /// one line per host, with the ranks that have not arrived, as far as the host knows. The call continues. 0: prints no
    /// line.
    "trib_stall_timeout" stall_timeout: usize = 30, COUNT_OR_ZERO, "seconds",
        "Ranks usually arrive late (higher, or 0), or a program hangs and you want to know it sooner (lower).";
    /// Action of a rank if a collective call fails and the rank cannot inform the other ranks: a panic, an error of MPI, a damaged
    /// message. `abort`: prints the reason on standard error and ends the job. `return`: returns the error; the other ranks may
    /// wait for ever. (All ranks return an error of an argument or of the file alike.)
    "trib_on_failure" on_failure: OnFailure = OnFailure::Abort, OnFailure::CODEC, "",
        "The program ends its job itself, and the library must not.";
}
