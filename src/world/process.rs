//! State that outlives a file, of the process or of a thread. One of these macros declares each such value, so that all of
//! them are known, and each simulated process can have its own.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// Declares values of the process that are facts of the machine: all ranks of a world may have the same.
macro_rules! per_process {
    ($($(#[$attribute:meta])* $visible:vis static $name:ident: $kind:ty = $first:expr;)*) => {
        $($(#[$attribute])* $visible static $name: $kind = $first;)*
    };
}

/// Declares values of which each process has its own ([`Own`]); in a world, each simulated process has its own.
macro_rules! own_state {
    ($($(#[$attribute:meta])* $visible:vis static $name:ident: $kind:ty = $first:expr;)*) => {
        $($(#[$attribute])* $visible static $name: $crate::world::process::Own<$kind> =
            $crate::world::process::Own::new($first, || $first);)*
    };
}

/// Declares values of each thread, as `thread_local` does. It is for buffers that a function fills and empties, never for
/// state of a call.
macro_rules! per_thread {
    ($($values:tt)*) => {
        thread_local! { $($values)* }
    };
}

pub(crate) use {own_state, per_process, per_thread};

/// A value of which each process has its own, also each simulated process.
pub struct Own<T> {
    value: T,
    make: fn() -> T,
}

impl<T: Send + Sync + 'static> Own<T> {
    /// Returns a value. `make` makes the value of a simulated process.
    pub const fn new(value: T, make: fn() -> T) -> Self {
        Self { value, make }
    }

    /// Calls `work` with the value of this process.
    #[inline]
    pub fn with<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        match self.elsewhere() {
            None => work(&self.value),
            Some(value) => work(&value),
        }
    }

    /// Returns the value of a simulated process; `None` in a process of the system.
    #[inline]
    fn elsewhere(&self) -> Option<Arc<T>> {
        let world = super::entered()?;
        Some(world.process().get(std::ptr::from_ref(self).addr(), self.make))
    }
}

/// The values of one simulated process.
#[derive(Default)]
pub struct ProcessValues(Mutex<Vec<(usize, Arc<dyn Any + Send + Sync>)>>);

impl ProcessValues {
    /// Returns the value of an [`Own`] at this address.
    fn get<T: Send + Sync + 'static>(&self, address: usize, make: fn() -> T) -> Arc<T> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = values.iter().find(|(own, _)| *own == address).map(|(_, value)| value.clone());
        let value = known.unwrap_or_else(|| {
            let made: Arc<dyn Any + Send + Sync> = Arc::new(make());
            values.push((address, made.clone()));
            made
        });
        value.downcast().unwrap_or_else(|_| unreachable!("one type at one address"))
    }
}
