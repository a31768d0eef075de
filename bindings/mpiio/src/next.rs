//! The function behind ours: that of the MPI library, or of another tool that was preloaded later.
//!
//! MPI libraries before MPI 4 have no functions with large counts. Programs that ask the dynamic linker whether there are any
//! (mpi4py does) find ours, so calls whose counts are small go to the functions without.

use std::ffi::{CStr, CString, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use tributary_abi::function;

use crate::abi::errors::Class;
use crate::abi::word::{Word, to_word};

/// An interposed function. The next one is looked up under its profiling name, which Fortran wrappers and tools call.
pub struct Function {
    /// `PMPI_File_...`.
    profiling: &'static CStr,
    next: AtomicPtr<c_void>,
    /// Whether `next` takes an `int` where this function takes a large count.
    is_small: AtomicBool,
}

impl Function {
    /// A function by its profiling name, with its terminator.
    pub const fn new(profiling: &'static str) -> Self {
        let profiling = match CStr::from_bytes_with_nul(profiling.as_bytes()) {
            Ok(name) => name,
            // For statics only, so this is an error of the compiler, not of a run.
            Err(_) => panic!("a name that does not end with its terminator"),
        };
        Self { profiling, next: AtomicPtr::new(null_mut()), is_small: AtomicBool::new(false) }
    }

    /// What it is called in reports: `write_at_all` for MPI_File_write_at_all.
    pub fn name(&self) -> &'static str {
        let name = self.profiling.to_str().unwrap_or_default();
        name.strip_prefix("PMPI_File_").unwrap_or(name)
    }

    /// The next function, to be called with what it declares. Not for functions with large counts.
    pub fn address(&self) -> Option<*mut c_void> {
        self.known().or_else(|| self.look_up())
    }

    /// Calls the next function with these arguments, as they came.
    pub fn call(&self, arguments: &[Word]) -> Word {
        let Some(next) = self.address() else {
            eprintln!("tributary: the MPI library has no {}", self.profiling.to_string_lossy());
            return to_word(Class::Other.number());
        };
        if self.is_small.load(Ordering::Relaxed) && self.count(arguments).is_some_and(|count| count > i32::MAX as Word)
        {
            eprintln!("tributary: the MPI library has no {}", self.profiling.to_string_lossy());
            return to_word(Class::Count.number());
        }
        type W = Word;
        // SAFETY: `next` is the function of this name, whose arguments came from a caller of that same function, each in
        // a register of its own (see `word`); the count is that of its declaration.
        unsafe {
            match *arguments {
                [a] => transmute::<*mut c_void, extern "C" fn(W) -> W>(next)(a),
                [a, b] => transmute::<*mut c_void, extern "C" fn(W, W) -> W>(next)(a, b),
                [a, b, c] => transmute::<*mut c_void, extern "C" fn(W, W, W) -> W>(next)(a, b, c),
                [a, b, c, d] => transmute::<*mut c_void, extern "C" fn(W, W, W, W) -> W>(next)(a, b, c, d),
                [a, b, c, d, e] => transmute::<*mut c_void, extern "C" fn(W, W, W, W, W) -> W>(next)(a, b, c, d, e),
                [a, b, c, d, e, f] => {
                    transmute::<*mut c_void, extern "C" fn(W, W, W, W, W, W) -> W>(next)(a, b, c, d, e, f)
                }
                _ => to_word(Class::Other.number()),
            }
        }
    }

    /// The next function, if it was looked up before.
    #[inline]
    pub fn known(&self) -> Option<*mut c_void> {
        let next = self.next.load(Ordering::Acquire);
        (!next.is_null()).then_some(next)
    }

    /// Two threads that look it up at once find the same.
    #[cold]
    fn look_up(&self) -> Option<*mut c_void> {
        let next = behind(self.profiling).or_else(|| {
            let small = CString::new(self.profiling.to_bytes().strip_suffix(b"_c")?).ok()?;
            let next = behind(&small)?;
            self.is_small.store(true, Ordering::Relaxed);
            Some(next)
        })?;
        self.next.store(next, Ordering::Release);
        Some(next)
    }

    /// The count among the arguments of a function that moves data: file, offset if it has one, buffer, count.
    fn count(&self, arguments: &[Word]) -> Option<Word> {
        let name = self.name();
        let place = if name.contains("_at") { 3 } else { 2 };
        arguments.get(place).copied().filter(|_| !name.starts_with("get_"))
    }
}

/// What comes after us in the program's order; or the MPI library's own, where that is not in it, as with mpi4py.
fn behind(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a terminated name.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if next.is_null() { function(name) } else { Some(next) }
}
