//! Converts handles of Fortran, which are integers in every ABI.

use std::ffi::{c_int, c_void};
use std::mem::transmute;

use crate::call::Function;
use crate::find::{Abi, find};
use crate::handle::MPI_Comm;
use crate::{MPI_Finalized, MPI_Initialized, SUCCESS, function_name, handles};

/// Returns the communicator of a Fortran handle. Returns MPI_COMM_NULL if the process has no MPI library, and before
/// MPI_Init and after MPI_Finalize, when Open MPI would end the program.
pub fn communicator_of_fortran(handle: c_int) -> MPI_Comm {
    static OPEN_MPI: Function = Function::new(function_name!("PMPI_Comm_f2c"));
    static STANDARD: Function = Function::new(function_name!("PMPI_Comm_fromint"));
    let function = match find().map(|mpi| mpi.abi) {
        // In MPICH's ABI the handle is the same integer.
        Ok(Abi::Mpich) => return MPI_Comm::from_word(handle as u32 as usize),
        Ok(_) if !is_running() => None,
        Ok(Abi::OpenMpi) => OPEN_MPI.address(),
        Ok(Abi::Standard) => STANDARD.address(),
        Err(_) => None,
    };
    function.map_or(handles().comm_null, |function| {
        // SAFETY: declared so in both ABIs; MPI is initialised, and any integer is allowed.
        let function = unsafe { transmute::<*mut c_void, extern "C-unwind" fn(c_int) -> *mut c_void>(function) };
        MPI_Comm::from_word(function(handle) as usize)
    })
}

/// Returns true if MPI is initialised and not finalised.
fn is_running() -> bool {
    let (mut initialised, mut finalised) = (0, 0);
    // SAFETY: callable at any time; each writes one int.
    let codes = unsafe { [MPI_Initialized(&mut initialised), MPI_Finalized(&mut finalised)] };
    codes == [SUCCESS; 2] && initialised != 0 && finalised == 0
}
