//! Runs a call in flight with the MPI library, if the engine cannot run it. MPI gets an explicit offset, because the
//! start of the call has already advanced this rank's file pointer.
//!
//! A non-blocking call becomes MPI's non-blocking call. A split collective becomes MPI's blocking call, as in ROMIO,
//! whose non-blocking calls do not convert data representations. All ranks do this for the same call.

use std::ffi::c_int;
use std::future::poll_fn;
use std::task::Poll;

use tributary::Direction;
use tributary::engine::CallForm;
use tributary_abi::{self as ffi, MPI_Status, function_name, handles};

use crate::file::arguments::CallArguments;
use crate::file::backend::Ended;
use crate::mpi::abi::status::bytes;
use crate::mpi::abi::types::Kept;
use crate::mpi::abi::word::{Word, to_word};
use crate::mpi::abi::{MPI_Offset, SUCCESS};
use crate::mpi::error_handler::returning;
use crate::mpi::next::{CountType, InterposedFunction};

/// The arguments of this rank's call, for MPI.
pub struct MpiArguments {
    /// The arguments of the program.
    call: CallArguments,
    /// Explicit offset, in etypes.
    offset: MPI_Offset,
    /// Datatype of the elements, which outlives the program's handle.
    datatype: Kept,
}

/// The two variants of one MPI function: with `int` counts, and with large counts.
type FunctionPair = [InterposedFunction; 2];

impl MpiArguments {
    /// Keeps the arguments of a call for MPI, at an explicit offset in etypes. Local.
    pub fn new(call: CallArguments, offset: MPI_Offset) -> Self {
        let is_null = call.datatype == handles().datatype_null;
        // SAFETY: the program's datatype, which MPI checks.
        let datatype = if is_null { None } else { unsafe { Kept::from_datatype(call.datatype) }.ok() };
        Self { call, offset, datatype: datatype.unwrap_or_else(Kept::none) }
    }

    /// Runs the call with MPI. Collective. MPI does not call the file's error handler, because the function that ends
    /// the call does.
    pub async fn run(self) -> Ended {
        let (code, bytes) = if self.call.form.ending == CallForm::Split { self.wait() } else { self.start().await };
        Ended::ByMpi { bytes, code }
    }

    fn wait(&self) -> (c_int, u64) {
        static WRITE: FunctionPair = [
            InterposedFunction::at_offset(function_name!("PMPI_File_write_at_all")),
            InterposedFunction::at_offset(function_name!("PMPI_File_write_at_all_c")),
        ];
        static READ: FunctionPair = [
            InterposedFunction::at_offset(function_name!("PMPI_File_read_at_all")),
            InterposedFunction::at_offset(function_name!("PMPI_File_read_at_all_c")),
        ];
        let mut status = MPI_Status::zeroed();
        let code = self.call([&WRITE, &READ], (&raw mut status) as Word);
        (code, if code == SUCCESS { bytes(&status) } else { 0 })
    }

    async fn start(&self) -> (c_int, u64) {
        static WRITE: FunctionPair = [
            InterposedFunction::at_offset(function_name!("PMPI_File_iwrite_at_all")),
            InterposedFunction::at_offset(function_name!("PMPI_File_iwrite_at_all_c")),
        ];
        static READ: FunctionPair = [
            InterposedFunction::at_offset(function_name!("PMPI_File_iread_at_all")),
            InterposedFunction::at_offset(function_name!("PMPI_File_iread_at_all_c")),
        ];
        let mut request = handles().request_null;
        let code = self.call([&WRITE, &READ], (&raw mut request) as Word);
        if code != SUCCESS {
            return (code, 0);
        }
        poll_fn(|_| {
            let (mut flag, mut status) = (0, MPI_Status::zeroed());
            // SAFETY: a request of MPI's, and room for its status.
            let code = unsafe { ffi::MPI_Test(&mut request, &mut flag, &mut status) };
            match code {
                SUCCESS if flag == 0 => Poll::Pending,
                SUCCESS => Poll::Ready((code, bytes(&status))),
                _ => Poll::Ready((code, 0)),
            }
        })
        .await
    }

    /// Calls the function of this direction, in the variant with the program's type of counts. Passes this rank's arguments,
    /// and `last` as the last argument.
    fn call(&self, [write, read]: [&'static FunctionPair; 2], last: Word) -> c_int {
        let CallArguments { form, file, buffer, count, .. } = self.call;
        let [small, large] = if form.direction == Direction::Write { write } else { read };
        let function = if form.counts == CountType::Int { small } else { large };
        let (offset, count, datatype) = (to_word(self.offset), to_word(count), self.datatype.datatype().as_word());
        returning(file, || function.call(&[file, offset, buffer as Word, count, datatype, last])) as c_int
    }
}
