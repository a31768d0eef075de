//! The two-phase engine: collective writes and reads of a shared file.
//!
//! ```text
//! view + buffer -> first agreement: the path -> plan: domains, flatten -> metadata exchange
//!   -> rounds: data exchange -> place -> write behind -> last agreement: error, bytes, times
//! ```
//!
//! A read has the same plan and metadata; its rounds read ahead, run the transposed schedules, and deliver.
//!
//! | module | holds |
//! |---|---|
//! | [`file`] | [`File`]: open, write, read, close; a collective call from begin to end. `setup`: what is fixed at open |
//! | `facts` | arguments, errors and amounts of ranks in a call, their merged result, and the encoding of both |
//! | `agreement` | agreements of all ranks: on the facts when a call begins, on the outcome when it ends |
//! | `policy` | the rules that choose the path of a call: every threshold, the table of paths, the reason |
//! | `roles` | the aggregators, and the routes of messages to them: one layer of messages or two |
//! | `plan` | which rank sends which bytes to which aggregator; plans that are used again; [`planning`] at any scale |
//! | `lists` | the access cut by aggregator, and the cursors over it |
//! | `metadata` | exchanges lists of extents, in messages whose sizes only their senders know |
//! | `data` | the two-phase exchange: rounds of windows, packing, placing, delivering; `two_layer`: data between members and local aggregators |
//! | `through_windows` | a call through windows in shared memory; `shared`: the windows |
//! | [`storage`] | file I/O: the thread that writes behind and reads ahead, holes, I/O without windows |
//! | `handle` | this rank's handle of the file: opens it, writes and reads by itself; hosts that cache independently |
//! | `staging`, `watchdog` | device memory; the warning about a rank that waits long |
//! | `observers` | who observes calls: the clock, the watchdog, the capture and its timeline |
//! | `record`, [`capture`] | report and timeline of calls; the capture of every call: the format, and [`Capture`], which reads it |
//!
//! A module uses only modules that stand before it in the list of `tests/suite/layers.rs`.
//!
//! A rank with an error does not leave the exchange early: it continues with the rounds, and the agreement at the end
//! returns the same error on every rank.

mod agreement;
pub mod capture;
mod data;
mod facts;
pub mod file;
mod handle;
mod lists;
pub(crate) mod metadata;
mod observers;
mod plan;
mod policy;
mod record;
mod roles;
mod setup;
mod shared;
mod staging;
pub mod storage;
mod through_windows;
mod two_layer;
mod watchdog;

pub use crate::access::Direction;
pub use crate::device::may_be as may_have_device_memory;
pub use crate::world::jobs::leave_to_program;
pub use agreement::calls_differ;
pub use agreement::internals as opening_messages;
pub use agreement::predicted::PredictedPath;
pub use capture::Capture;
pub use facts::Amount;
pub use facts::calls::{CallForm, CallKind};
pub use file::{File, Operation, ReadReport, Settings, binding};
pub use metadata::Phase;
pub use plan::planning;
pub use policy::learned::LearnedFacts;
pub use policy::path::{Path, Reason};
pub use policy::rules::WritersBeside;
pub use record::timeline::{self, RankTimeline};
pub use record::{CallReport, FanIn, Limit, LimitedBy, Seconds, Why};
pub use roles::{AutoChoice, AutoKernel, Phases, Roles, choice};
pub use setup::meet_hosts;
pub use setup::terms::FirstAgreement;
pub use storage::behind::process::{may_be_behind, wait_for_writes, write_everything};
pub use watchdog::{StallWatchdog, waits};

pub use crate::drivers::Mode;
