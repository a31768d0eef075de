//! Keeps the addresses that C programs have as handles of open files. A closed file, of whose handle a program may
//! have kept a copy, is recognised without access to its memory.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tributary::{Error, Result};

/// All handles of one kind.
pub struct Handles {
    /// The argument's name in errors.
    argument: &'static str,
    /// Description of what is allowed, for errors.
    allowed: &'static str,
    known: Mutex<Known>,
}

struct Known {
    open: BTreeSet<usize>,
    /// Handles of files that were closed, and that no open file has now.
    closed: BTreeSet<usize>,
}

impl Handles {
    /// Creates an empty table.
    pub const fn new(argument: &'static str, allowed: &'static str) -> Self {
        let known = Known { open: BTreeSet::new(), closed: BTreeSet::new() };
        Self { argument, allowed, known: Mutex::new(known) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the handle of a file that was opened.
    pub fn add(&self, handle: usize) {
        let mut known = self.known();
        known.closed.remove(&handle);
        known.open.insert(handle);
    }

    /// Checks that a handle belongs to an open file.
    ///
    /// # Errors
    /// The handle is NULL, was closed, or was never a handle.
    pub fn check(&self, handle: usize) -> Result<()> {
        self.known().check(handle).map_err(|given| Error::argument(self.argument, given, self.allowed))
    }

    /// Removes the handle of a file that is being closed. Only the first of several calls succeeds.
    ///
    /// # Errors
    /// The errors of [`Handles::check`].
    pub fn remove(&self, handle: usize) -> Result<()> {
        let mut known = self.known();
        known.check(handle).map_err(|given| Error::argument(self.argument, given, self.allowed))?;
        known.open.remove(&handle);
        known.closed.insert(handle);
        Ok(())
    }
}

impl Known {
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
    fn a_closed_handle_is_called_closed_until_a_file_has_it_again() {
        let handles = Handles::new("file", "an open file");
        let error = |outcome: Result<()>| outcome.unwrap_err().to_string();
        assert_eq!(error(handles.check(16)), "file: 0x10; allowed: an open file");
        assert_eq!(error(handles.check(0)), "file: NULL; allowed: an open file");
        handles.add(16);
        handles.check(16).unwrap();
        handles.remove(16).unwrap();
        assert_eq!(error(handles.check(16)), "file: closed; allowed: an open file");
        assert_eq!(error(handles.remove(16)), "file: closed; allowed: an open file");
        handles.add(16);
        handles.check(16).unwrap();
    }
}
