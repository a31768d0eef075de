//! The arguments of the program's reads and writes, and the accesses that they describe.

use std::ffi::c_int;

use tributary::Error;
use tributary::access::{Memory, OwnedAccess};
use tributary::engine::CallForm;
use tributary::error::About;

use crate::file::backend::left_to_mpi;
use crate::mpi::abi::types::bytes_of;
use crate::mpi::abi::word::{Word, from_word};
use crate::mpi::abi::{MPI_Datatype, MPI_Offset};
use crate::mpi::next::{CountType, Form, Position};
use crate::view::View;
use crate::view::datatype::{FlatMemory, flattened};

/// The arguments that this rank passed to a read or write.
#[derive(Clone, Copy)]
pub struct CallArguments {
    /// Form of the function: direction, file position, completion, type of counts.
    pub form: Form,
    /// Handle of the file.
    pub file: Word,
    /// Explicit offset in etypes; None if the call uses the individual file pointer.
    pub offset: Option<MPI_Offset>,
    /// Address of the buffer.
    pub buffer: *mut u8,
    /// Number of elements.
    pub count: i64,
    /// Datatype of the elements.
    pub datatype: MPI_Datatype,
    /// Address of the status or the request; 0 for the begin of a split collective.
    pub result: Word,
}

impl CallArguments {
    /// Decodes the program's arguments of the function that `form` describes: file, offset (if the function has one),
    /// buffer, count, datatype, and status or request (if the function has one).
    pub fn parse(form: Form, arguments: &[Word]) -> Option<Self> {
        let mut rest = arguments.iter().copied().skip(1);
        // SAFETY: each argument has the type that the function declares at its position.
        unsafe {
            Some(Self {
                form,
                file: *arguments.first()?,
                offset: if form.place == Position::Offset { Some(from_word(rest.next()?)) } else { None },
                buffer: rest.next()? as *mut u8,
                count: match form.counts {
                    CountType::Int => i64::from(from_word::<c_int>(rest.next()?)),
                    CountType::Large => from_word(rest.next()?),
                },
                datatype: MPI_Datatype::from_word(rest.next()?),
                result: if form.ending == CallForm::Split { 0 } else { rest.next()? },
            })
        }
    }

    /// Returns the number of bytes that the program asks to move; 0 if the arguments are not allowed.
    pub fn asked(&self) -> u64 {
        bytes_of(self.count, self.datatype)
    }

    /// Returns true if all elements are certainly contiguous in memory.
    pub fn has_one_piece_of_memory(&self) -> bool {
        flattened(self.datatype).is_ok_and(|flat| flat.is_contiguous())
    }

    /// Returns the access that the arguments describe. If the call has no explicit offset, the access begins at `moved`: the
    /// position of this library's file pointer before the pointer was advanced for the call.
    ///
    /// # Errors
    /// An argument is not allowed, or only MPI supports the view or the datatype.
    ///
    /// # Safety
    /// The program's buffer is valid for its count and datatype, for reads in a write, and for writes in a read, in which
    /// nothing else uses it; both for `'a`.
    pub unsafe fn access<'a>(&self, view: &View, moved: Option<MPI_Offset>) -> Result<OwnedAccess<'a>, Error> {
        let known = match view {
            View::Engine(known) => known,
            View::Foreign { why, .. } => return Err(left_to_mpi(why)),
        };
        let Ok(count) = u64::try_from(self.count) else {
            return Err(Error::argument("count", self.count, "0 or more").about(About::Count));
        };
        let flat = flattened(self.datatype).map_err(|error| match error {
            Error::Argument { about: About::Datatype, .. } => error,
            _ => left_to_mpi(error),
        })?;
        let too_long = || Error::argument("count", count, "less than 2^63 bytes in all").about(About::Count);
        let bytes = flat.size().checked_mul(count).ok_or_else(too_long)?;
        let offset = self.offset.or(moved).ok_or_else(|| left_to_mpi("MPI_MODE_SEQUENTIAL"))?;
        let file = known.select(offset, bytes)?;
        let FlatMemory { displacement, span, layout } = flat.memory(count)?;
        let start = self.buffer.wrapping_offset(displacement as isize);
        // SAFETY: the caller's promise: the layout lists the bytes of the elements.
        let memory = unsafe { Memory::from_raw_parts(self.form.direction, start, span as usize) };
        Ok(OwnedAccess { file, layout, memory })
    }
}
