//! The agreement of the ranks in MPI_File_open.
//!
//! | module | holds |
//! |---|---|
//! | [`offer`] | what each rank offers: its version, and whether it can open the file |
//! | [`open_watch`] | the thread that watches the agreement |
//! | [`ranks_here`] | which ranks of the host have the library |
//! | [`channel`] | the communicator of a file |

pub mod channel;
pub mod offer;
pub mod open_watch;
pub mod ranks_here;
