//! The function behind ours: that of the MPI library, or of another tool that was preloaded later.

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::abi::errors::Class;
use crate::abi::word::{Word, to_word};

/// An interposed function. The next one is looked up under its profiling name, which Fortran wrappers and tools call.
pub struct Function {
    /// `PMPI_File_...`.
    profiling: &'static CStr,
    next: AtomicPtr<c_void>,
}

impl Function {
    /// A function by its profiling name, with its terminator.
    pub const fn new(profiling: &'static str) -> Self {
        let profiling = match CStr::from_bytes_with_nul(profiling.as_bytes()) {
            Ok(name) => name,
            // For statics only, so this is an error of the compiler, not of a run.
            Err(_) => panic!("a name that does not end with its terminator"),
        };
        Self { profiling, next: AtomicPtr::new(null_mut()) }
    }

    /// What it is called in reports: `write_at_all` for MPI_File_write_at_all.
    pub fn name(&self) -> &'static str {
        let name = self.profiling.to_str().unwrap_or_default();
        name.strip_prefix("PMPI_File_").unwrap_or(name)
    }

    /// Calls the next function with these arguments, as they came.
    pub fn call(&self, arguments: &[Word]) -> Word {
        let Some(next) = self.resolve() else {
            eprintln!("tributary: the MPI library has no {}", self.profiling.to_string_lossy());
            return to_word(Class::Other.number());
        };
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

    fn resolve(&self) -> Option<*mut c_void> {
        let mut next = self.next.load(Ordering::Relaxed);
        if next.is_null() {
            // SAFETY: a terminated name. Two threads that look it up at once find the same.
            next = unsafe { libc::dlsym(libc::RTLD_NEXT, self.profiling.as_ptr()) };
            self.next.store(next, Ordering::Relaxed);
        }
        (!next.is_null()).then_some(next)
    }
}
