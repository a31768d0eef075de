//! State that outlives a file: what the process keeps, and what a thread keeps. Each such value is declared by one of these
//! macros, so that all of them are known and a world of its own can have its own.

/// Declares values of the process.
macro_rules! per_process {
    ($($(#[$attribute:meta])* $visible:vis static $name:ident: $kind:ty = $first:expr;)*) => {
        $($(#[$attribute])* $visible static $name: $kind = $first;)*
    };
}

/// Declares values of each thread, as `thread_local` does. It is for buffers that a function fills and empties, never for
/// what a call remembers.
macro_rules! per_thread {
    ($($values:tt)*) => {
        thread_local! { $($values)* }
    };
}

pub(crate) use {per_process, per_thread};
