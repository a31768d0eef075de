//! The handlers of the interposed functions.
//!
//! | module | handles |
//! |---|---|
//! | [`mod@open`], [`mod@close`] | opening and closing a file |
//! | [`settings`] | its view, its hints and its error handler |
//! | [`collective`] | collective reads and writes of every form |
//! | [`finalize`] | the end of the program |
//! | [`split`] | the end of split collectives |
//! | [`requests`], [`get_status`] | MPI_Wait, MPI_Test and their variants, in which calls in flight advance |
//! | [`pnetcdf`] | PnetCDF's query for its driver |
//! | [`between`] | collective calls that MPI runs, in order with calls of the engine: size, sync, mode, ordered writes |
//! | [`passing`], [`pointed`], [`step`] | independent calls, and others that MPI runs; those at the individual file pointer |

pub mod between;
pub mod close;
pub mod finalize;
pub mod get_status;
pub mod open;
pub mod passing;
pub mod pnetcdf;
pub mod pointed;
pub mod requests;
pub mod settings;
pub mod split;
pub mod step;
pub mod transfer;
