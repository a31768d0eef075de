//! A failed operation on the shared file: which operation, the class of the failure, and its cause. All of them can be
//! sent to other ranks.

use std::fmt::{Display, Formatter};
use std::io::{self, ErrorKind};

use crate::wire::{self, Output, Wire};

/// An operation on the shared file, for [`Error::Io`](super::Error::Io). `Display` prints it as it stands in the error's
/// message. Texts are boxed, so that an error stays small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOperation {
    /// Opens the file.
    Open,
    /// Creates the file.
    Create,
    /// Reads bytes of the file: pread(2).
    Read,
    /// Writes bytes of the file: pwrite(2).
    Write,
    /// Writes all bytes to stable storage: fdatasync(2).
    Sync,
    /// Closes the file.
    Close,
    /// Sets the size of the file: ftruncate(2).
    SetSize,
    /// Gets the size or the identity of the file.
    Stat,
    /// Locks a range of the file.
    Lock,
    /// Removes the file: unlink(2).
    Remove,
    /// Sets the stripe size and the number of stripes of a new file.
    SetStripes,
    /// Allocates shared memory for the bytes of the file.
    TakeSharedMemory,
    /// Writes buffered bytes of a collective write that has already returned.
    DeferredWrite(Box<DeferredWrite>),
    /// Copies the bytes of a write out of the memory of a device. Holds the name of the device's runtime.
    #[allow(clippy::box_collection)]
    CopyFromDevice(Box<String>),
    /// Copies the bytes of a read into the memory of a device. Holds the name of the device's runtime.
    #[allow(clippy::box_collection)]
    CopyToDevice(Box<String>),
    /// Calls a function of the MPI library. Holds the function's name.
    #[allow(clippy::box_collection)]
    Mpi(Box<String>),
}

/// A collective write whose bytes stay in a buffer when the call returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeferredWrite {
    /// Name of the call, such as the MPI function.
    pub call: String,
    /// Number of the call among the collective writes on the file, from 1.
    pub number: u64,
}

impl FileOperation {
    /// Returns the operation "a call of the MPI function `name`".
    pub fn mpi(name: &str) -> Self {
        Self::Mpi(Box::new(name.to_string()))
    }

    /// Returns the operation that writes the buffered bytes of the collective write `number`, called `call`.
    pub fn deferred_write(call: &str, number: u64) -> Self {
        Self::DeferredWrite(Box::new(DeferredWrite { call: call.to_string(), number }))
    }
}

impl Display for FileOperation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Create => "create",
            Self::Read => "read",
            Self::Write => "write",
            Self::Sync => "sync",
            Self::Close => "close",
            Self::SetSize => "truncate",
            Self::Stat => "stat",
            Self::Lock => "lock",
            Self::Remove => "unlink",
            Self::SetStripes => "setstripe",
            Self::TakeSharedMemory => "take shared memory for",
            Self::DeferredWrite(write) => {
                return write!(f, "deferred write ({}, collective write {})", write.call, write.number);
            }
            Self::CopyFromDevice(runtime) => return write!(f, "write from {runtime} memory"),
            Self::CopyToDevice(runtime) => return write!(f, "read into {runtime} memory"),
            Self::Mpi(name) => name,
        })
    }
}

/// The class of a failed operating-system call on the shared file. The class means the same on every rank, whereas
/// errno values differ between systems, and MPI error classes between MPI libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoClass {
    /// ENOSPC: no space is left on the file system.
    NoSpace,
    /// EDQUOT: the user's quota is exceeded.
    Quota,
    /// EFBIG: the file-size limit of the process or of the file system is exceeded.
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
    /// Returns the class of an error of an operation.
    pub fn of(operation: &FileOperation, error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOSPC) => Self::NoSpace,
            Some(libc::EDQUOT) => Self::Quota,
            Some(libc::EFBIG) => Self::TooLarge,
            Some(libc::EROFS) => Self::ReadOnly,
            Some(libc::EACCES | libc::EPERM) => Self::Access,
            Some(libc::ENOENT | libc::ENOTDIR) => Self::NoSuchFile,
            Some(libc::EISDIR | libc::ENAMETOOLONG) => Self::BadFile,
            // Some file systems do not allow some characters in a name.
            Some(libc::EINVAL) if *operation == FileOperation::Open => Self::BadFile,
            Some(libc::EMFILE | libc::ENFILE | libc::EAGAIN | libc::ENOMEM) => Self::UsedUp,
            _ => Self::Other,
        }
    }
}

/// The cause of a failed operation: what is known of the [`io::Error`] on the rank whose operation failed. It is the
/// [`source`](std::error::Error::source) of an [`Error::Io`](super::Error::Io) on all ranks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct IoCause {
    text: Box<str>,
    /// errno of the system's error; 0 for an error that is not of the system.
    errno: i32,
    kind: ErrorKind,
}

