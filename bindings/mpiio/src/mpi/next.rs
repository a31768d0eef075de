//! The interposed functions. Finds the *next definition* of each in the dynamic linker's order (RTLD_NEXT): the definition of
//! the MPI library, or of another preloaded tool.
//!
//! MPI libraries before MPI 4 have no functions with large counts. A program that looks them up in the dynamic linker
//! (mpi4py does) finds ours, so calls with small counts are passed to the functions with `int` counts.

use std::ffi::{CStr, CString, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use tributary::Direction;
use tributary::engine::CallForm;
use tributary_abi::{FunctionName, constants, function};

use crate::mpi::abi::MPI_Datatype;
use crate::mpi::abi::types::bytes_of;
use crate::mpi::abi::word::{Word, from_word, to_word};
use crate::mpi::interposition;

/// The file position that a call uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The rank's individual file pointer, which the call advances.
    Pointer,
    /// An explicit offset, which is an argument of the call.
    Offset,
}

/// The C type of the count arguments of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountType {
    /// Counts are of type `int`.
    Int,
    /// Counts are of type `MPI_Count` (functions with `_c`).
    Large,
}

/// Describes one of MPI's functions that read or write: direction, file position, completion and type of counts.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Direction of the transfer: write or read.
    pub direction: Direction,
    /// File position that the function uses.
    pub place: Position,
    /// Way in which the call completes: it is complete when it returns, a request completes it, or the matching end call
    /// does (split collective). Collective calls of different forms do not match.
    pub ending: CallForm,
    /// C type of the function's count arguments.
    pub counts: CountType,
}

impl Form {
    /// Returns true if the call starts a write that goes on after the call has returned.
    pub fn starts_write(&self) -> bool {
        self.direction == Direction::Write && self.ending != CallForm::Blocking
    }
}

/// An interposed function. Its next definition is looked up under the profiling name (`PMPI_...`).
pub struct InterposedFunction {
    /// Profiling name, such as `PMPI_File_open`.
    profiling: &'static CStr,
    /// Name in the standard, such as `MPI_File_open`.
    full_name: &'static str,
    /// Index of the count among the arguments of a function that moves data; None for other functions.
    count: Option<usize>,
    next: AtomicPtr<c_void>,
    /// True if the next definition takes an `int`, although this function takes a large count.
    is_small: AtomicBool,
    /// True if a line was printed that the MPI library does not have the function.
    is_said: AtomicBool,
    /// Place of the function in the tables of Open MPI's components; None if it is in none.
    pub place: OnceLock<Option<usize>>,
}

impl InterposedFunction {
    /// Creates the function with this profiling name, which moves no data. A name without the P finds the function of a tool
    /// that is preloaded after this library, if there is one.
    pub const fn new(profiling: FunctionName) -> Self {
        Self::with_count(profiling, None)
    }

    /// Creates a read or write at an explicit offset: its arguments are file, offset, buffer, count and so on.
    pub const fn at_offset(profiling: FunctionName) -> Self {
        Self::with_count(profiling, Some(3))
    }

    /// Creates the function with this profiling name and these names of its arguments.
    pub const fn with_arguments(profiling: FunctionName, arguments: &[&str]) -> Self {
        let mut at = 0;
        while at < arguments.len() {
            if matches!(arguments[at].as_bytes(), b"count") {
                return Self::with_count(profiling, Some(at));
            }
            at += 1;
        }
        Self::with_count(profiling, None)
    }

    const fn with_count(profiling: FunctionName, count: Option<usize>) -> Self {
        // Evaluated at compile time only: this is used in statics.
        let profiling = profiling.text();
        let full_name = match profiling.to_str() {
            Ok(name) if name.as_bytes()[0] == b'P' => name.split_at(1).1,
            Ok(name) => name,
            Err(_) => panic!("the name is no text"),
        };
        Self {
            profiling,
            full_name,
            count,
            next: AtomicPtr::new(null_mut()),
            is_small: AtomicBool::new(false),
            is_said: AtomicBool::new(false),
            place: OnceLock::new(),
        }
    }

