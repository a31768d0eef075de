//! Sets and returns the size of a file, and syncs it.

use std::ffi::c_int;

use tributary::engine::binding;
use tributary::error::FileOperation;
use tributary::{Direction, Error, Result};

use crate::MPI_Offset;
use crate::code::status;
use crate::handle::{GioFile, opened};

/// Brings this rank's part of the written data to stable storage. Not collective: all data is stored after all ranks
/// have called this.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GIO_sync(fh: *mut GioFile) -> c_int {
    // SAFETY: the caller's promise: nobody else uses the file.
    status("GIO_sync", || unsafe { opened(fh, "GIO_sync")?.sync() })
}

/// Sets the size of the file to `size` bytes: truncates it, or extends it with zeros. Collective, with the same `size` on
/// all ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GIO_set_size(fh: *mut GioFile, size: MPI_Offset) -> c_int {
    // SAFETY: the caller's promise: nobody else uses the file.
    status("GIO_set_size", || unsafe {
        let file = opened(fh, "GIO_set_size")?;
        let checked = u64::try_from(size).map_err(|_| Error::argument("size", size, "0 or more"));
        let checked = checked.and_then(|size| file.may(Direction::Write).map(|()| size));
        file.unsynced |= checked.is_ok();
        binding::set_len_after(&mut file.file, checked)
    })
}

/// Returns the size of the file in bytes, as the file system reports it to this rank now. Not collective.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GIO_get_size(fh: *mut GioFile, size: *mut MPI_Offset) -> c_int {
    // SAFETY: the caller's promises: nobody else uses the file, `size` is null or may be written.
    status("GIO_get_size", || unsafe {
        let file = opened(fh, "GIO_get_size")?;
        let size = size.as_mut().ok_or_else(|| Error::argument("size", "NULL", "a pointer to an MPI_Offset"))?;
        *size = file.file.size()? as MPI_Offset;
        Ok(())
    })
}

impl GioFile {
    /// Syncs this rank's descriptor. The operating system syncs all data of the file on this node, whichever descriptor wrote it.
    fn sync(&mut self) -> Result<()> {
        binding::write_left_bytes(&mut self.file)?;
        if !self.unsynced {
            return Ok(());
        }
        let rank = self.file.endpoint().rank();
        let failed = |operation| move |cause: std::io::Error| (operation, cause);
        let file = std::fs::File::open(&self.path);
        let file = file.or_else(|_| std::fs::OpenOptions::new().write(true).open(&self.path));
        let synced = file
            .map_err(failed(FileOperation::Open))
            .and_then(|file| file.sync_all().map_err(failed(FileOperation::Sync)));
        synced.map_err(|(operation, cause)| Error::io(rank, operation, &self.path, None, &cause))?;
        self.unsynced = false;
        Ok(())
    }
}
