//! The trace of WRF: the messages of a real all-to-many exchange, recorded while the Weather Research and Forecasting
//! model wrote through PnetCDF on 8 nodes of 128 ranks (32 aggregators, 253 rounds, 129,074.16 MiB), and their
//! replay.
//!
//! This is no file pattern: nothing is written. The trace has the number of bytes that each rank sends to each other
//! in each round; the replay sends as many through the library's exchange kernels and checks the bytes that arrive.
//!
//! The file (plain, or compressed with gzip) is 32-bit little-endian integers: ranks, rounds, then the length of each
//! rank's block in integers, then the blocks. A block: for every round the number of peers it sends to, then for every
//! round its peers and then their bytes; and the same again for what it receives.
//!
//! | module | holds |
//! |---|---|
//! | [`trace`] | a trace in memory; folding onto fewer ranks |
//! | `parse` | the file, every number checked |
//! | `write` | a trace as a file |
//! | [`synthetic`] | a trace by arithmetic, for where the recorded one is not at hand |
//! | [`replay`](mod@replay) | the trace through an exchange kernel |
//! | `payload` | what the messages carry, and the check |
//! | `memory` | the buffers behind a replay's schedules |

mod memory;
mod parse;
mod payload;
pub mod replay;
pub mod synthetic;
pub mod trace;
mod write;

pub use replay::{Replay, ReplayReport, ReplaySettings};
pub use synthetic::Synthetic;
pub use trace::{PeerBytes, Trace};
