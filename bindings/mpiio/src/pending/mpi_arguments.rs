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

use crate::abi::status::bytes;
use crate::abi::types::Kept;
use crate::abi::word::{Word, to_word};
use crate::abi::{MPI_Offset, SUCCESS};
use crate::backend::Ended;
use crate::error_handler::returning;
use crate::next::{CountType, Form, InterposedFunction};

/// The arguments of this rank's call, for MPI.
pub struct MpiArguments {
    /// Form of the program's function.
    pub form: Form,
    /// The file handle.
    pub file: Word,
    /// Explicit offset, in etypes.
    pub offset: MPI_Offset,
    /// Address of the program's buffer.
    pub buffer: *mut u8,
    /// Number of elements.
    pub count: i64,
    /// Datatype of the elements, which outlives the program's handle.
    pub datatype: Kept,
}

/// The two variants of one MPI function: with `int` counts, and with large counts.
type FunctionPair = [InterposedFunction; 2];

impl MpiArguments {
    /// Runs the call with MPI. Collective. MPI does not call the file's error handler, because the function that ends
    /// the call does.
    pub async fn run(self) -> Ended {
        let (code, bytes) = if self.form.ending == CallForm::Split { self.wait() } else { self.start().await };
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
        let [small, large] = if self.form.direction == Direction::Write { write } else { read };
        let function = if self.form.counts == CountType::Int { small } else { large };
        let (offset, count) = (to_word(self.offset), to_word(self.count));
        let (buffer, datatype) = (self.buffer as Word, self.datatype.datatype().as_word());
        returning(self.file, || function.call(&[self.file, offset, buffer, count, datatype, last])) as c_int
    }
}
