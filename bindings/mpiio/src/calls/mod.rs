//! What the interposed functions do.
//!
//! | module | takes |
//! |---|---|
//! | [`mod@open`], [`mod@close`], [`mod@sync`] | a file's life |
//! | [`mod@set_view`], [`mod@set_info`], [`mod@get_info`], [`atomicity`] | how it is seen |
//! | [`collective`] | collective reads and writes, of every form |
//! | [`split`] | the end of those that were begun |
//! | [`passing`] | what the MPI library runs |

pub mod atomicity;
pub mod close;
pub mod collective;
pub mod get_info;
pub mod open;
pub mod passing;
pub mod set_info;
pub mod set_view;
pub mod split;
pub mod sync;
