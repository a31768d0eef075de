//! The file view that MPI_File_set_view sets; [`pointer`] has the individual file pointer, [`datatype`] MPI datatypes as extents.

pub mod datatype;
pub mod pointer;

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use tributary::error::About;
use tributary::{Error, Extents, FileView};
use tributary_abi::constants;

use crate::mpi::abi::{MPI_Datatype, MPI_Offset};
use crate::view::datatype::flattened;

/// A file view, which the engine supports or which only MPI supports.
#[derive(Debug)]
pub enum View {
    /// The engine supports the view.
    Engine(Arc<KnownView>),
    /// Only the MPI library supports the view.
    Foreign {
        /// The reason why the engine does not support the view.
        why: String,
        /// Size of an etype, in bytes; 0 if the etype is empty or unknown.
        etype: u64,
    },
}

/// A view that the engine supports.
#[derive(Debug)]
pub struct KnownView {
    /// The bytes of the file in the view's order; None if the file type holds no data.
    bytes: Option<FileView>,
    /// Size of an etype, in bytes: the unit of offsets.
    etype: u64,
}

impl KnownView {
    /// Returns the view of a file that was just opened: all bytes.
    pub fn all() -> Self {
        Self { bytes: Some(FileView::all()), etype: 1 }
    }

    /// Returns the view that was passed to MPI_File_set_view.
    ///
    /// # Errors
    /// The reason why the engine does not support it.
    ///
    /// # Safety
    /// The datatypes are valid and committed, and the representation is a terminated text: MPI_File_set_view has accepted
    /// them.
    pub unsafe fn new(
        displacement: MPI_Offset,
        etype: MPI_Datatype,
        filetype: MPI_Datatype,
        representation: *const c_char,
    ) -> Result<Self, String> {
        // SAFETY: the caller's promise.
        let representation = unsafe { CStr::from_ptr(representation) }.to_string_lossy();
        if !representation.eq_ignore_ascii_case("native") {
            return Err(format!("data representation {representation}"));
        }
        if displacement == MPI_Offset::from(constants().displacement_current) {
            return Err("MPI_DISPLACEMENT_CURRENT".to_string());
        }
        let text = |error: Error| error.to_string();
        let etype = flattened(etype).map_err(text)?.size();
        let bytes = flattened(filetype).and_then(|flat| flat.view(displacement)).map_err(text)?;
        Ok(Self { bytes, etype })
    }

    /// Returns the size of an etype, in bytes.
    pub fn etype(&self) -> u64 {
        self.etype
    }

    /// Returns true if consecutive bytes of the view are consecutive in the file.
    pub fn is_contiguous(&self) -> bool {
        self.bytes.as_ref().is_none_or(FileView::is_one_run)
    }

    /// Returns the offset, in etypes, of the first etype that does not lie wholly before the end of a file of `size`
    /// bytes.
    pub fn end(&self, size: u64) -> MPI_Offset {
        let bytes = self.bytes.as_ref().map_or(0, |view| view.bytes_before(size));
        MPI_Offset::try_from(bytes.div_ceil(self.etype.max(1))).unwrap_or(MPI_Offset::MAX)
    }

    /// Returns the file extents of `bytes` bytes of the view, beginning at etype number `offset`.
    ///
    /// # Errors
    /// The offset is negative; the bytes are not a whole number of etypes; the view holds no data; an extent ends beyond
    /// 2^63 - 1.
    pub fn select(&self, offset: MPI_Offset, bytes: u64) -> Result<Extents, Error> {
        let Ok(offset) = u64::try_from(offset) else {
            return Err(Error::argument("file offset", offset, "0 or more"));
        };
        if bytes == 0 {
            return Ok(Extents::empty());
        }
        let etype = self.etype;
        if etype == 0 || !bytes.is_multiple_of(etype) {
            let given = format!("{bytes} bytes");
            let uneven = Error::argument("count", given, format!("whole etypes of {etype} bytes"));
            return Err(uneven.about(About::Count));
        }
        let Some(view) = &self.bytes else {
            return Err(Error::argument("file view", format!("no data, for {bytes} bytes"), "a file type with data"));
        };
        let skip =
            offset.checked_mul(etype).ok_or_else(|| Error::argument("file offset", offset, "below 2^63 bytes"))?;
        view.select(skip, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_in_etypes() {
        let view = FileView::new(100, Extents::contiguous(0, 8).unwrap(), 16).unwrap();
        let got = KnownView { bytes: Some(view), etype: 8 }.select(2, 16).unwrap();
        assert_eq!(got.iter().map(|extent| (extent.offset, extent.len)).collect::<Vec<_>>(), [(132, 8), (148, 8)]);
        assert_eq!(KnownView { bytes: None, etype: 8 }.select(2, 0).unwrap(), Extents::empty());
    }

    #[test]
    fn accesses_outside_the_view_are_refused() {
        let message = |known: KnownView, offset, bytes| known.select(offset, bytes).unwrap_err().to_string();
        let of = |etype| KnownView { etype, ..KnownView::all() };
        assert_eq!(message(of(1), -1, 4), "file offset: -1; allowed: 0 or more");
        assert_eq!(message(of(8), 0, 12), "count: 12 bytes; allowed: whole etypes of 8 bytes");
        assert_eq!(message(of(16), i64::MAX, 16), format!("file offset: {}; allowed: below 2^63 bytes", i64::MAX));
        assert!(message(KnownView { bytes: None, etype: 1 }, 0, 4).starts_with("file view: no data"));
    }
}
