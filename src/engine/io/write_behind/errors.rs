//! Errors of buffered bytes that a thread could not write, kept until a call has returned each of them.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Maximum number of errors that are kept. Errors of further collective writes are only counted.
const MOST: usize = 64;

/// An error that no call has returned.
struct KeptError {
    /// Offset in the file at which the write failed.
    offset: Option<u64>,
    error: Error,
    /// Number of later collective writes that have failed, too, and whose errors were not kept.
    later: u64,
}

impl KeptError {
    fn full(&self) -> Error {
        match self.error.clone() {
            Error::Io { rank, operation, path, offset, class, cause } if self.later > 0 => {
                let cause = cause.with_more(&format!("; so did bytes of {} later collective writes", self.later));
                Error::Io { rank, operation, path, offset, class, cause }
            }
            error => error,
        }
    }
}

/// The errors of one rank: of each collective write, the error at the lowest offset; and of a sync or close after it.
#[derive(Default)]
pub struct KeptErrors(BTreeMap<(u64, Source), KeptError>);

/// The operation that failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// Buffered bytes of a collective write.
    Write,
    /// A sync or close after it: the number of its error.
    Other(usize),
}

impl KeptErrors {
    /// Keeps an error of the collective write `number` at `offset`.
    pub fn keep(&mut self, number: u64, offset: Option<u64>, error: Error) {
        self.keep_as((number, Source::Write), offset, error);
    }

    /// Keeps an error of a sync or close after the collective write `number`.
    pub fn keep_other(&mut self, number: u64, error: Error) {
        let last = self.0.range(..=(number, Source::Other(usize::MAX))).next_back();
        let next = match last {
            Some((&(of, Source::Other(last)), _)) if of == number => last + 1,
            _ => 0,
        };
        self.keep_as((number, Source::Other(next)), None, error);
    }

    fn keep_as(&mut self, key: (u64, Source), offset: Option<u64>, error: Error) {
        let is_full = self.0.len() >= MOST && !self.0.contains_key(&key);
        if let Some(mut last) = self.0.last_entry().filter(|_| is_full) {
            last.get_mut().later += 1;
            return;
        }
        let is_first = self.0.get(&key).is_none_or(|kept| offset < kept.offset);
        if is_first {
            self.0.insert(key, KeptError { offset, error, later: 0 });
        }
    }

    /// Returns the error of the earliest call, for this rank's part in a collective call. It stays until all ranks have
    /// returned it ([`KeptErrors::returned`]).
    pub fn first(&self) -> Option<Error> {
        self.0.first_key_value().map(|(_, kept)| kept.full())
    }

    /// Notes the outcome of a collective call, the same on all ranks. Forgets this rank's error if the call has returned it.
    /// If the call has returned another rank's error, this rank's errors stay.
    pub fn returned<T>(&mut self, outcome: &Result<T>) {
        if let Err(error) = outcome {
            self.0.retain(|_, kept| kept.full() != *error);
        }
    }

    /// Returns the error of the earliest call, and forgets it.
    pub fn take_first(&mut self) -> Option<Error> {
        self.0.pop_first().map(|(_, kept)| kept.full())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::error::FileOperation;

    fn error(rank: usize, call: u64, offset: u64) -> Error {
        let operation = FileOperation::deferred_write("write", call);
        Error::io(rank, operation, Path::new("file"), offset, &std::io::Error::from_raw_os_error(libc::ENOSPC))
    }

    #[test]
    fn each_call_has_an_error_until_it_is_returned() {
        let mut errors = KeptErrors::default();
        for (call, offset) in [(2, 7), (1, 50), (2, 3), (2, 9)] {
            errors.keep(call, Some(offset), error(1, call, offset));
        }
        errors.returned::<()>(&Err(error(0, 1, 50)));
        errors.returned(&Ok(()));
        assert_eq!(errors.first(), Some(error(1, 1, 50)), "not displaced");
        errors.returned::<()>(&Err(error(1, 1, 50)));
        errors.keep_other(2, error(1, 0, 0));
        errors.keep_other(2, error(1, 0, 1));
        errors.keep(3, Some(8), error(1, 3, 8));
        let left = std::iter::from_fn(|| errors.take_first());
        assert!(left.eq([error(1, 2, 3), error(1, 0, 0), error(1, 0, 1), error(1, 3, 8)]), "nothing is displaced");
    }

    #[test]
    fn more_errors_are_counted() {
        let mut errors = KeptErrors::default();
        (0..MOST as u64 + 3).for_each(|call| errors.keep(call, Some(0), error(0, call, 0)));
        let all: Vec<_> = std::iter::from_fn(|| errors.take_first()).collect();
        assert_eq!(all.len(), MOST);
        assert!(
            all[MOST - 1].to_string().ends_with("; so did bytes of 3 later collective writes"),
            "{}",
            all[MOST - 1]
        );
    }
}
