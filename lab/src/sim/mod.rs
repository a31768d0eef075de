//! Simulator of the times of schedules on another machine.
//!
//! It is a discrete-event simulator, deterministic for a seed. It runs the schedules that the executors run, without
//! payload, and makes them rank by rank when they are needed. `lab/docs/simulator.md` describes the model and its
//! limits.
//!
//! | module | holds |
//! |---|---|
//! | [`machine`] | what host, paths and ports cost; machine files |
//! | [`figures`] | the numbers of a machine file, with unit and source |
//! | [`links`] | dragonflies and fat trees: which links a message passes |
//! | [`workload`] | the input: schedules, or chains of messages in little memory |
//! | [`engine`] | the event loop: [`run`] |
//! | [`outcome`] | the outcome of a run |
//! | [`goal`] | schedules as the input of LogGOPSim |
//! | `arrivals` | the paths of messages, and their protocol |
//! | `host`, `program`, `receipts` | a rank, its part in execution, its send completions |
//! | `network` | paths, ports, noise |
//! | [`storage`] | file servers, and a rank's work other than messages |
//! | [`posted`] | ranks that run elsewhere and post their messages: the engine in virtual time |
//! | [`phases`] | the time of ranks by phase of the workload |
//! | `matching`, `senders`, `live` | the queues of posted receives and unexpected messages |
//! | `message`, `wheel`, `pool` | messages in flight, the event queue and its memory |

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
pub mod posted;
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
pub use outcome::{Seconds, SimOutcome};
pub use phases::Phases;
pub use storage::{Step, Storage, Striping};
pub use workload::{ChainMessage, ChainSide, Chains, Schedules, WorkPart, Workload};

/// Simulated time, in picoseconds.
pub type Time = u64;
