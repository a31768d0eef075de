//! The two-phase engine: collective writes and reads of a shared file.
//!
//! ```text
//! view + buffer -> first agreement: the path -> plan: domains, flatten -> metadata exchange
//!   -> rounds: data exchange -> place -> write -> last agreement: error, bytes, times
//! ```
//!
//! A read has the same plan and metadata; its rounds read ahead, run the transposed schedules, and deliver.
//!
//! Its seven modules are its rooms (`docs/how-it-works/rooms.md`):
//!
//! | room | holds |
//! |---|---|
//! | [`file`] | [`File`]: open, write, read, close; a collective call from begin to end |
//! | `agree` | what ranks bring and decide together: facts, ranges, small data; the first agreement of a call, and the last |
//! | `exchange` | the two-phase exchange by messages: roles, plans, lists, rounds |
//! | `shared` | windows in the memory of a host |
//! | [`io`] | the file: this rank's handle, calls on the file, the queue of windows, holes, write-behind |
//! | `choose` | pure functions of values that all ranks agree on: the path of a call, windows, layers; every threshold |
//! | `trace` | what observes and reports calls: clock, report, stall watchdog, [`capture`] |
//!
//! A room uses only rooms on lower floors (`tests/suite/layers.rs`): `file` uses all others, then follow `agree`, `exchange` beside
//! `shared`, `io`, `choose` and, at the bottom, `trace`.
//!
//! A rank with an error does not leave the exchange early: it continues with the rounds, and the agreement at the end
//! returns the same error on every rank.

mod agree;
mod choose;
mod exchange;
pub mod file;
pub mod io;
mod shared;
mod trace;

pub use crate::access::{AccessStats, Direction};
pub use crate::device::may_be as may_have_device_memory;
pub use crate::drivers::Mode;
pub use crate::world::jobs::leave_to_program;
pub use agree::calls::{CallForm, CallKind};
pub use agree::calls_differ;
pub use agree::internals as opening_messages;
pub use choose::layers;
pub use choose::learned::LearnedFacts;
pub use choose::rules::WritersBeside;
pub use exchange::metadata::Phase;
pub use exchange::planning;
pub use exchange::roles::{Phases, Roles};
pub use file::opening::FirstAgreement;
pub use file::predicted::PredictedPath;
pub use file::setup::meet_hosts;
pub use file::{File, Operation, ReadReport, Settings, binding};
pub use io::write_behind::process::{may_have_buffered_bytes, wait_for_writes, write_everything};
pub use trace::capture::{self, Capture};
pub use trace::path::{AutoChoice, AutoKernel, Layered, Layering, Path, Reason};
pub use trace::report::{CallReport, ExpectedSeconds, FanIn, Limit, LimitedBy, Seconds, Why};
pub use trace::timeline::{self, RankTimeline};
pub use trace::watchdog::{StallWatchdog, waits};
