//! Runs a call in flight with the MPI library, if the engine cannot run it. MPI gets an explicit offset, because the
//! start of the call has already advanced this rank's file pointer.
//!
//! A non-blocking call becomes MPI's non-blocking call. A split collective becomes MPI's blocking call, as in ROMIO,
//! whose non-blocking calls do not convert data representations. All ranks do this for the same call.

use std::ffi::c_int;
use std::future::poll_fn;
use std::task::Poll;

use tributary::engine::Direction;
use tributary_abi::{self as ffi, MPI_Status, function_name, handles};

use crate::abi::status::bytes;
use crate::abi::types::Kept;
use crate::abi::word::{Word, to_word};
use crate::abi::{MPI_Offset, SUCCESS};
use crate::calls::attempt::Ended;
use crate::calls::collective::CountType;
use crate::error_handler::returning;
use crate::next::InterposedFunction;

/// The arguments of this rank's call, for MPI.
pub struct MpiArguments {
    /// The file handle.
    pub file: Word,
    /// Explicit offset, in etypes.
    pub offset: MPI_Offset,
    /// Address of the program's buffer.
    pub buffer: *mut u8,
    /// Number of elements.
    pub count: i64,
    /// C type of the counts of the program's function.
    pub counts: CountType,
    /// Datatype of the elements, which outlives the program's handle.
    pub datatype: Kept,
    /// True if the program's call is a split collective.
    pub is_split: bool,
}

/// The two variants of one MPI function: with `int` counts, and with large counts.
type FunctionPair = [InterposedFunction; 2];

impl MpiArguments {
    /// Runs the call with MPI. Collective. MPI does not call the file's error handler, because the function that ends
    /// the call does.
    pub async fn run(self, direction: Direction) -> Ended {
        let (code, bytes) = if self.is_split { self.wait(direction) } else { self.start(direction).await };
        Ended::ByMpi { bytes, code }
    }

    fn wait(&self, direction: Direction) -> (c_int, u64) {
        static WRITE: FunctionPair = [
            InterposedFunction::new(function_name!("PMPI_File_write_at_all")),
            InterposedFunction::new(function_name!("PMPI_File_write_at_all_c")),
        ];
        static READ: FunctionPair = [
            InterposedFunction::new(function_name!("PMPI_File_read_at_all")),
            InterposedFunction::new(function_name!("PMPI_File_read_at_all_c")),
        ];
        let mut status = MPI_Status::zeroed();
        let code = self.call(if direction == Direction::Write { &WRITE } else { &READ }, (&raw mut status) as Word);
        (code, if code == SUCCESS { bytes(&status) } else { 0 })
    }

    async fn start(&self, direction: Direction) -> (c_int, u64) {
        static WRITE: FunctionPair = [
            InterposedFunction::new(function_name!("PMPI_File_iwrite_at_all")),
            InterposedFunction::new(function_name!("PMPI_File_iwrite_at_all_c")),
        ];
        static READ: FunctionPair = [
            InterposedFunction::new(function_name!("PMPI_File_iread_at_all")),
            InterposedFunction::new(function_name!("PMPI_File_iread_at_all_c")),
        ];
        let mut request = handles().request_null;
        let code = self.call(if direction == Direction::Write { &WRITE } else { &READ }, (&raw mut request) as Word);
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

    /// Calls the variant with the program's type of counts. Passes this rank's arguments, and `last` as the last
    /// argument.
    fn call(&self, [small, large]: &'static FunctionPair, last: Word) -> c_int {
        let function = if self.counts == CountType::Int { small } else { large };
        let (offset, count) = (to_word(self.offset), to_word(self.count));
        let (buffer, datatype) = (self.buffer as Word, self.datatype.datatype().as_word());
        returning(self.file, || function.call(&[self.file, offset, buffer, count, datatype, last])) as c_int
    }
}
