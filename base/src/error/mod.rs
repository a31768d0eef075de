//! Defines the errors of the library, by cause. A collective call returns the same [`Error`] on all ranks, or on
//! none.

mod io;

use std::fmt::{Display, Formatter};

use crate::calls::CallGroups;
use crate::topology::Rank;
use crate::wire::{self, Output, Wire};

pub use io::{DeferredWrite, FileOperation, IoCause, IoClass};

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The kind of a bad argument, for bindings that have an error code of their own for the kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The argument is a number of elements.
    Count,
    /// The argument is a datatype of elements.
    Datatype,
    /// The argument is the name of the file.
    Path,
    /// The argument is the access mode, which differs from the first rank's.
    AccessMode,
    /// The path or the hints of an open differ between ranks.
    Terms,
    /// The new size of the file differs between ranks.
    FileSize,
    /// The offsets in a list are in a wrong order.
    ListOrder,
    /// A length in a list is not allowed.
    ListLength,
    /// The error is about any other argument.
    Other,
}

/// Every error of the library. Cheap to clone and to send to other ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value that is not allowed for a hint.
    #[error("{}hint {key}: `{value}` is not allowed; allowed: {allowed}", Origin(*.rank))]
    Hint {
        /// The rank whose hint is wrong, after the ranks have agreed on the error.
        rank: Option<Rank>,
        /// Key of the hint.
        key: String,
        /// Value that is not allowed.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A value that is not allowed for an argument of a call.
    #[error("{}{what}: {value}; allowed: {allowed}", Origin(*.rank))]
    Argument {
        /// The rank whose argument is wrong, after the ranks have agreed on the error.
        rank: Option<Rank>,
        /// Kind of the argument, for bindings that have an error code of their own for it.
        about: About,
        /// The name of the argument.
        what: String,
        /// Value of the argument.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// The key of a hint begins with `trib_`, but the hint is unknown, or this version has removed it.
    #[error("{}hint {key} does not exist; {advice}", Origin(*.rank))]
    UnknownHint {
        /// The rank whose hint is wrong, after the ranks have agreed on the error.
        rank: Option<Rank>,
        /// Key that does not exist.
        key: String,
        /// Advice which hint to use instead.
        advice: String,
    },
    /// A call that is not possible in the state of a file or of an operation.
    #[error("{}{what}", Origin(*.rank))]
    State {
        /// The rank on which the error occurred, after the ranks have agreed on it.
        rank: Option<Rank>,
        /// Kind of the error, for bindings that have an error code of their own for it.
        about: About,
        /// A sentence: what happened, and what to do.
        what: String,
    },
    /// Ranks are in different collective calls on a file; all ranks return this.
    #[error("{calls} of {path}; all ranks must make the same collective call")]
    CallsDiffer {
        /// The ranks in each call.
        calls: CallGroups,
        /// Path of the file.
        path: String,
    },
    /// An operating-system call on the shared file failed on one rank; all ranks return this.
    #[error("rank {rank}: {operation} of {path} failed{}: {cause}", AtOffset(*.offset))]
    Io {
        /// The rank whose call failed; the lowest, if several failed.
        rank: Rank,
        /// The operation that failed.
        operation: FileOperation,
        /// Path of the file.
        path: String,
        /// Offset in the file, in bytes; `None` for an operation without an offset, such as open.
        offset: Option<u64>,
        /// Class of the operating system's error.
        class: IoClass,
        /// The cause of the failure.
        #[source]
        cause: IoCause,
    },
    /// Encoded extents that cannot be decoded.
    #[error("encoded extents are damaged at byte {at}: {what}")]
    Codec {
        /// Position of the damage in the encoded bytes.
        at: usize,
        /// Description of the damage.
        what: String,
        /// True if the ranks have agreed on the error.
        agreed: Agreed,
    },
    /// A rank cannot allocate the memory for its part of a call; all ranks return this.
    #[error("rank {rank}: cannot allocate {bytes} bytes for {what}")]
    NoMemory {
        /// Lowest rank that cannot allocate the memory.
        rank: Rank,
        /// Number of bytes that this rank needs.
        bytes: u64,
        /// Purpose of the memory.
        what: String,
    },
    /// The caller refused the call on a rank (`tributary::File::refuse`); all ranks return this.
    #[error("{}refused: {why}", Origin(*.rank))]
    Refused {
        /// The rank that refuses the call, after the ranks have agreed on the error.
        rank: Option<Rank>,
        /// Number that the caller chose for the reason.
        reason: u32,
        /// The reason as a sentence.
        why: String,
    },
    /// The fabric failed: a rank ended, or MPI returned an error. The ranks usually do not agree on this error and cannot
    /// recover from it.
    #[error("communication failed: {what}")]
    Fabric {
        /// Description of the failure.
        what: String,
        /// True if the ranks have agreed on the error.
        agreed: Agreed,
    },
    /// An invariant of Tributary itself does not hold. Please report it.
    #[error("internal error on rank {rank}: {what}")]
    Internal {
        /// Rank that found the fault.
        rank: Rank,
        /// Description of the invariant that does not hold.
        what: String,
        /// True if the ranks have agreed on the error.
        agreed: Agreed,
    },
}

/// True if all ranks know an error and return it. It is neither displayed nor sent, and errors that differ only in it
/// are equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Agreed(bool);

impl PartialEq for Agreed {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Agreed {}

impl Wire for Agreed {
    const SIZE: Option<usize> = Some(0);

    fn encode(&self, _: &mut impl Output) {}

    fn decode(_: &mut &[u8]) -> Option<Self> {
        Some(Self::default())
    }
}

wire::fields!(enum About {
    0 Count, 1 Datatype, 2 Path, 3 AccessMode, 4 Terms, 5 FileSize, 6 ListOrder, 7 ListLength, 8 Other,
});

/// Results are returned in hot loops: an error stays small.
const _: () = assert!(size_of::<Error>() <= 96);

wire::fields!(enum Error {
    0 Hint { rank, key, value, allowed },
    1 Argument { rank, about, what, value, allowed },
    2 Io { rank, operation, path, offset, class, cause },
    3 Codec { at, what, agreed },
    4 NoMemory { rank, bytes, what },
    5 Refused { rank, reason, why },
    6 Fabric { what, agreed },
    7 Internal { rank, what, agreed },
    8 UnknownHint { rank, key, advice },
    9 State { rank, about, what },
    10 CallsDiffer { calls, path },
});

impl Error {
    /// Returns an [`Error::Argument`].
    pub fn argument(what: impl ToString, value: impl ToString, allowed: impl ToString) -> Self {
        let (what, value, allowed) = (on_one_line(what), on_one_line(value), allowed.to_string());
        Self::Argument { rank: None, about: About::Other, what, value, allowed }
    }

    /// Returns an [`Error::State`] with this sentence.
    pub fn state(what: impl ToString) -> Self {
        Self::State { rank: None, about: About::Other, what: on_one_line(what) }
    }

    /// Returns an [`Error::UnknownHint`].
    pub fn unknown_hint(key: impl ToString, advice: impl ToString) -> Self {
        Self::UnknownHint { rank: None, key: on_one_line(key), advice: advice.to_string() }
    }

    /// Sets the kind of an [`Error::Argument`] or [`Error::State`]; returns any other error unchanged.
    #[must_use]
    pub fn about(mut self, kind: About) -> Self {
        if let Self::Argument { about, .. } | Self::State { about, .. } = &mut self {
            *about = kind;
        }
        self
    }

    /// Returns an [`Error::Refused`].
    pub fn refused(reason: u32, why: impl ToString) -> Self {
        Self::Refused { rank: None, reason, why: why.to_string() }
    }

    /// Returns an [`Error::Hint`].
    pub fn hint(key: impl ToString, value: impl ToString, allowed: impl ToString) -> Self {
        Self::Hint { rank: None, key: on_one_line(key), value: on_one_line(value), allowed: allowed.to_string() }
    }

    /// Returns an [`Error::Codec`]; `at` is the position of the damage in the encoded bytes.
    pub fn codec(at: usize, what: impl Into<String>) -> Self {
        Self::Codec { at, what: what.into(), agreed: Agreed(false) }
    }

    /// Returns an [`Error::Fabric`].
    pub fn fabric(what: impl Into<String>) -> Self {
        Self::Fabric { what: what.into(), agreed: Agreed(false) }
    }

    /// Returns an [`Error::Internal`] of `rank`.
    pub fn internal(rank: Rank, what: impl Into<String>) -> Self {
        Self::Internal { rank, what: what.into(), agreed: Agreed(false) }
    }

    /// Marks an error that all ranks know and return. The code that has made it the same on all ranks calls this.
    #[must_use]
    pub fn agreed(mut self) -> Self {
        if let Self::Codec { agreed, .. } | Self::Fabric { agreed, .. } | Self::Internal { agreed, .. } = &mut self {
            *agreed = Agreed(true);
        }
        self
    }

    /// Returns true if other ranks may not know this error. Errors of arguments and of the file are agreed before they are
    /// returned. Other errors are not, unless they are marked ([`Error::agreed`]).
    pub fn is_unagreed(&self) -> bool {
        match self {
            Self::Codec { agreed, .. } | Self::Fabric { agreed, .. } | Self::Internal { agreed, .. } => !agreed.0,
            _ => false,
        }
    }

    /// Adds `origin`, the rank on which the error occurred. Leaves an error unchanged that already names its ranks.
    #[must_use]
    pub fn of_rank(mut self, origin: Rank) -> Self {
        match &mut self {
            Self::Argument { about: About::AccessMode | About::Terms | About::FileSize, .. } => {}
            Self::Argument { rank, .. }
            | Self::Hint { rank, .. }
            | Self::UnknownHint { rank, .. }
            | Self::State { rank, .. }
            | Self::Refused { rank, .. } => {
                rank.get_or_insert(origin);
            }
            _ => {}
        }
        self
    }

    /// Adds `origin` as [`Error::of_rank`] does, if `ranks` is more than 1.
    #[must_use]
    pub fn of_rank_among(self, origin: Rank, ranks: usize) -> Self {
        if ranks > 1 { self.of_rank(origin) } else { self }
    }

    /// Returns an [`Error::Io`] with the class and message of `cause`.
    pub fn io(
        rank: Rank,
        operation: FileOperation,
        path: &std::path::Path,
        offset: impl Into<Option<u64>>,
        cause: &std::io::Error,
    ) -> Self {
        Self::Io {
            rank,
            class: IoClass::of(&operation, cause),
            operation,
            path: path.display().to_string(),
            offset: offset.into(),
            cause: cause.into(),
        }
    }
}

/// Prints the rank of an error as the first part of the message; prints nothing for None.
struct Origin(Option<Rank>);

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |rank| write!(f, "rank {rank}: "))
    }
}

