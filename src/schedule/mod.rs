//! A communication pattern as data: what one rank does, in which order, with which bytes.
//!
//! A [`Schedule`] is a small DAG of one rank's operations. The same schedule is run by an executor on a fabric, checked
//! by the validators, and timed by the simulator of the laboratory. Nothing here waits, sends or allocates messages.
//!
//! | module | holds |
//! |---|---|
//! | [`ir`] | operations, spans, dependencies, windows |
//! | [`build`] | the builder: chains of operations under a throttle |
//! | [`progress`] | which operations may start now: the one bookkeeping of all executors |
//! | `transpose` | a schedule backwards: what a collective read runs |
//! | [`validate`] | exactly-once delivery, no deadlock without buffering, bounded requests |

pub mod build;
pub mod ir;
pub mod progress;
mod transpose;
pub mod validate;

pub use build::{Builder, Throttle, ThrottleMode};
pub use ir::{Action, Buffer, Op, OpId, ReduceOp, Schedule, SendMode, Span};
pub use progress::Progress;
