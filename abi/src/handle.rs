//! Handles of MPI objects: 32-bit integers in MPICH's ABI, pointers in the others. Fortran handles are integers in every ABI.
//!
//! A handle is kept as a [`Word`]; an integer has zeros in the upper half. A word is little-endian, so its address
//! is also the address of a handle, of either width: MPI may read and write it in place.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::mem::transmute;

use crate::find::{Abi, Width, find, is_running, width};
use crate::functions::{Argument, Function};
use crate::word::Word;
use crate::{function_name, handles};

/// A kind of handle, such as MPI_Comm.
pub(crate) trait Handle: Copy {
    fn new(word: Word) -> Self;
    fn word(self) -> Word;
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(non_camel_case_types, reason = "MPI's name")]
        pub struct $name(Word);

        impl $name {
            pub(crate) const fn from_constant(word: Word) -> Self {
                Self(word)
            }

            /// Creates a handle from a word that a caller passed. If handles are integers, clears the upper half of
            /// the word.
            #[inline]
            pub fn from_word(word: Word) -> Self {
                Self(trimmed(word))
            }

            /// Clears the upper half of a handle that was received as an argument of a C function, if handles are
            /// integers.
            pub fn as_given(self) -> Self {
                Self::from_word(self.0)
            }

            /// Reads the handle at `place`.
            ///
            /// # Safety
            /// `place` is the address of a handle of this kind, of the process's MPI library.
            pub unsafe fn at(place: *const c_void) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { read(place, 0) })
            }

            /// Reads handle `index` of the array at `place`.
            ///
            /// # Safety
            /// `place` is the address of `index + 1` handles or more, of this kind and of the process's MPI library.
            pub unsafe fn nth(place: *const c_void, index: usize) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { read(place, index) })
            }

            /// Returns the address of handle `index` of the array at `place`.
            pub fn place(place: Word, index: usize) -> Word {
                let size = match width() {
                    Width::Narrow => size_of::<u32>(),
                    Width::Wide => size_of::<Word>(),
                };
                place.wrapping_add(index * size)
            }

            /// Returns the handle as a word, to be passed as an argument.
            pub fn as_word(self) -> Word {
                self.0
            }

            /// Writes the handle to `place`.
            ///
            /// # Safety
            /// `place` may be written with the width of a handle of the process's MPI library.
            pub unsafe fn put(self, place: *mut Self) {
                // SAFETY: the caller's promise; the place may be unaligned.
                unsafe {
                    match width() {
                        Width::Narrow => place.cast::<u32>().write_unaligned(self.0 as u32),
                        Width::Wide => place.cast::<Word>().write_unaligned(self.0),
                    }
                }
            }
        }

        impl Handle for $name {
            fn new(word: Word) -> Self {
                Self(word)
            }

            fn word(self) -> Word {
                self.0
            }
        }

        impl Argument for $name {
            type Narrow = c_int;
            type Wide = *mut c_void;

            #[inline]
            fn narrow(self) -> c_int {
                self.0 as c_int
            }

            #[inline]
            fn wide(self) -> *mut c_void {
                self.0 as *mut c_void
            }
        }
    )+};
}

handles! {
    /// Handle of a communicator, as wide as the MPI library needs.
    MPI_Comm;
    /// Handle of a datatype.
    MPI_Datatype;
    /// Handle of an info object, which has hints.
    MPI_Info;
    /// Handle of a request, which stands for an operation in flight.
    MPI_Request;
    /// Handle of an error handler.
    MPI_Errhandler;
    /// Handle of a reduction operation, such as MPI_SUM.
    MPI_Op;
}

/// Handle of an open file: a pointer in every ABI.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(non_camel_case_types, reason = "MPI's name")]
pub struct MPI_File(pub Word);

impl MPI_File {
    pub(crate) const fn from_constant(word: Word) -> Self {
        Self(word)
    }
}

#[inline]
fn trimmed(word: Word) -> Word {
    match width() {
        Width::Narrow => word as u32 as Word,
        Width::Wide => word,
    }
}

/// # Safety
/// `place` is the address of `index + 1` handles or more.
unsafe fn read(place: *const c_void, index: usize) -> Word {
    // SAFETY: the caller's promise; the handles may be unaligned.
    unsafe {
        match width() {
            Width::Narrow => place.cast::<u32>().add(index).read_unaligned() as Word,
            Width::Wide => place.cast::<Word>().add(index).read_unaligned(),
        }
    }
}

