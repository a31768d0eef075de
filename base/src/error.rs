//! What can go wrong, by cause. A collective call returns the same [`Error`] on every rank or on none.

use serde::{Deserialize, Serialize};

use crate::rank::Rank;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operating-system call on the shared file failed, in classes that mean the same on every rank
/// (errno values differ between systems, MPI class numbers between MPI libraries).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The order of the offsets in a list.
    ListOrder,
    /// A length in a list.
    ListLength,
    /// A buffer in device memory of a runtime that is not made to copy it. Nothing has been read or written then.
    DeviceMemory,
    /// Anything else.
    Other,
}

/// Every error of the library. Cheap to clone and to send to other ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Error {
    /// A hint with a bad value, or an unknown key of ours.
    #[error("hint {key}: `{value}` is not allowed; allowed: {allowed}")]
    Hint {
        /// The hint's key.
        key: String,
        /// The value that was given.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },
    /// An argument of a call that cannot be met.
    #[error("{what}: {value}; allowed: {allowed}")]
    Argument {
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
    #[error("rank {rank}: {operation} of {path} failed at offset {offset}: {cause}")]
    Io {
        /// The rank whose call failed (the lowest, when several failed).
        rank: Rank,
        /// `open`, `read`, `write`, `sync`, ...
        operation: String,
        /// The file.
        path: String,
        /// Offset in the file, in bytes.
        offset: u64,
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
    #[error("refused: {why}")]
    Refused {
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

impl Error {
    /// An [`Error::Argument`] from anything that prints.
    pub fn argument(what: impl ToString, value: impl ToString, allowed: impl ToString) -> Self {
        let (what, value, allowed) = (on_one_line(what), on_one_line(value), allowed.to_string());
        Self::Argument { about: About::Other, what, value, allowed }
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
        Self::Refused { reason, why: why.to_string() }
    }

    /// An [`Error::Hint`] from anything that prints.
    pub fn hint(key: impl ToString, value: impl ToString, allowed: impl ToString) -> Self {
        Self::Hint { key: on_one_line(key), value: on_one_line(value), allowed: allowed.to_string() }
    }

    /// An [`Error::Io`] from the system's error.
    pub fn io(rank: Rank, operation: &str, path: &std::path::Path, offset: u64, cause: &std::io::Error) -> Self {
        Self::Io {
            rank,
            operation: operation.to_string(),
            path: path.display().to_string(),
            offset,
            class: IoClass::of(cause),
            cause: cause.to_string(),
        }
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
