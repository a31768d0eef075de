//! Errors, by cause. A collective call returns the same [`Error`] on all ranks, or on none.

use std::fmt::{Display, Formatter};

use crate::rank::Rank;
use crate::wire;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The class of a failed operating-system call on the shared file. It means the same on every rank: errno values differ between
/// systems, and MPI error classes between MPI libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoClass {
    /// ENOSPC.
    NoSpace,
    /// EDQUOT.
    Quota,
    /// EFBIG: the file-size limit of the process or of the file system.
    TooLarge,
    /// EROFS, or a file opened for reading only.
    ReadOnly,
    /// EACCES, EPERM.
    Access,
    /// ENOENT, ENOTDIR.
    NoSuchFile,
    /// EISDIR, EINVAL, ENAMETOOLONG: the path cannot be used as a file.
    BadFile,
    /// EMFILE, ENFILE, EAGAIN, ENOMEM: the process or the system has no descriptors, threads or memory left.
    UsedUp,
    /// Any other error.
    Other,
}

impl IoClass {
    /// Returns the class of an operating-system error.
    pub fn from_io_error(error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOSPC) => Self::NoSpace,
            Some(libc::EDQUOT) => Self::Quota,
            Some(libc::EFBIG) => Self::TooLarge,
            Some(libc::EROFS | libc::EBADF) => Self::ReadOnly,
            Some(libc::EACCES | libc::EPERM) => Self::Access,
            Some(libc::ENOENT | libc::ENOTDIR) => Self::NoSuchFile,
            Some(libc::EISDIR | libc::EINVAL | libc::ENAMETOOLONG) => Self::BadFile,
            Some(libc::EMFILE | libc::ENFILE | libc::EAGAIN | libc::ENOMEM) => Self::UsedUp,
            _ => Self::Other,
        }
    }
}

/// The kind of a bad argument, for bindings that have an error code of their own for this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// The number of elements.
    Count,
    /// The datatype of the elements.
    Datatype,
    /// The name of the file.
    Path,
    /// The access mode, which differs from the first rank's.
    AccessMode,
    /// The path or hints of an open, which differ between ranks.
    Terms,
    /// The new size of the file, which differs between ranks.
    FileSize,
    /// The collective call, which differs between ranks.
    Call,
    /// The order of the offsets in a list.
    ListOrder,
    /// A length in a list.
    ListLength,
    /// Any other argument.
    Other,
}

