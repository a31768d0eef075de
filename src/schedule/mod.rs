//! Describes a communication pattern as data: the messages and copies of one rank, their order and their bytes.
//!
//! A [`Schedule`] is a DAG of one rank's operations. An executor runs it on a fabric, the validators (in `testing/`) check it, and the
//! laboratory's simulator times it. Nothing here waits, communicates or allocates messages; all calls are local.
//!
//! | module | holds |
//! |---|---|
//! | [`ir`] | operations, spans, dependencies, sliding limits |
//! | [`build`] | the builder: chains of operations under a throttle |
//! | [`progress`] | which operations may start now; all executors use it |
//! | `transpose` | the reverse of a schedule, which a collective read runs |

pub mod build;
pub mod ir;
pub mod progress;
mod transpose;

pub use build::{Builder, Throttle, ThrottleMode};
pub use ir::{Action, Buffer, Op, OpId, ReduceOp, Schedule, SendMode, Span};
pub use progress::Progress;
