//! The handlers of the interposed functions.
//!
//! | module | handles |
//! |---|---|
//! | [`mod@open`], [`mod@close`], [`mod@sync`] | opening, closing and syncing a file |
//! | [`mod@set_view`], [`mod@set_info`], [`mod@get_info`], [`atomicity`] | its view, hints and mode |
//! | [`mod@set_errhandler`] | its error handler: whether the program asks for the codes of errors |
//! | [`collective`], [`attempt`] | collective reads and writes of every form; their common work |
//! | [`alone`] | independent reads and writes through this library's own handle |
//! | [`finalize`] | the end of the program |
//! | [`split`] | the end of split collectives |
//! | [`requests`], [`get_status`] | MPI_Wait, MPI_Test and their variants, in which calls in flight advance |
//! | [`pnetcdf`] | the look of PnetCDF for its driver |
//! | [`mod@between`] | collective calls that MPI runs, in order with calls of the engine: the size, ordered writes |
//! | [`passing`], [`pointed`], [`step`] | calls that the MPI library runs; those at the individual file pointer |

pub mod alone;
pub mod atomicity;
pub mod attempt;
pub mod between;
pub mod close;
pub mod collective;
pub mod finalize;
pub mod get_info;
pub mod get_status;
pub mod open;
pub mod passing;
pub mod pnetcdf;
pub mod pointed;
pub mod requests;
pub mod set_errhandler;
pub mod set_info;
pub mod set_view;
pub mod split;
pub mod step;
pub mod sync;
