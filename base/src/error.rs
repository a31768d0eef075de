//! What can go wrong, by cause. A collective call returns the same [`Error`] on every rank or on none.

use std::fmt::{Display, Formatter};

use crate::rank::Rank;
use crate::wire;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operating-system call on the shared file failed, in classes that mean the same on every rank
/// (errno values differ between systems, MPI class numbers between MPI libraries).
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
    /// EISDIR, EINVAL and other misuse of a path.
    BadFile,
    /// EMFILE, ENFILE, EAGAIN, ENOMEM: the process or the system has no descriptor, thread or memory left.
    UsedUp,
    /// Everything else.
    Other,
}

impl IoClass {
    /// The class of an operating-system error.
    pub fn of(error: &std::io::Error) -> Self {
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

/// What a bad argument is of, where a binding has a code of its own for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// How many elements.
    Count,
    /// What the elements are.
    Datatype,
    /// The name of the file.
    Path,
    /// How the file is opened, against the first rank.
    AccessMode,
    /// What the file is opened with, which is not the same on all ranks.
    Terms,
    /// The size that the file is to have, which is not the same on all ranks.
    FileSize,
    /// The collective call, which is not the same on all ranks.
    Call,
    /// The order of the offsets in a list.
    ListOrder,
    /// A length in a list.
    ListLength,
    /// Anything else.
    Other,
}

/// Every error of the library. Cheap to clone and to send to other ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A hint with a bad value, or an unknown key of ours.
    #[error("{}hint {key}: `{value}` is not allowed; allowed: {allowed}", Origin(*.rank))]
    Hint {
        /// The rank whose hint it is, once ranks have agreed on the error.
        rank: Option<Rank>,
        /// The hint's key.
        key: String,
        /// The value that was given.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// An argument of a call that cannot be met.
    #[error("{}{what}: {value}; allowed: {allowed}", Origin(*.rank))]
    Argument {
        /// The rank whose argument it is, once ranks have agreed on the error.
        rank: Option<Rank>,
        /// What kind of argument.
        about: About,
        /// The argument.
        what: String,
        /// Its value.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// An operating-system call on the shared file failed on one rank; all ranks return this.
    #[error("rank {rank}: {operation} of {path} failed{}: {cause}", Place(*.offset))]
    Io {
        /// The rank whose call failed (the lowest, when several failed).
        rank: Rank,
        /// `open`, `read`, `write`, `sync`, ...
        operation: String,
        /// The file.
        path: String,
        /// Offset in the file, in bytes; `None` where the operation has none, such as opening.
        offset: Option<u64>,
        /// The class of the cause.
        class: IoClass,
        /// The system's words.
        cause: String,
    },
    /// Bytes that should be encoded extents are not.
    #[error("encoded extents are damaged at byte {at}: {what}")]
    Codec {
        /// Position in the encoded bytes.
        at: usize,
        /// What is wrong there.
        what: String,
    },
    /// A rank has no memory for its part of a call; all ranks return this.
    #[error("rank {rank}: no memory for {bytes} bytes of {what}")]
    NoMemory {
        /// The lowest rank that has none.
        rank: Rank,
        /// How much it needs, in bytes.
        bytes: u64,
        /// What for.
        what: String,
    },
    /// A rank took no part in the call, for a reason of its caller's (`tributary::File::refuse`); all ranks return this.
    #[error("{}refused: {why}", Origin(*.rank))]
    Refused {
        /// The rank that refuses, once ranks have agreed on the error.
        rank: Option<Rank>,
        /// What the caller calls the reason.
        reason: u32,
        /// In words.
        why: String,
    },
    /// The fabric broke: a rank went away, or MPI returned an error. Not recoverable, and not agreed.
    #[error("fabric: {0}")]
    Fabric(String),
    /// An invariant of Tributary itself does not hold. Please report it.
    #[error("internal error on rank {rank}: {what}")]
    Internal {
        /// The rank that noticed.
        rank: Rank,
        /// The invariant.
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
});

impl Error {
    /// An [`Error::Argument`] from anything that prints.
    pub fn argument(what: impl ToString, value: impl ToString, allowed: impl ToString) -> Self {
        let (what, value, allowed) = (on_one_line(what), on_one_line(value), allowed.to_string());
        Self::Argument { rank: None, about: About::Other, what, value, allowed }
    }

    /// An [`Error::Argument`] of a kind; any other error as it is.
    #[must_use]
    pub fn about(mut self, kind: About) -> Self {
        if let Self::Argument { about, .. } = &mut self {
            *about = kind;
        }
        self
    }

    /// An [`Error::Refused`] from anything that prints.
    pub fn refused(reason: u32, why: impl ToString) -> Self {
        Self::Refused { rank: None, reason, why: why.to_string() }
    }

    /// An [`Error::Hint`] from anything that prints.
    pub fn hint(key: impl ToString, value: impl ToString, allowed: impl ToString) -> Self {
        Self::Hint { rank: None, key: on_one_line(key), value: on_one_line(value), allowed: allowed.to_string() }
    }

    /// The error as it began on `rank`, of several ranks. An error that names ranks already stays as it is.
    #[must_use]
    pub fn of_rank(mut self, origin: Rank) -> Self {
        match &mut self {
            Self::Argument { about: About::AccessMode | About::Terms | About::FileSize | About::Call, .. } => {}
            Self::Argument { rank, .. } | Self::Hint { rank, .. } | Self::Refused { rank, .. } => {
                rank.get_or_insert(origin);
            }
            _ => {}
        }
        self
    }

    /// The error as `origin` of `ranks` ranks tells it to all: as [`Error::of_rank`], if there are several.
    #[must_use]
    pub fn told_by(self, origin: Rank, ranks: usize) -> Self {
        if ranks > 1 { self.of_rank(origin) } else { self }
    }

    /// An [`Error::Io`] from the system's error; without an offset where the operation has none.
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
            class: IoClass::of(cause),
            cause: cause.to_string(),
        }
    }
}

/// The rank on which an error began, in front of its words.
struct Origin(Option<Rank>);

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |rank| write!(f, "rank {rank}: "))
    }
}

/// Where in the file an operation failed, behind the path.
struct Place(Option<u64>);

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |offset| write!(f, " at offset {offset}"))
    }
}

/// What was given, in an error of one line: line ends and other control characters as they are written in Rust.
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
