//! Declares the MPI functions that only the laboratory calls.

use std::ffi::{c_int, c_void};

use tributary_abi::{MPI_Comm, MPI_Datatype, mpi_functions};

mpi_functions! {
    fn MPI_Allgatherv(
        from: *const c_void, count: c_int, of: MPI_Datatype, to: *mut c_void, counts: *const c_int,
        places: *const c_int, into: MPI_Datatype, comm: MPI_Comm,
    );
    fn MPI_Barrier(comm: MPI_Comm);
    fn MPI_Bcast(buffer: *mut c_void, count: c_int, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm);
    fn MPI_Comm_remote_size(comm: MPI_Comm, size: *mut c_int);
    fn MPI_Comm_split(comm: MPI_Comm, colour: c_int, key: c_int, new: *mut MPI_Comm);
    fn MPI_Gatherv(
        from: *const c_void, count: c_int, of: MPI_Datatype, to: *mut c_void, counts: *const c_int,
        places: *const c_int, into: MPI_Datatype, root: c_int, comm: MPI_Comm,
    );
    fn MPI_Intercomm_create(
        local: MPI_Comm, leader: c_int, peers: MPI_Comm, remote: c_int, tag: c_int, new: *mut MPI_Comm,
    );
    fn MPI_Intercomm_merge(comm: MPI_Comm, high: c_int, new: *mut MPI_Comm);
    fn MPI_Scatter(
        from: *const c_void, each: c_int, of: MPI_Datatype, to: *mut c_void, count: c_int, into: MPI_Datatype,
        root: c_int, comm: MPI_Comm,
    );
    fn MPI_Scatterv(
        from: *const c_void, counts: *const c_int, places: *const c_int, of: MPI_Datatype, to: *mut c_void,
        count: c_int, into: MPI_Datatype, root: c_int, comm: MPI_Comm,
    );
}
