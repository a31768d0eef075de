//! The infos with which MPI is kept from data sieving in writes.

use std::ffi::c_int;
use std::sync::OnceLock;

use tributary_abi::{MPI_Info_free, function_name, handles};
use tributary_bindings::info::{entries, made_of};

use crate::file::sieving::Sieving;
use crate::mpi::abi::word::Word;
use crate::mpi::abi::{MPI_Info, SUCCESS, is_world_there};
use crate::mpi::error_handler::returning;
use crate::mpi::next::InterposedFunction;

/// The hint that chooses data sieving in writes.
pub const HINT: &str = "romio_ds_write";
/// Value of the hint that forbids data sieving.
pub(super) const NEVER: &str = "disable";
/// Value of the hint if the program sets none.
pub const DEFAULT: &str = "automatic";

/// The hints of a program's info.
#[derive(Debug, Default)]
pub struct AskedHints {
    /// Value of the hint for data sieving in writes; None if there is none.
    pub(super) sieving: Option<String>,
    /// The other hints of the info.
    pub(super) others: Vec<(String, String)>,
}

/// An info that this library has made. Dropping it frees the info, unless the info is kept for all files.
pub struct InfoForMpi {
    info: MPI_Info,
    is_kept: bool,
}

impl InfoForMpi {
    /// Takes an info that MPI has made.
    pub fn from_raw(info: MPI_Info) -> Self {
        Self { info, is_kept: false }
    }

    /// Returns a copy of an info that forbids MPI data sieving in writes, and the hints of the info; None if MPI cannot make one.
    ///
    /// # Safety
    /// `info` is a valid info, or MPI_INFO_NULL; MPI is initialised.
    pub unsafe fn without_sieving(info: MPI_Info) -> Option<(Self, AskedHints)> {
        let entry = || (HINT.to_string(), NEVER.to_string());
        if info == handles().info_null && is_world_there().unwrap_or(false) {
            // One info serves all files, because MPI only reads it. There is none without MPI_COMM_WORLD: the info may end with the
            // session in which it was made.
            static KEPT: OnceLock<Option<MPI_Info>> = OnceLock::new();
            // SAFETY: MPI is initialised.
            let info = (*KEPT.get_or_init(|| unsafe { made_of([entry()]) }.ok()))?;
            return Some((Self { info, is_kept: true }, AskedHints::default()));
        }
        // SAFETY: the caller's promise.
        let all = unsafe { entries(info) };
        let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(key, _)| key == HINT);
        // SAFETY: MPI is initialised.
        let info = unsafe { made_of(others.iter().cloned().chain([entry()])) };
        let sieving = own.into_iter().next().map(|(_, value)| value);
        Some((Self::from_raw(info.ok()?), AskedHints { sieving, others }))
    }

    /// Replaces the info among the arguments of a call, at index `at`, if it would allow data sieving in writes of a file
    /// for which it is forbidden. Returns the new info, which must live until the call has ended, and the program's value
    /// of the hint.
    ///
    /// # Safety
    /// The argument is a valid info, or MPI_INFO_NULL; MPI is initialised.
    pub unsafe fn in_place(file: Option<&Sieving>, arguments: &mut [Word], at: usize) -> Option<(Self, String)> {
        let (_, place) = file.zip(arguments.get_mut(at))?;
        // SAFETY: the caller's promise.
        let (own, asked) = unsafe { Self::without_sieving(MPI_Info::from_word(*place)) }?;
        let asked = asked.sieving?;
        *place = own.as_word();
        Some((own, asked))
    }

    /// Forbids data sieving after MPI has opened the file `handle`, if it has ignored the info of MPI_File_open: ROMIO of Open MPI 5
    /// (5.0.11) does, and takes that of MPI_File_set_info. Collective over the ranks of the file, on all of which MPI is the same.
    pub fn forbid_late(handle: Word) {
        static GET: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_get_info"));
        static SET: InterposedFunction = InterposedFunction::new(function_name!("PMPI_File_set_info"));
        let mut used = handles().info_null;
        if returning(handle, || GET.call(&[handle, (&raw mut used) as Word])) as c_int != SUCCESS {
            return;
        }
        let used = Self::from_raw(used);
        // SAFETY: the info that MPI has made for this call.
        let is_ignored = unsafe { entries(used.info) }.iter().any(|(key, value)| key == HINT && value != NEVER);
        if is_ignored {
            // SAFETY: MPI is initialised, as a file is open.
            let info = unsafe { made_of([(HINT.to_string(), NEVER.to_string())]) }.map(Self::from_raw);
            // If this fails, MPI sieves as it would without this library.
            let argument = info.as_ref().map_or(handles().info_null.as_word(), Self::as_word);
            returning(handle, || SET.call(&[handle, argument]));
        }
    }

    /// Returns the info as an argument of a call.
    pub fn as_word(&self) -> Word {
        self.info.as_word()
    }
}

impl Drop for InfoForMpi {
    fn drop(&mut self) {
        if !self.is_kept {
            // SAFETY: an info of this value's own; MPI is initialised, as a file is open or being opened.
            unsafe { MPI_Info_free(&mut self.info) };
        }
    }
}