    /// Returns the function's name in reports, such as `write_at_all` for MPI_File_write_at_all.
    pub fn name(&self) -> &'static str {
        self.full_name.strip_prefix("MPI_File_").unwrap_or(self.full_name)
    }

    /// Returns the function's name in the standard, such as `MPI_File_write_at_all`.
    pub fn full_name(&self) -> &'static str {
        self.full_name
    }

    /// Returns the number of bytes that these arguments ask to move; 0 if the function moves none, or the arguments are not
    /// allowed.
    pub fn bytes(&self, arguments: &[Word]) -> u64 {
        let Some([count, datatype]) = self.count.and_then(|at| arguments.get(at..at + 2)) else { return 0 };
        // SAFETY: an MPI_Count, or an int in the lower half of the word; the datatype that the program has passed.
        let (count, datatype) = unsafe {
            let count =
                if self.full_name.ends_with("_c") { from_word(*count) } else { i64::from(from_word::<c_int>(*count)) };
            (count, MPI_Datatype::from_word(*datatype))
        };
        bytes_of(count, datatype)
    }

    /// Returns the address of the next definition; None if there is none. Must not be called for functions with
    /// large counts.
    pub fn address(&self) -> Option<*mut c_void> {
        self.known().or_else(|| self.look_up())
    }

    /// Calls the next definition with these arguments, unchanged, and returns its return value. As a component of
    /// Open MPI, calls the function of Open MPI's component ompio, if there is one.
    pub fn call(&self, arguments: &[Word]) -> Word {
        let by_component = interposition::component().and_then(|component| (component.call_ompio)(self, arguments));
        by_component.unwrap_or_else(|| self.call_linked(arguments))
    }

    /// Calls the next definition in the dynamic linker's order with these arguments.
    pub fn call_linked(&self, arguments: &[Word]) -> Word {
        let Some(next) = self.address() else {
            return self.is_lacking(constants().err_other);
        };
        let is_too_many = || self.count.and_then(|at| arguments.get(at)).is_some_and(|count| *count > i32::MAX as Word);
        if self.is_small.load(Ordering::Relaxed) && is_too_many() {
            return self.is_lacking(constants().err_count);
        }
        // SAFETY: `next` is the function of this name. The arguments came from a caller of the same function, and their
        // number is that of its declaration.
        unsafe { call_address(next, arguments) }
    }

    /// Prints once that the MPI library does not have the function, and returns `code`.
    fn is_lacking(&self, code: c_int) -> Word {
        if !self.is_said.swap(true, Ordering::Relaxed) {
            tributary::say(format_args!("the MPI library has no {}", self.profiling.to_string_lossy()));
        }
        to_word(code)
    }

    /// Returns true if all ranks of a file that is open must call the function.
    pub fn is_collective(&self) -> bool {
        let name = self.name();
        let others = ["set_view", "set_size", "preallocate", "set_atomicity", "seek_shared", "sync"];
        name.contains("_all") || name.contains("_ordered") || others.contains(&name)
    }

    /// Returns true if hints in force may change in a call of this function: a collective read or write, or a new view.
    pub fn may_change_hints(&self) -> bool {
        self.full_name.contains("_all") || self.full_name == "MPI_File_set_view"
    }

    /// Returns the address of the next definition, if it has been looked up before.
    #[inline]
    pub fn known(&self) -> Option<*mut c_void> {
        let next = self.next.load(Ordering::Acquire);
        (!next.is_null()).then_some(next)
    }

    /// Looks up the next definition. Two threads that do so at once find the same function.
    #[cold]
    fn look_up(&self) -> Option<*mut c_void> {
        let next = next_definition(self.profiling).or_else(|| {
            let small = CString::new(self.profiling.to_bytes().strip_suffix(b"_c")?).ok()?;
            let next = next_definition(&small)?;
            self.is_small.store(true, Ordering::Relaxed);
            Some(next)
        })?;
        self.next.store(next, Ordering::Release);
        Some(next)
    }
}

/// Calls the C function at `address` with these arguments.
///
/// # Safety
/// The function takes as many arguments, each in a register of its own (see `word`).
pub unsafe fn call_address(address: *mut c_void, arguments: &[Word]) -> Word {
    type W = Word;
    // SAFETY: the caller's promise.
    unsafe {
        match *arguments {
            [] => transmute::<*mut c_void, extern "C-unwind" fn() -> W>(address)(),
            [a] => transmute::<*mut c_void, extern "C-unwind" fn(W) -> W>(address)(a),
            [a, b] => transmute::<*mut c_void, extern "C-unwind" fn(W, W) -> W>(address)(a, b),
            [a, b, c] => transmute::<*mut c_void, extern "C-unwind" fn(W, W, W) -> W>(address)(a, b, c),
            [a, b, c, d] => transmute::<*mut c_void, extern "C-unwind" fn(W, W, W, W) -> W>(address)(a, b, c, d),
            [a, b, c, d, e] => {
                transmute::<*mut c_void, extern "C-unwind" fn(W, W, W, W, W) -> W>(address)(a, b, c, d, e)
            }
            [a, b, c, d, e, f] => {
                transmute::<*mut c_void, extern "C-unwind" fn(W, W, W, W, W, W) -> W>(address)(a, b, c, d, e, f)
            }
            _ => to_word(constants().err_other),
        }
    }
}

/// Returns the address of the next definition of `name` in the linker's order; or the MPI library's definition, if
/// that library is not in the order, as under mpi4py.
fn next_definition(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a terminated name.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if next.is_null() { function(name) } else { Some(next) }
}
