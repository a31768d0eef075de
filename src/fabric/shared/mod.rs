//! Memory that the ranks of one host share, and agreements in it without messages.
//!
//! Ranks of one host can agree without messages. Each rank fills its own slot; the last to arrive reads all slots and
//! writes a decision that the others read. An agreement wakes every rank once, and costs the transfer of a cache line
//! if each rank has a core. It works under every MPI, also if MPI counts each rank as a node.
//!
//! | module | holds |
//! |---|---|
//! | [`host`] | the host of a process, and the cores that ranks share there |
//! | [`memory`] | memory that one process makes and all map, which is gone with the last process; the types of control integers |
//! | [`atom`], [`signal`] | integers that ranks change at the same time, of the system or of a test; a counter to wait on |
//! | [`combine`] | agreements of the ranks of a host: slots and the decision |
//! | [`board`] | the collective call that each rank of a host is in |
//! | [`group`] | memory of a group of ranks on one node |
//! | [`hosts`] | several hosts: their leaders, and the contributions of their ranks |

pub mod atom;
pub mod board;
pub mod combine;
pub mod group;
pub mod host;
pub mod hosts;
pub mod memory;
pub mod signal;

pub use board::{CallBoard, ShownCall, ShownState};
pub use combine::{Combined, DECISION, MOST_RANKS, SLOT, Shared, Slots};
pub use group::GroupMemory;
pub(super) use group::Grouped;
pub use host::Cores;
pub use hosts::{HostAddress, Hosts, HostsAre, MAX_CONTRIBUTION, MemoryOffer};
pub(crate) use memory::shareable;
pub use memory::{LINE, Line, MEMORY_LAYOUT, Shareable, SharedMemory};
pub use signal::{Signal, SignalState, Watch};
