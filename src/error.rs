//! What can go wrong, by cause. A collective call returns the same [`Error`] on every rank or on none.

use serde::{Deserialize, Serialize};

use crate::topology::Rank;

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
            _ => Self::Other,
        }
    }
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
        Self::Argument { what: what.to_string(), value: value.to_string(), allowed: allowed.to_string() }
    }

    /// An [`Error::Hint`] from anything that prints.
    pub fn hint(key: impl ToString, value: impl ToString, allowed: impl ToString) -> Self {
        Self::Hint { key: key.to_string(), value: value.to_string(), allowed: allowed.to_string() }
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
