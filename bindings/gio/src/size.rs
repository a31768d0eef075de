//! The size of a file, and what is on stable storage.

use std::ffi::c_int;

use tributary::{Error, Result};

use crate::MPI_Offset;
use crate::guard::status;
use crate::handle::{GioFile, opened};

/// Brings this rank's part of what was written to stable storage. Not collective, so it is all there when all ranks have
/// called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GIO_sync(fh: *mut GioFile) -> c_int {
    // SAFETY: the caller's promise: nobody else uses the file.
    status("GIO_sync", || unsafe { opened(fh)?.sync() })
}

/// Makes the file `size` bytes long: cut there, or zeros behind what there was. Collective, the same on all ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GIO_set_size(fh: *mut GioFile, size: MPI_Offset) -> c_int {
    // SAFETY: the caller's promise: nobody else uses the file.
    status("GIO_set_size", || unsafe {
        let file = opened(fh)?;
        let checked = u64::try_from(size).map_err(|_| Error::argument("size", size, "0 or more"));
        let checked = checked.and_then(|size| file.writable().map(|()| size));
        let size = file.file.agree(checked)?;
        file.unsynced = true;
        file.file.set_len(size)
    })
}

/// The size of the file, as the file system tells this rank now. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn GIO_get_size(fh: *mut GioFile, size: *mut MPI_Offset) -> c_int {
    // SAFETY: the caller's promises: nobody else uses the file, `size` is null or may be written.
    status("GIO_get_size", || unsafe {
        let file = opened(fh)?;
        let size = size.as_mut().ok_or_else(|| Error::argument("size", "NULL", "where the size is to be put"))?;
        *size = file.file.size()? as MPI_Offset;
        Ok(())
    })
}

impl GioFile {
    /// The system keeps what is not stored for a file of a node, not for a descriptor: any descriptor will do.
    fn sync(&mut self) -> Result<()> {
        if !self.unsynced {
            return Ok(());
        }
        let rank = self.file.endpoint().rank();
        let failed = |operation| move |cause: std::io::Error| (operation, cause);
        let file = std::fs::File::open(&self.path);
        let file = file.or_else(|_| std::fs::OpenOptions::new().write(true).open(&self.path));
        let synced = file.map_err(failed("open")).and_then(|file| file.sync_all().map_err(failed("sync")));
        synced.map_err(|(operation, cause)| Error::io(rank, operation, &self.path, 0, &cause))?;
        self.unsynced = false;
        Ok(())
    }
}