impl IoCause {
    /// Returns a cause with this message that is not an error of the operating system.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { text: text.into().into(), errno: 0, kind: ErrorKind::Other }
    }

    /// Returns the message.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the errno, as the system of the rank whose operation failed numbers errors; None for an error that is not of
    /// the system.
    pub fn errno(&self) -> Option<i32> {
        Some(self.errno).filter(|&errno| errno != 0)
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Adds `more` to the message.
    #[must_use]
    pub fn with_more(self, more: &str) -> Self {
        Self { text: format!("{}{more}", self.text).into(), ..self }
    }
}

impl From<&io::Error> for IoCause {
    fn from(error: &io::Error) -> Self {
        Self { text: error.to_string().into(), errno: error.raw_os_error().unwrap_or(0), kind: error.kind() }
    }
}

/// The kinds of errors without errno that another rank receives unchanged; any other kind arrives as `Other`.
const KINDS: [ErrorKind; 8] = [
    ErrorKind::Other,
    ErrorKind::WriteZero,
    ErrorKind::UnexpectedEof,
    ErrorKind::Unsupported,
    ErrorKind::OutOfMemory,
    ErrorKind::InvalidInput,
    ErrorKind::InvalidData,
    ErrorKind::TimedOut,
];

impl Wire for IoCause {
    const SIZE: Option<usize> = None;

    fn encode(&self, to: &mut impl Output) {
        let kind = KINDS.iter().position(|kind| *kind == self.kind).unwrap_or(0);
        self.text.to_string().encode(to);
        self.errno.encode(to);
        to.byte(kind as u8);
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (text, errno) = (String::decode(from)?.into(), i32::decode(from)?);
        let kind = *KINDS.get(usize::from(u8::decode(from)?))?;
        let kind = if errno == 0 { kind } else { io::Error::from_raw_os_error(errno).kind() };
        Some(Self { text, errno, kind })
    }
}

wire::fields!(struct DeferredWrite { call, number });

wire::fields!(enum FileOperation {
    0 Open, 1 Create, 2 Read, 3 Write, 4 Sync, 5 Close, 6 SetSize, 7 Stat, 8 Lock, 9 Remove, 10 SetStripes,
    11 TakeSharedMemory, 12 DeferredWrite(write), 13 CopyFromDevice(runtime), 14 CopyToDevice(runtime), 15 Mpi(name),
});

wire::fields!(enum IoClass {
    0 NoSpace, 1 Quota, 2 TooLarge, 3 ReadOnly, 4 Access, 5 NoSuchFile, 6 BadFile, 7 UsedUp, 8 Other,
});

#[cfg(test)]
mod tests {
    use super::*;

    /// EINVAL means a bad name only in an open, and EBADF never means a read-only file system.
    #[test]
    fn classes_of_errors_that_have_several_causes() {
        for (operation, errno, due) in [
            (FileOperation::Write, libc::EROFS, IoClass::ReadOnly),
            (FileOperation::Write, libc::EBADF, IoClass::Other),
            (FileOperation::Read, libc::EBADF, IoClass::Other),
            (FileOperation::Open, libc::EINVAL, IoClass::BadFile),
            (FileOperation::Write, libc::EINVAL, IoClass::Other),
            (FileOperation::SetSize, libc::EINVAL, IoClass::Other),
            (FileOperation::Open, libc::ENAMETOOLONG, IoClass::BadFile),
        ] {
            let class = IoClass::of(&operation, &io::Error::from_raw_os_error(errno));
            assert_eq!(class, due, "{errno} of {operation}");
        }
    }

    #[test]
    fn a_cause_comes_back_with_its_number_and_kind() {
        for error in [
            io::Error::from_raw_os_error(libc::ENOSPC),
            io::Error::from_raw_os_error(libc::EBADF),
            io::ErrorKind::WriteZero.into(),
            io::Error::other("the storage panicked"),
        ] {
            let cause = wire::from_bytes::<IoCause>(&wire::to_bytes(&IoCause::from(&error))).unwrap();
            assert_eq!((cause.text(), cause.errno()), (&*error.to_string(), error.raw_os_error()));
            assert_eq!(cause.kind(), error.kind());
        }
    }

    #[test]
    fn an_operation_comes_back_and_is_displayed_by_its_name() {
        for (operation, text) in [
            (FileOperation::SetSize, "truncate"),
            (FileOperation::deferred_write("write", 7), "deferred write (write, collective write 7)"),
            (FileOperation::CopyToDevice(Box::new("CUDA".to_string())), "read into CUDA memory"),
            (FileOperation::mpi("MPI_File_sync"), "MPI_File_sync"),
        ] {
            assert_eq!(operation.to_string(), text);
            assert_eq!(wire::from_bytes(&wire::to_bytes(&operation)), Some(operation));
        }
    }
}
