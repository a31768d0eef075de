//! Owns a file together with the operation in flight, which borrows the file.

use std::ptr::NonNull;

use tributary::access::OwnedAccess;
use tributary::engine::binding::{self, Asked, Moved};
use tributary::{Direction, Error, File, Operation, Result};

/// A boxed value: it keeps its address when its owner moves, so another field of the owner can borrow it.
struct Fixed<T>(NonNull<T>);

impl<T> Fixed<T> {
    fn new(value: T) -> Self {
        Self(NonNull::from(Box::leak(Box::new(value))))
    }

    fn into_inner(self) -> T {
        let place = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: the pointer is from the box in `new`. It is taken back once, because `self` is not dropped.
        *unsafe { Box::from_raw(place.as_ptr()) }
    }
}

impl<T> Drop for Fixed<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer is from the box in `new`, and is taken back once, here.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// An operation in flight, and the access that it borrows besides the file. The operation is dropped first.
struct RunningOperation {
    operation: Operation<'static, Moved>,
    _access: Option<Fixed<OwnedAccess<'static>>>,
}

/// A file and its operation in flight, if there is one. The operation borrows the file and is dropped first.
pub struct Busy {
    running: Option<RunningOperation>,
    file: Fixed<File>,
}

impl Busy {
    /// Creates the owner of an open file that has no operation in flight.
    pub fn new(file: File) -> Self {
        Self { running: None, file: Fixed::new(file) }
    }

    /// Returns the file, if no operation is in flight.
    ///
    /// # Errors
    /// An operation is in flight.
    pub fn file(&mut self) -> Result<&mut File> {
        match self.running {
            // SAFETY: the file lives as long as `self`, and is borrowed by nobody else: no operation is in flight, and
            // `self` is borrowed as long as the result.
            None => Ok(unsafe { self.file.0.as_mut() }),
            Some(_) => Err(Error::state(
                "an operation is in flight on the file; call trib_wait, or trib_test until it is done, first",
            )),
        }
    }

    /// Returns the file. Drops an operation in flight; after that the file can only be closed.
    pub fn into_file(self) -> File {
        drop(self.running);
        self.file.into_inner()
    }

    /// Starts a collective write or read of the C function `function`. If `access` is an error, this rank takes part
    /// all the same, and the operation fails on all ranks. Collective.
    ///
    /// # Errors
    /// An operation is in flight already.
    pub fn start(
        &mut self,
        function: &'static str,
        direction: Direction,
        access: Result<OwnedAccess<'static>>,
    ) -> Result<()> {
        binding::call_them(self.file()?, function);
        // SAFETY: the file keeps its address until `self` is dropped. The operation is dropped before the file (the order
        // of the fields, and `into_file`). Until then `file` returns the file to nobody.
        let file: &'static mut File = unsafe { &mut *self.file.0.as_ptr() };
        let (asked, access) = match access {
            Err(error) => (Asked::refusal(direction, error), None),
            Ok(access) => {
                let access = Fixed::new(access);
                // SAFETY: the access keeps its address until `RunningOperation` drops it, after the operation (the first field).
                // Nothing else uses it.
                let lent: &'static mut OwnedAccess<'static> = unsafe { &mut *access.0.as_ptr() };
                (Asked::new(lent.lent()), Some(access))
            }
        };
        let operation = binding::start(file, asked);
        self.running = Some(RunningOperation { operation, _access: access });
        Ok(())
    }

    /// Advances the operation as far as possible without waiting. Returns its result when it has ended.
    ///
    /// # Errors
    /// No operation is in flight.
    pub fn test(&mut self) -> Result<Option<Result<Moved>>> {
        let running = self.running.as_mut().ok_or_else(nothing)?;
        let outcome = running.operation.test();
        if outcome.is_some() {
            self.running = None;
        }
        Ok(outcome)
    }

    /// Completes the operation.
    ///
    /// # Errors
    /// The errors of the operation; or no operation is in flight.
    pub fn wait(&mut self) -> Result<Moved> {
        // Drops what the operation borrowed.
        let RunningOperation { operation, _access } = self.running.take().ok_or_else(nothing)?;
        operation.wait()
    }
}

fn nothing() -> Error {
    Error::state("no operation is in flight on the file; call a trib_start_ function before trib_test and trib_wait")
}
