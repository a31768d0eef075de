//! The simulator: how long schedules take on a machine that is not here.
//!
//! Discrete events, deterministic for a seed. It runs the schedules that the executors run, without payload, and makes
//! them rank by rank when their turn comes. `docs/laboratory/simulator.md` describes the model and what it leaves out.
//!
//! | module | holds |
//! |---|---|
//! | [`machine`] | what host, paths and ports cost; machine files |
//! | [`figures`] | the numbers of a machine file, with unit and source |
//! | [`links`] | dragonflies and fat trees: which links a message passes |
//! | [`workload`] | what is run: schedules, or chains of messages without their memory |
//! | [`engine`] | the event loop: [`run`] |
//! | [`outcome`] | what a run tells |
//! | [`goal`] | schedules as the input of LogGOPSim |
//! | `arrivals` | the way of messages, and their protocol |
//! | `host`, `program`, `receipts` | a rank, its part in execution, its finished sends |
//! | `network` | paths, ports, noise |
//! | [`storage`] | file servers, and what a rank does besides messages |
//! | [`phases`] | where the time of ranks went, by phases of the workload |
//! | `matching`, `senders`, `live` | the queues of posted receives and unexpected messages |
//! | `message`, `wheel`, `pool` | messages under way, the event queue and its memory |

mod arrivals;
pub mod engine;
pub mod figures;
pub mod goal;
mod host;
pub mod links;
mod live;
pub mod machine;
mod matching;
mod message;
mod network;
pub mod outcome;
pub mod phases;
mod pool;
mod program;
mod receipts;
mod senders;
pub mod storage;
mod wheel;
pub mod workload;

pub use engine::run;
pub use host::Spent;
pub use links::Links;
pub use machine::Machine;
pub use outcome::{Outcome, Seconds};
pub use phases::Phases;
pub use storage::{Step, Striping};
pub use workload::{Chains, Message, Part, Schedules, Side, Workload};

/// Simulated time, in picoseconds.
pub type Time = u64;