/// An array of handles, each as wide as the MPI library's, which can be passed to MPI.
#[derive(Debug)]
pub struct HandleArray<H> {
    handles: HandleVec,
    of: PhantomData<H>,
}

#[derive(Debug)]
enum HandleVec {
    Narrow(Vec<u32>),
    Wide(Vec<Word>),
}

/// Runs code on the handles of an array, of either width.
macro_rules! on_handles {
    ($row:expr, $handles:ident => $do:expr) => {
        match $row {
            HandleVec::Narrow($handles) => $do,
            HandleVec::Wide($handles) => $do,
        }
    };
}

#[allow(private_bounds, reason = "the kinds are those of this crate")]
impl<H: Handle> HandleArray<H> {
    /// Creates an empty array.
    pub fn new() -> Self {
        let handles = match width() {
            Width::Narrow => HandleVec::Narrow(Vec::new()),
            Width::Wide => HandleVec::Wide(Vec::new()),
        };
        Self { handles, of: PhantomData }
    }

    /// Creates an array of `count` copies of `handle`.
    pub fn from_elem(handle: H, count: usize) -> Self {
        (0..count).map(|_| handle).collect()
    }

    /// Returns the number of handles.
    pub fn len(&self) -> usize {
        on_handles!(&self.handles, handles => handles.len())
    }

    /// Returns true if [`HandleArray::len`] is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a handle. The array does not own the MPI object.
    #[inline]
    pub fn push(&mut self, handle: H) {
        match &mut self.handles {
            HandleVec::Narrow(handles) => handles.push(handle.word() as u32),
            HandleVec::Wide(handles) => handles.push(handle.word()),
        }
    }

    /// Removes the handle at `index`; the last handle takes its place.
    #[inline]
    pub fn swap_remove(&mut self, index: usize) {
        on_handles!(&mut self.handles, handles => { handles.swap_remove(index); });
    }

    /// Removes all handles.
    pub fn clear(&mut self) {
        on_handles!(&mut self.handles, handles => handles.clear());
    }

    /// Returns the address of the first handle, for MPI to write.
    pub fn as_mut_ptr(&mut self) -> *mut H {
        on_handles!(&mut self.handles, handles => handles.as_mut_ptr().cast())
    }

    /// Returns the address of the first handle, for MPI to read.
    pub fn as_ptr(&self) -> *const H {
        on_handles!(&self.handles, handles => handles.as_ptr().cast())
    }

    /// Returns the address of handle `index`, for MPI.
    pub fn place(&mut self, index: usize) -> *mut H {
        on_handles!(&mut self.handles, handles => (&raw mut handles[index]).cast())
    }

    /// Iterates over all handles, in order.
    pub fn iter(&self) -> impl Iterator<Item = H> + '_ {
        (0..self.len()).map(|index| match &self.handles {
            HandleVec::Narrow(handles) => H::new(handles[index] as Word),
            HandleVec::Wide(handles) => H::new(handles[index]),
        })
    }
}

impl<H: Handle> Default for HandleArray<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: Handle> FromIterator<H> for HandleArray<H> {
    fn from_iter<I: IntoIterator<Item = H>>(handles: I) -> Self {
        let mut row = Self::new();
        handles.into_iter().for_each(|handle| row.push(handle));
        row
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an empty array of each width.
    fn rows() -> [HandleArray<MPI_Request>; 2] {
        [HandleVec::Narrow(Vec::new()), HandleVec::Wide(Vec::new())]
            .map(|handles| HandleArray { handles, of: PhantomData })
    }

    #[test]
    fn an_array_has_the_layout_that_mpi_expects() {
        for (mut row, bytes) in rows().into_iter().zip([4, 8]) {
            (1..=4).for_each(|word| row.push(MPI_Request::new(word)));
            row.swap_remove(1);
            assert_eq!(row.iter().map(Handle::word).collect::<Vec<_>>(), [1, 4, 3]);
            assert_eq!(row.place(2) as usize - row.as_mut_ptr() as usize, 2 * bytes);
            assert_eq!(row.as_ptr(), row.as_mut_ptr().cast_const());
            row.clear();
            assert!(row.is_empty());
        }
    }
}
