//! Keeps the addresses that C programs have as handles of open files. If a program uses a copy of
//! the handle of a closed file, the table finds this out without access to the file's memory.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard};

use tributary::{Error, Result};

use crate::guard::lock;

/// The table of the handles of all files of type `T`, open and closed.
pub struct Handles<T> {
    /// Name of the handle's argument in errors.
    argument: &'static str,
    /// Text in errors about the handles that are allowed.
    allowed: &'static str,
    known: Mutex<Known>,
    files: PhantomData<fn() -> T>,
}

#[derive(Default)]
struct Known {
    open: BTreeSet<usize>,
    /// Handles of files that were closed, and that no open file has now.
    closed: BTreeSet<usize>,
}

impl<T> Handles<T> {
    /// Creates an empty table.
    pub const fn new(argument: &'static str, allowed: &'static str) -> Self {
        let known = Known { open: BTreeSet::new(), closed: BTreeSet::new() };
        Self { argument, allowed, known: Mutex::new(known), files: PhantomData }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.known)
    }

    /// Turns a file that was opened into its handle. [`Handles::take`] turns it back.
    pub fn add(&self, file: T) -> *mut T {
        let handle = Box::into_raw(Box::new(file));
        self.known().add(handle.addr());
        handle
    }

    /// Returns the open file of a handle.
    ///
    /// # Errors
    /// The handle is NULL, was closed, or was never a handle.
    ///
    /// # Safety
    /// Nothing else uses the file during the lifetime of the result.
    pub unsafe fn get<'a>(&self, handle: *mut T) -> Result<&'a mut T> {
        self.known().check(handle.addr()).map_err(|given| self.refused(given))?;
        // SAFETY: from `add`, and not taken back; the caller's promise.
        Ok(unsafe { &mut *handle })
    }

    /// Removes the handle of a file that is being closed, and returns the file. Only the first of several calls succeeds.
    ///
    /// # Errors
    /// The errors of [`Handles::get`].
    ///
    /// # Safety
    /// Nothing else uses the file.
    pub unsafe fn take(&self, handle: *mut T) -> Result<T> {
        self.known().remove(handle.addr()).map_err(|given| self.refused(given))?;
        // SAFETY: from `add`, taken back once: here it leaves the table.
        Ok(*unsafe { Box::from_raw(handle) })
    }

    fn refused(&self, given: String) -> Error {
        Error::argument(self.argument, given, self.allowed)
    }
}

impl Known {
    fn add(&mut self, handle: usize) {
        self.closed.remove(&handle);
        self.open.insert(handle);
    }

    fn remove(&mut self, handle: usize) -> std::result::Result<(), String> {
        self.check(handle)?;
        self.open.remove(&handle);
        self.closed.insert(handle);
        Ok(())
    }

    /// Checks a handle. The error describes the handle: NULL, closed or unknown.
    fn check(&self, handle: usize) -> std::result::Result<(), String> {
        match handle {
            0 => Err("NULL".to_string()),
            open if self.open.contains(&open) => Ok(()),
            closed if self.closed.contains(&closed) => Err("closed".to_string()),
            other => Err(format!("{other:#x}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_handle_is_called_closed_until_a_file_reuses_it() {
        let mut known = Known::default();
        assert_eq!(known.check(16), Err("0x10".to_string()));
        assert_eq!(known.check(0), Err("NULL".to_string()));
        known.add(16);
        known.check(16).unwrap();
        known.remove(16).unwrap();
        assert_eq!(known.check(16), Err("closed".to_string()));
        assert_eq!(known.remove(16), Err("closed".to_string()));
        known.add(16);
        known.check(16).unwrap();
    }

    #[test]
    fn a_file_is_taken_once() {
        let handles = Handles::new("file", "an open file");
        let handle = handles.add(7);
        // SAFETY: only this test uses the file.
        unsafe {
            assert_eq!(handles.get(handle).map(|file| *file), Ok(7));
            assert_eq!(handles.take(handle), Ok(7));
            let error = handles.take(handle).unwrap_err().to_string();
            assert_eq!(error, "file: closed; allowed: an open file");
        }
    }
}
