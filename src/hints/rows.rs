//! The table of all hints. A new hint is one row here: key, field, type, default, codec, unit, meaning.

use serde::{Deserialize, Serialize};

use super::names::{
    AllgatherName, DriverName, FLAT, KernelName, Limit, LustreRound, OnFailure, Overlap, PairwiseEmpty, PlacementHint,
    RankListHint, Switch, THROTTLE_MODE, TwoLayerInner,
};
use super::values::{
    ABLE, COUNT, COUNT_OR_AUTO, COUNT_OR_ZERO, PATH, PER_NODE, SIZE, SIZE_OR_AUTO, SIZE_OR_ZERO, STRIPES_OR_AUTO, TRUTH,
};
use crate::exchange::{ASCENDING_ISSEND, BALANCED, Flat};
use crate::schedule::ThrottleMode;

/// What the table knows of one key.
pub(super) struct Key {
    pub(super) key: &'static str,
    pub(super) unit: &'static str,
    pub(super) allowed: &'static str,
    pub(super) meaning: &'static str,
    /// Takes the value over; false, and nothing changed, when it is not allowed.
    pub(super) set: fn(&mut Hints, &str) -> bool,
    pub(super) get: fn(&Hints) -> String,
}

macro_rules! hints {
    ($($(#[doc = $doc:literal])+ $key:literal $field:ident: $type:ty = $default:expr, $codec:expr, $unit:literal;)+) => {
        /// How a file is written and read: what the user asked for, and the defaults of everything else.
        ///
        /// Made by [`Hints::parse`], [`Hints::from_env`] or [`Default`]; must pass [`Hints::check`] once the number of
        /// ranks is known. Equal on all ranks of a collective call, which is the caller's duty.
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

        /// Every hint, in the order of the documentation.
        pub(super) const KEYS: &[Key] = &[$(Key {
            key: $key,
            unit: $unit,
            allowed: $codec.allowed,
            meaning: concat!($($doc,)+),
            set: |hints, text| ($codec.parse)(text).map(|value| hints.$field = value).is_some(),
            get: |hints| ($codec.print)(&hints.$field),
        },)+];
    };
}

hints! {
    /// How many I/O aggregators. `auto`: the driver decides (Lustre: the stripe count; others: one per node). More than
    /// there are ranks, or than `cb_config_list` permits, is cut down.
    "cb_nodes" cb_nodes: Option<usize> = None, COUNT_OR_AUTO, "ranks";
    /// What an aggregator holds of the file in one round, for each of its `trib_write_buffers`. In whole stripes or blocks
    /// where it holds one; the Lustre driver takes at least one stripe. Small windows are allowed,
    /// and slow: every rank that has bytes in a window sends (or gets) a message for it, and below 64 KiB that is what the time
    /// goes to.
    "cb_buffer_size" cb_buffer_size: u64 = 16 << 20, SIZE, "bytes";
    /// The most aggregators of any one node; `*:*` is no limit. Without `cb_nodes`, the drivers that take one aggregator
    /// per node take N.
    "cb_config_list" cb_config_list: Option<usize> = None, PER_NODE, "ranks per node";
    /// Stripe size of a new file on Lustre, and what the domains are aligned to on any file system. `auto`: as the file
    /// system has it.
    "striping_unit" striping_unit: Option<u64> = None, SIZE_OR_AUTO, "bytes";
    /// Stripe count of a new file on Lustre, and what the Lustre driver takes it for on any file system. `auto`: as the
    /// file system has it.
    "striping_factor" striping_factor: Option<u32> = None, STRIPES_OR_AUTO, "stripes";
    /// Whether collective writes are exchanged. `automatic`: unless the requests are large and do not interleave (see
    /// `trib_direct_min`). Overlapping bytes of several ranks are one rank's only where they are exchanged.
    "romio_cb_write" cb_write: Switch = Switch::Automatic, Switch::CODEC, "";
    /// Whether collective reads are exchanged; as for writes.
    "romio_cb_read" cb_read: Switch = Switch::Automatic, Switch::CODEC, "";
    /// Whether a window with holes is read, changed and written as a whole. `disable`: each piece is written by itself;
    /// `automatic`: whichever is expected to take less time.
    "romio_ds_write" ds_write: Switch = Switch::Automatic, Switch::CODEC, "";
    /// Whether a window (or, on the direct path, 4 MiB) is read as a whole where only parts of it are wanted. `disable`: each
    /// part is read by itself; `automatic`: parts less than 256 KiB apart are read together.
    "romio_ds_read" ds_read: Switch = Switch::Automatic, Switch::CODEC, "";
    /// A promise that the file is not read or written independently: where bytes are exchanged by messages, only aggregators
    /// open it.
    "romio_no_indep_rw" no_indep_rw: bool = false, TRUTH, "";
    /// Local aggregators on every node for the kernel `two_layer`; 0: see `trib_local_aggregators`.
    "nc_num_aggrs_per_node" num_aggrs_per_node: usize = 0, COUNT_OR_ZERO, "ranks per node";
    /// The kernel that exchanges metadata.
    "trib_kernel_meta" kernel_meta: KernelName = KernelName::Flat(Flat::new(&BALANCED)), KernelName::CODEC, "";
    /// The kernel that exchanges data.
    "trib_kernel_data" kernel_data: KernelName = KernelName::Flat(Flat::new(&BALANCED)), KernelName::CODEC, "";
    /// The most sends, and the most receives, that a rank has outstanding in the metadata phase. `default`: 32 for
    /// `spread_out` and `balanced`, 1 for `pairwise` (which takes no other), none for the ascending kernels; for
    /// `two_layer`, that of its outer kernel.
    "trib_throttle_meta" limit_meta: Limit = Limit::Default, Limit::CODEC, "requests";
    /// The same in the data phase.
    "trib_throttle_data" limit_data: Limit = Limit::Default, Limit::CODEC, "requests";
    /// How the limit is kept: `batch` posts so many and waits for all of them, `window` posts the next as any one
    /// finishes.
    "trib_throttle_mode" throttle_mode: ThrottleMode = ThrottleMode::Batch, THROTTLE_MODE, "";
    /// The order of ranks that the kernel `balanced` divides into groups.
    "trib_rank_list" rank_list: RankListHint = RankListHint::Identity, RankListHint::CODEC, "";
    /// What the kernel `pairwise` does in a step that has nothing to exchange.
    "trib_pairwise_empty" pairwise_empty: PairwiseEmpty = PairwiseEmpty::Skip, PairwiseEmpty::CODEC, "";
    /// The kernel between local aggregators and aggregators in `two_layer`.
    "trib_two_layer_outer" two_layer_outer: Flat = Flat::new(&ASCENDING_ISSEND), FLAT, "";
    /// How lists and data get from the ranks of a node to their local aggregator in `two_layer`, and data back. `direct`:
    /// every rank sends its own; `ordered_tree`: neighbours join, the one with fewer bytes sending to the other, so that a
    /// local aggregator of m ranks gets about log2 m messages, not m.
    "trib_two_layer_inner" two_layer_inner: TwoLayerInner = TwoLayerInner::Direct, TwoLayerInner::CODEC, "";
    /// What several ranks have joined in the ordered tree goes to the local aggregator directly where it is more than this:
    /// many small messages become few, large ones do not travel twice. 2^62: never.
    "trib_two_layer_threshold" two_layer_threshold: u64 = 64 << 10, SIZE, "bytes";
    /// Local aggregators in all for the kernel `two_layer`; superseded by `nc_num_aggrs_per_node` above 0. The default is
    /// the paper's.
    "trib_local_aggregators" local_aggregators: usize = 512, COUNT, "ranks";
    /// The file-system driver. `auto`: by the file system that the file is on.
    "trib_driver" driver: DriverName = DriverName::Auto, DriverName::CODEC, "";
    /// Which ranks are aggregators: `stride:K` ranks 0, K, 2 K, ...; `spread` as far apart as there are nodes;
    /// `lowest_per_node` one on every node; `list:` exactly these.
    "trib_placement" placement: PlacementHint = PlacementHint::Default, PlacementHint::CODEC, "";
    /// What the Lustre driver takes in a round: as many stripes per aggregator as `cb_buffer_size` holds, or one stripe (as
    /// in the paper).
    "trib_lustre_round" lustre_round: LustreRound = LustreRound::Buffer, LustreRound::CODEC, "";
    /// Whose bytes stay where several ranks write. `any`: one of theirs, never a mixture within an extent (but with
    /// `romio_cb_write=disable`, where the file system decides); `rank_order`: the highest rank's, whatever the kernel. (`two_layer` then gathers only for ranks that
    /// follow one another, and everything is exchanged, also with `romio_cb_write=disable`.)
    "trib_overlap" overlap: Overlap = Overlap::Any, Overlap::CODEC, "";
    /// How ranks tell each other what all must know of each: their nodes, when a file is opened, and their ranges, before large
    /// requests are written directly. (Where sums and bounds are enough, an allreduce of some numbers takes its place.)
    "trib_allgather" allgather: AllgatherName = AllgatherName::LocalityBruck, AllgatherName::CODEC, "";
    /// A table that `trib tune collectives` wrote, in JSON: the broadcasts of hints, the agreements and the gather of statistics
    /// of a file use the algorithms that were the fastest for the rank count and size that are nearest. Empty: none.
    "trib_tuned_table" tuned_table: String = String::new(), PATH, "";
    /// Calls of so many bytes or fewer, over all ranks, go through one rank: rank 0 writes data that comes with the first
    /// agreement, and the first aggregator what does not fit there; more would cost a message from every rank to each
    /// aggregator for nothing. 0: never.
    "trib_tiny_call" tiny_call: u64 = 64 << 10, SIZE_OR_ZERO, "bytes";
    /// Dedicated I/O mode: so many ranks, the last of every node in turn, only aggregate and must have no data of their own; the
    /// others hand theirs over and go on. A write is then complete, and its error told, at the next call on the file, at its
    /// sync or its close. 0: ranks with data aggregate too.
    "trib_io_ranks" io_ranks: usize = 0, COUNT_OR_ZERO, "ranks";
    /// Pretends that nodes hold so many consecutive ranks; 0: what the machine says.
    "trib_ranks_per_node" ranks_per_node: usize = 0, COUNT_OR_ZERO, "ranks per node";
    /// Buffers of `cb_buffer_size` per aggregator: one round is written (or read) while another is exchanged. 1: no overlap.
    "trib_write_buffers" write_buffers: usize = 2, COUNT, "buffers";
    /// Whether flattening, plan and metadata are kept for the next call with the same view, here or further on in the file.
    "trib_plan_cache" plan_cache: bool = true, ABLE, "";
    /// With `romio_cb_write=automatic` (or `romio_cb_read`): the mean size of a request from which requests that do not
    /// overlap are written (read) by their owners, without exchange, on Lustre and GPFS; elsewhere it is 16 KiB (4 KiB for
    /// at most 4 requests of a rank; 4 requests of any size are read so), if that is less.
    "trib_direct_min" direct_min: u64 = 4 << 20, SIZE, "bytes";
    /// Whether ranks that are all on one host write and read through memory that they share, without messages, and whether,
    /// where they are on several, they agree, and `two_layer` gathers, through memory inside each host. `automatic`: on MPI, unless nodes are pretended;
    /// `enable`: also where ranks are threads, and inside pretended nodes. (Not with `trib_io_ranks` and `trib_tuned_table`.)
    "trib_shared_memory" shared_memory: Switch = Switch::Automatic, Switch::CODEC, "";
    /// What a rank does when a collective call fails in a way that the other ranks cannot be told of: a panic, an error of MPI,
    /// a damaged message. `abort`: it says why on standard error and ends the job; `return`: it returns the error, and the
    /// others may wait for ever. (Errors of arguments and of the file are returned by all ranks alike.)
    "trib_on_failure" on_failure: OnFailure = OnFailure::Abort, OnFailure::CODEC, "";
}
