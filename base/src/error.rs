//! Defines the errors of the library, by cause. A collective call returns the same [`Error`] on all ranks, or on
//! none.

use std::fmt::{Display, Formatter};

use crate::calls::CallGroups;
use crate::rank::Rank;
use crate::wire;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The class of a failed operating-system call on the shared file. The class means the same on every rank, whereas
/// errno values differ between systems, and MPI error classes between MPI libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoClass {
    /// ENOSPC: no space is left on the file system.
    NoSpace,
    /// EDQUOT: the user's quota is exceeded.
    Quota,
    /// EFBIG: the file-size limit of the process or of the file system.
    TooLarge,
    /// EROFS (a read-only file system), or a file that was opened for reading only.
    ReadOnly,
    /// EACCES, EPERM: the user has no permission.
    Access,
    /// ENOENT, ENOTDIR: the file or its directory does not exist.
    NoSuchFile,
    /// EISDIR, ENAMETOOLONG, and EINVAL of an open: the path cannot be used as a file.
    BadFile,
    /// EMFILE, ENFILE, EAGAIN, ENOMEM: the process or the system has no descriptors, threads or memory left.
    UsedUp,
    /// Any other error: also EBADF (a descriptor that is closed, or not open for this), and EINVAL of a read or write
    /// (bytes that direct I/O cannot move).
    Other,
}

impl IoClass {
    /// Returns the class of an error of an operation, such as `open` or `write`.
    pub fn of(operation: &str, error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOSPC) => Self::NoSpace,
            Some(libc::EDQUOT) => Self::Quota,
            Some(libc::EFBIG) => Self::TooLarge,
            Some(libc::EROFS) => Self::ReadOnly,
            Some(libc::EACCES | libc::EPERM) => Self::Access,
            Some(libc::ENOENT | libc::ENOTDIR) => Self::NoSuchFile,
            Some(libc::EISDIR | libc::ENAMETOOLONG) => Self::BadFile,
            // Some file systems do not allow some characters in a name.
            Some(libc::EINVAL) if operation == "open" => Self::BadFile,
            Some(libc::EMFILE | libc::ENFILE | libc::EAGAIN | libc::ENOMEM) => Self::UsedUp,
            _ => Self::Other,
        }
    }
}

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
        /// The kind of argument.
        about: About,
        /// The name of the argument.
        what: String,
        /// Value of the argument.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// The key of a hint begins with `trib_`, but this library has no such hint, or has it no more.
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
        /// Name of the operation: `open`, `read`, `write`, `sync`, ...
        operation: String,
        /// Path of the file.
        path: String,
        /// Offset in the file, in bytes; `None` for an operation without an offset, such as open.
        offset: Option<u64>,
        /// Class of the operating system's error.
        class: IoClass,
        /// The message of the operating system.
        cause: String,
    },
    /// Encoded extents that cannot be decoded.
    #[error("encoded extents are damaged at byte {at}: {what}")]
    Codec {
        /// Position of the damage in the encoded bytes.
        at: usize,
        /// Description of the damage.
        what: String,
    },
    /// A rank cannot allocate the memory for its part of a call; all ranks return this.
    #[error("rank {rank}: cannot allocate {bytes} bytes for {what}")]
    NoMemory {
        /// Lowest rank that cannot allocate the memory.
        rank: Rank,
        /// Number of bytes that this rank needs.
        bytes: u64,
        /// Purpose of the memory, in words.
        what: String,
    },
    /// The caller refused the call on a rank (`tributary::File::refuse`); all ranks return this.
    #[error("{}refused: {why}", Origin(*.rank))]
    Refused {
        /// The rank that refuses the call, after the ranks have agreed on the error.
        rank: Option<Rank>,
        /// Number that the caller gave the reason.
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
        /// Rank that found the fault.
        rank: Rank,
        /// Description of the invariant that does not hold.
        what: String,
    },
}

wire::fields!(enum IoClass {
    0 NoSpace, 1 Quota, 2 TooLarge, 3 ReadOnly, 4 Access, 5 NoSuchFile, 6 BadFile, 7 UsedUp, 8 Other,
});

wire::fields!(enum About {
    0 Count, 1 Datatype, 2 Path, 3 AccessMode, 4 Terms, 5 FileSize, 6 ListOrder, 7 ListLength, 8 Other,
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

    /// Adds `origin`, the rank on which the error occurred. Leaves an error unchanged that names its ranks already.
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
            class: IoClass::of(operation, cause),
            cause: cause.to_string(),
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
            Error::io(3, "open", "a".as_ref(), offset, &cause).to_string()
        };
        assert_eq!(of(None), "rank 3: open of a failed: No such file or directory (os error 2)");
        assert_eq!(of(Some(0)), "rank 3: open of a failed at offset 0: No such file or directory (os error 2)");
    }

    /// Only an open says something about the name, and no descriptor about the file system.
    #[test]
    fn classes_of_errors_that_have_several_causes() {
        for (operation, errno, due) in [
            ("write", libc::EROFS, IoClass::ReadOnly),
            ("write", libc::EBADF, IoClass::Other),
            ("read", libc::EBADF, IoClass::Other),
            ("open", libc::EINVAL, IoClass::BadFile),
            ("write", libc::EINVAL, IoClass::Other),
            ("truncate", libc::EINVAL, IoClass::Other),
            ("open", libc::ENAMETOOLONG, IoClass::BadFile),
        ] {
            assert_eq!(
                IoClass::of(operation, &std::io::Error::from_raw_os_error(errno)),
                due,
                "{errno} of {operation}"
            );
        }
    }
}
