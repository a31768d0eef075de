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
//! | `api`, `file` | [`File`]: open, write, read, close; what it holds. `setup`: what is fixed at open |
//! | `facts` | what a rank brings to a call, what all ranks know then, and how both are encoded |
//! | `agreement` | on the facts: a combine in shared memory, or a combine over hosts; on the outcome |
//! | `policy` | what decides how a call goes: every threshold, the table of paths, the reason |
//! | `roles` | the aggregators and the phases to them: one layer of messages or two |
//! | `plan` | who sends what to which aggregator; plans that are used again; [`planning`] at any scale |
//! | `lists` | the access cut by aggregator, and the cursors through it |
//! | `metadata` | who tells whom what; exchange of messages whose sizes only their senders know |
//! | `ways` | the ways of the bytes: by each rank itself, through shared memory, by the two-phase exchange |
//! | `data` | rounds of windows: packing, placing, delivering; `two_layer`: what members and local aggregators hand each other |
//! | `shared` | the windows of ranks that share memory |
//! | [`storage`] | the file: the thread that writes behind and reads ahead, holes, what goes without windows |
//! | `staging`, `visible`, `watchdog` | memory of a device; hosts that cache by themselves; a line where a rank waits long |
//! | `record`, [`capture`] | the report and the timeline of calls; every call recorded: the format, and [`Capture`] that reads it |
//!
//! A module knows only those that stand before it in the list of `tests/suite/layers.rs`.
//!
//! A rank with an error does not leave the exchange early: it continues with the rounds, and the agreement at the end returns
//! the same error on every rank.

mod agreement;
mod api;
mod call;
pub mod capture;
mod data;
mod direction;
mod facts;
mod file;
mod lists;
pub(crate) mod metadata;
mod plan;
mod policy;
mod record;
mod roles;
mod setup;
mod shared;
mod staging;
pub mod storage;
mod two_layer;
mod visible;
mod watchdog;
mod ways;

pub use crate::device::may_be as may_have_device_memory;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use agreement::internals as opening_messages;
pub use agreement::predicted::PredictedPath;
pub use agreement::without_data::calls_differ;
pub use api::alone::alone;
pub use api::operation::Operation;
pub use api::read::ReadReport;
pub use capture::Capture;
pub use direction::Direction;
pub use facts::Amount;
pub use file::File;
pub use plan::planning;
pub use policy::paths::Path;
pub use policy::reason::Reason;
pub use record::report::{CallReport, FanIn, Seconds, Why};
pub use record::timeline::{self, RankTimeline};
pub use roles::auto_choice::{AutoChoice, AutoKernel};
pub use roles::{choice, touched};
pub use setup::meet_hosts;
pub use setup::terms::FirstAgreement;
pub use storage::worker::leave_to_program;
pub use watchdog::StallWatchdog;

pub use crate::drivers::Mode;