/// Prints the offset of a failed operation; prints nothing for None.
struct AtOffset(Option<u64>);

impl Display for AtOffset {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |offset| write!(f, " at offset {offset}"))
    }
}

/// Returns the text with line ends and other control characters escaped as in Rust, so that an error has one line.
fn on_one_line(given: impl ToString) -> String {
    let given = given.to_string();
    if !given.contains(char::is_control) {
        return given;
    }
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    given.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agreed_error_names_its_rank_once() {
        let error = Error::argument("file_offsets[3]", -8, "0 or more");
        assert_eq!(error.to_string(), "file_offsets[3]: -8; allowed: 0 or more");
        let agreed = error.of_rank(2);
        assert_eq!(agreed.to_string(), "rank 2: file_offsets[3]: -8; allowed: 0 or more");
        assert_eq!(agreed.clone().of_rank(5), agreed);
        let named = Error::argument("path", "rank 2 opens a, rank 0 b", "the same on all ranks").about(About::Terms);
        assert_eq!(named.clone().of_rank(2), named);
        assert!(Error::hint("cb_nodes", 0, "1 or more").of_rank(1).to_string().starts_with("rank 1: hint cb_nodes: "));
    }

    #[test]
    fn an_operation_without_an_offset_prints_none() {
        let of = |offset: Option<u64>| {
            let cause = std::io::Error::from_raw_os_error(libc::ENOENT);
            Error::io(3, FileOperation::Open, "a".as_ref(), offset, &cause).to_string()
        };
        assert_eq!(of(None), "rank 3: open of a failed: No such file or directory (os error 2)");
        assert_eq!(of(Some(0)), "rank 3: open of a failed at offset 0: No such file or directory (os error 2)");
    }

    #[test]
    fn an_error_has_its_cause_as_source_after_it_was_sent() {
        let full = std::io::Error::from_raw_os_error(libc::ENOSPC);
        let error = Error::io(3, FileOperation::Write, "a".as_ref(), 5, &full);
        let error: Error = wire::from_bytes(&wire::to_bytes(&error)).unwrap();
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<IoCause>()).unwrap();
        assert_eq!((source.errno(), source.kind()), (Some(libc::ENOSPC), std::io::ErrorKind::StorageFull));
    }

    #[test]
    fn ranks_that_receive_an_error_have_not_agreed_on_it() {
        let broken = Error::fabric("broken");
        assert!(broken.is_unagreed() && !Error::argument("count", -1, "0 or more").is_unagreed());
        let agreed = broken.clone().agreed();
        assert!(!agreed.is_unagreed());
        assert_eq!(agreed, broken);
        assert_eq!(agreed.to_string(), "communication failed: broken");
        assert!(wire::from_bytes::<Error>(&wire::to_bytes(&agreed)).unwrap().is_unagreed());
    }
}
