//! Memory that all ranks of an endpoint share when they run on one host, and how they meet there.
//!
//! Ranks of one host need no messages to agree: each writes what it has into a slot of its own, and the one that arrives
//! last looks at all slots, does what is to be done once, and writes a verdict that the others read. So a meeting wakes
//! every rank once, and costs t_s of a cache line where ranks have a core each. Works under every MPI, also those that call
//! each rank a node.
//!
//! | module | holds |
//! |---|---|
//! | [`host`] | which ranks are on one host |
//! | [`memory`] | the memory: made by rank 0, mapped by all, gone with the last process |
//! | [`signal`] | a word to wait on |
//! | [`meeting`] | slots, the last to arrive, the verdict |
//! | [`group`] | memory of a few ranks among many: those of one node |
//! | [`hosts`] | who speaks for the ranks of each of several hosts, and what they hand in |

pub mod group;
pub mod host;
pub mod hosts;
pub mod meeting;
pub mod memory;
pub mod signal;

pub use group::Group;
pub(super) use group::Grouped;
pub use hosts::{HANDED_IN, Hosts};
pub use meeting::{Met, SLOT, Shared, Slots, VERDICT};
pub use memory::SharedMemory;
pub use signal::{Signal, Watch};
