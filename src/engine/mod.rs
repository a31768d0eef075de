//! The two-phase engine: collective writes and reads of a shared file.
//!
//! ```text
//! view + buffer -> agree on ranges -> plan: domains, flatten -> metadata exchange
//!   -> rounds: data exchange -> place -> write behind -> agreement: error, bytes, statistics
//! ```
//!
//! A read has the same plan and metadata; its rounds read ahead, run the transposed schedules, and deliver.
//!
//! | module | holds |
//! |---|---|
//! | `call` | a collective call on one page: facts, agreement, choice, plan, rounds, outcome |
//! | `api` | [`File`]: open, write, read, close; what is fixed at open; the end of a call, and its report |
//! | [`capture`] | every collective call recorded: the format, and [`Capture`] that reads it |
//! | `facts`, `agreed` | what a rank brings to a call, and what all ranks know then; `lanes`: how both are encoded |
//! | `opening` | the first agreement of a call: one sweep over hosts, which carries small data |
//! | `plan` | domains, the access cut by aggregator; the plans that are used again; [`planning`] at any scale |
//! | `policy` | what decides how a call goes: every threshold, the path, the reason |
//! | `metadata` | who tells whom what; exchange of messages whose sizes only their senders know |
//! | `data` | rounds of windows: cursors, packing, placing, delivering |
//! | `two_layer` | what local aggregators and their members hand each other, in messages or in memory |
//! | [`storage`] | the file: the thread that writes behind and reads ahead, holes, the path without exchange |
//! | `shared` | calls of ranks that share memory: none of the above but `api` and `storage` |
//!
//! A rank with an error does not leave the exchange early: it continues with the rounds, and the agreement at the end returns
//! the same error on every rank.

mod agreed;
mod api;
mod call;
pub mod capture;
mod data;
mod facts;
mod lanes;
pub(crate) mod metadata;
mod opening;
mod plan;
mod policy;
mod ranges;
mod shared;
pub mod storage;
mod two_layer;

pub use api::alone::alone;
pub use api::diary::{self, Diary};
pub use api::file::{self, File};
pub use api::operation::Operation;
pub use api::patience::Patience;
pub use api::read::ReadReport;
pub use api::report::{CallReport, FanIn, Path, Seconds, Why};
pub use capture::Capture;
pub use facts::Amount;
pub use opening::foreseen::Foreseen;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use opening::internals as opening_messages;
pub use plan::auto_choice::{AutoChoice, AutoKernel, ChosenBy};
pub use plan::{Direction, choice, planning, touched};
pub use policy::reason::Reason;
pub use storage::worker::leave_to_program;

pub use crate::drivers::Mode;
