//! What the interposed functions do.
//!
//! | module | takes |
//! |---|---|
//! | [`mod@open`], [`mod@close`], [`mod@sync`] | a file's life |
//! | [`mod@set_view`], [`mod@set_info`], [`mod@get_info`], [`atomicity`] | how it is seen |
//! | [`collective`], [`attempt`] | collective reads and writes, of every form; what they do, whoever waits |
//! | [`split`] | the end of those that were begun |
//! | [`requests`], [`get_status`] | MPI_Wait, MPI_Test and their kin, in which calls in flight go on |
//! | [`passing`] | what the MPI library runs |

pub mod atomicity;
pub mod attempt;
pub mod close;
pub mod collective;
pub mod get_info;
pub mod get_status;
pub mod open;
pub mod passing;
pub mod requests;
pub mod set_info;
pub mod set_view;
pub mod split;
pub mod sync;