/// Every error of the library. Cheap to clone and to send to other ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A value that is not allowed for a hint.
    #[error("{}hint {key}: `{value}` is not allowed; allowed: {allowed}", Origin(*.rank))]
    Hint {
        /// The rank whose hint it is, once ranks have agreed on the error.
        rank: Option<Rank>,
        /// The hint's key.
        key: String,
        /// The value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A value that is not allowed for an argument of a call.
    #[error("{}{what}: {value}; allowed: {allowed}", Origin(*.rank))]
    Argument {
        /// The rank whose argument it is, once ranks have agreed on the error.
        rank: Option<Rank>,
        /// The kind of argument.
        about: About,
        /// The name of the argument.
        what: String,
        /// Its value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A hint of ours that does not exist, or does not exist any more.
    #[error("{}hint {key} does not exist; {advice}", Origin(*.rank))]
    UnknownHint {
        /// The rank whose hint it is, once ranks have agreed on the error.
        rank: Option<Rank>,
        /// The hint's key.
        key: String,
        /// What to use instead.
        advice: String,
    },
    /// A call that is not possible in the state of a file or of an operation.
    #[error("{}{what}", Origin(*.rank))]
    State {
        /// The rank on which the error occurred, once ranks have agreed on the error.
        rank: Option<Rank>,
        /// The code of a binding for this error.
        about: About,
        /// A sentence: what happened, and what to do.
        what: String,
    },
    /// An operating-system call on the shared file failed on one rank; all ranks return this.
    #[error("rank {rank}: {operation} of {path} failed{}: {cause}", AtOffset(*.offset))]
    Io {
        /// The rank whose call failed; the lowest, if several failed.
        rank: Rank,
        /// `open`, `read`, `write`, `sync`, ...
        operation: String,
        /// The file.
        path: String,
        /// Offset in the file, in bytes; `None` for an operation without an offset, such as open.
        offset: Option<u64>,
        /// The class of the cause.
        class: IoClass,
        /// The message of the operating system.
        cause: String,
    },
    /// Encoded extents that cannot be decoded.
    #[error("encoded extents are damaged at byte {at}: {what}")]
    Codec {
        /// Position in the encoded bytes.
        at: usize,
        /// The damage.
        what: String,
    },
    /// A rank cannot allocate the memory for its part of a call; all ranks return this.
    #[error("rank {rank}: cannot allocate {bytes} bytes for {what}")]
    NoMemory {
        /// The lowest rank that cannot allocate it.
        rank: Rank,
        /// The number of bytes.
        bytes: u64,
        /// The purpose of the memory.
        what: String,
    },
    /// The caller refused the call on a rank (`tributary::File::refuse`); all ranks return this.
    #[error("{}refused: {why}", Origin(*.rank))]
    Refused {
        /// The rank that refuses, once ranks have agreed on the error.
        rank: Option<Rank>,
        /// The caller's number of the reason.
        reason: u32,
        /// The reason as a sentence.
        why: String,
    },
    /// The fabric failed: a rank ended, or MPI returned an error. The ranks do not agree on this error and cannot recover from it.
    #[error("communication failed: {0}")]
    Fabric(String),
    /// An invariant of Tributary itself does not hold. Please report it.
    #[error("internal error on rank {rank}: {what}")]
    Internal {
        /// The rank that found it.
        rank: Rank,
        /// The broken invariant.
        what: String,
    },
}

wire::fields!(enum IoClass {
    0 NoSpace, 1 Quota, 2 TooLarge, 3 ReadOnly, 4 Access, 5 NoSuchFile, 6 BadFile, 7 UsedUp, 8 Other,
});

wire::fields!(enum About {
    0 Count, 1 Datatype, 2 Path, 3 AccessMode, 4 Terms, 5 FileSize, 6 Call, 7 ListOrder, 8 ListLength, 9 Other,
});

wire::fields!(enum Error {
    0 Hint { rank, key, value, allowed },
    1 Argument { rank, about, what, value, allowed },
    2 Io { rank, operation, path, offset, class, cause },
    3 Codec { at, what },
    4 NoMemory { rank, bytes, what },
    5 Refused { rank, reason, why },
    6 Fabric(what),
    7 Internal { rank, what },
    8 UnknownHint { rank, key, advice },
    9 State { rank, about, what },
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

    /// Adds `origin`, the rank on which the error occurred. An error that names its ranks already stays unchanged.
    #[must_use]
    pub fn of_rank(mut self, origin: Rank) -> Self {
        match &mut self {
            Self::Argument { about: About::AccessMode | About::Terms | About::FileSize | About::Call, .. }
            | Self::State { about: About::Call, .. } => {}
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
    pub fn told_by(self, origin: Rank, ranks: usize) -> Self {
        if ranks > 1 { self.of_rank(origin) } else { self }
    }

    /// Returns an [`Error::Io`] with the class and message of `cause`.
    pub fn io(
        rank: Rank,
        operation: &str,
        path: &std::path::Path,
        offset: impl Into<Option<u64>>,
        cause: &std::io::Error,
    ) -> Self {
        Self::Io {
            rank,
            operation: operation.to_string(),
            path: path.display().to_string(),
            offset: offset.into(),
            class: IoClass::from_io_error(cause),
            cause: cause.to_string(),
        }
    }
}

/// Prints the rank of an error, as the first part of the message.
struct Origin(Option<Rank>);

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |rank| write!(f, "rank {rank}: "))
    }
}

/// Prints the offset of a failed operation, if it has one.
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
            Error::io(3, "open", "a".as_ref(), offset, &cause).to_string()
        };
        assert_eq!(of(None), "rank 3: open of a failed: No such file or directory (os error 2)");
        assert_eq!(of(Some(0)), "rank 3: open of a failed at offset 0: No such file or directory (os error 2)");
    }
}
