//! Queries a datatype: size, extent, constructor, whether it is committed, and Rust values attached to the datatype.
//!
//! | module | holds |
//! |---|---|
//! | [`combiner`] | the constructors |
//! | [`contents`] | the arguments of a constructor |
//! | [`attribute`] | values attached to datatypes |

use std::ffi::{c_int, c_short};
use std::mem::offset_of;
use std::sync::OnceLock;

use tributary::Error;
use tributary_abi::{self as ffi, MPI_Comm, constants, handles};

use crate::mpi::abi::{MPI_Datatype, SUCCESS, check, is_world_there};

pub mod attribute;
pub mod combiner;
pub mod contents;

pub use attribute::DatatypeAttribute;
pub use combiner::Combiner;
pub use contents::{BlockList, Contents};

/// Layout of MPI_SHORT_INT in C: a short, a gap and an int.
#[repr(C)]
struct ShortInt {
    value: c_short,
    index: c_int,
}

/// Returns, for MPI_SHORT_INT, the number of bytes of its short and the displacement of its int, in bytes: there is a
/// gap between them. Returns None for other types.
pub fn short_int(datatype: MPI_Datatype) -> Option<[u64; 2]> {
    let gap = [size_of::<c_short>(), offset_of!(ShortInt, index)];
    (datatype == handles().short_int).then(|| gap.map(|value| value as u64))
}

/// Size, extent, true lower bound and true extent of a datatype, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measures {
    /// Number of bytes of data in one element.
    pub size: u64,
    /// Bytes from the start of one element to the start of the next.
    pub extent: i64,
    /// Displacement of the first byte of data, in bytes.
    pub true_lower_bound: i64,
    /// Bytes from the first byte of data to the end of the last.
    pub true_extent: i64,
}

/// Returns the size and the extents that MPI reports for `datatype`.
///
/// # Errors
/// The handle is not a datatype.
pub fn measures(datatype: MPI_Datatype) -> Result<Measures, Error> {
    let (mut size, mut low, mut extent, mut true_low, mut true_extent) = (0, 0, 0, 0, 0);
    // SAFETY: MPI checks the handle; the places are ours.
    unsafe {
        check("MPI_Type_size_x", ffi::MPI_Type_size_x(datatype, &mut size))?;
        check("MPI_Type_get_extent_x", ffi::MPI_Type_get_extent_x(datatype, &mut low, &mut extent))?;
        let code = ffi::MPI_Type_get_true_extent_x(datatype, &mut true_low, &mut true_extent);
        check("MPI_Type_get_true_extent_x", code)?;
    }
    let size = u64::try_from(size).map_err(|_| Error::argument("datatype", "of unknown size", "below 2^63 bytes"))?;
    Ok(Measures { size, extent, true_lower_bound: true_low, true_extent })
}

/// Returns the number of bytes of data of a datatype; 0 if MPI returns none.
///
/// # Safety
/// MPI is initialised.
pub unsafe fn size(datatype: MPI_Datatype) -> u64 {
    let mut size = 0;
    // SAFETY: MPI checks the handle; the place is ours.
    let code = unsafe { ffi::MPI_Type_size_x(datatype, &mut size) };
    if code == SUCCESS { u64::try_from(size).unwrap_or_default() } else { 0 }
}

/// Returns the number of bytes of `count` elements that a program has passed to MPI, which is initialised; 0 if they are not
/// allowed.
pub fn bytes_of(count: i64, datatype: MPI_Datatype) -> u64 {
    if datatype == handles().datatype_null {
        return 0;
    }
    // SAFETY: MPI is initialised, and checks the datatype.
    let size = unsafe { size(datatype) };
    u64::try_from(count).ok().and_then(|count| size.checked_mul(count)).unwrap_or_default()
}

/// A datatype that stays valid as long as this value: this library's own reference, or a datatype that cannot be freed.
#[derive(Debug)]
pub struct Kept {
    datatype: MPI_Datatype,
    is_ours: bool,
}

impl Kept {
    /// Duplicates `datatype`. A predefined datatype, which cannot be freed, is used directly.
    ///
    /// # Errors
    /// Any error of the MPI library.
    ///
    /// # Safety
    /// `datatype` is valid.
    pub unsafe fn from_datatype(datatype: MPI_Datatype) -> Result<Self, Error> {
        if contents::envelope(datatype).is_ok_and(|envelope| envelope.combiner == constants().combiner_named) {
            return Ok(Self { datatype, is_ours: false });
        }
        let mut own = handles().datatype_null;
        // SAFETY: the caller's promise; a handle is written.
        check("MPI_Type_dup", unsafe { ffi::MPI_Type_dup(datatype, &mut own) })?;
        Ok(Self { datatype: own, is_ours: true })
    }

    /// Takes a reference to a datatype that MPI_File_get_view or MPI_Type_get_contents returned. Dropping the value frees the
    /// datatype, unless it cannot be freed, or MPI refuses to return its envelope.
    ///
    /// # Safety
    /// `datatype` is such a datatype, or MPI_DATATYPE_NULL.
    pub unsafe fn from_reference(datatype: MPI_Datatype) -> Self {
        // An unknown combiner belongs to a derived type.
        let is_derived = |number| Combiner::from_number(number).map_or(true, |combiner| !combiner.is_predefined());
        let is_ours = datatype != handles().datatype_null
            && contents::envelope(datatype).is_ok_and(|envelope| is_derived(envelope.combiner));
        Self { datatype, is_ours }
    }

    /// Stands for a datatype of the program that is not valid: holds MPI_DATATYPE_NULL.
    pub fn none() -> Self {
        Self { datatype: handles().datatype_null, is_ours: false }
    }

    /// Returns the handle, for MPI's functions.
    pub fn datatype(&self) -> MPI_Datatype {
        self.datatype
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.is_ours {
            // SAFETY: ours, freed once.
            unsafe { ffi::MPI_Type_free(&mut self.datatype) };
        }
    }
}

/// Returns the name of a datatype, for an error; empty when it has none.
pub fn name(datatype: MPI_Datatype) -> String {
    let mut text = vec![0u8; constants().max_object_name as usize + 1];
    let mut length: c_int = 0;
    // SAFETY: MPI checks the handle; the text has the length that MPI asks for.
    let code = unsafe { ffi::MPI_Type_get_name(datatype, text.as_mut_ptr().cast(), &mut length) };
    let length = if code == SUCCESS { usize::try_from(length).unwrap_or_default() } else { 0 };
    String::from_utf8_lossy(&text[..length.min(text.len())]).into_owned()
}

/// Returns true if `datatype`, which must not be predefined, is committed. MPI has no function for this, but
/// MPI_Send_init refuses a datatype that is not committed. So a send is prepared, and never started. Local. Also returns
/// true if MPI does not check its arguments, or if the program uses MPI only through sessions, so that no communicator is
/// there for the test.
///
/// # Errors
/// Any error of the MPI library.
pub fn is_committed(datatype: MPI_Datatype) -> Result<bool, Error> {
    if !is_world_there()? {
        return Ok(true);
    }
    let (comm, mut request) = (returning()?, handles().request_null);
    let to = constants().proc_null;
    // MPICH checks the datatype of one element or more, which have an address.
    let buffer = (&raw const comm).cast();
    // SAFETY: nothing is sent, so the buffer is not read; MPI checks the datatype; a handle is written.
    let code = unsafe { ffi::MPI_Send_init(buffer, 1, datatype, to, 0, comm, &mut request) };
    let mut class = code;
    if code != SUCCESS {
        // SAFETY: a code of MPI's; writes one int.
        unsafe { ffi::MPI_Error_class(code, &mut class) };
        return if class == constants().err_type { Ok(false) } else { check("MPI_Send_init", code).map(|()| true) };
    }
    // SAFETY: the request that was just made, freed once.
    check("MPI_Request_free", unsafe { ffi::MPI_Request_free(&mut request) }).map(|()| true)
}

/// Returns a private communicator of this process only, with MPI_ERRORS_RETURN, for [`is_committed`]. The first call
/// creates it. (The error handler of MPI_COMM_SELF may end the program.)
fn returning() -> Result<MPI_Comm, Error> {
    static MADE: OnceLock<Result<MPI_Comm, Error>> = OnceLock::new();
    let make = || {
        let mut comm = handles().comm_null;
        // SAFETY: MPI is initialised, as the caller has asked; a handle is written.
        check("MPI_Comm_dup", unsafe { ffi::MPI_Comm_dup(handles().comm_self, &mut comm) })?;
        // SAFETY: the communicator that was just made.
        let code: c_int = unsafe { ffi::MPI_Comm_set_errhandler(comm, handles().errors_return) };
        check("MPI_Comm_set_errhandler", code).map(|()| comm)
    };
    MADE.get_or_init(make).clone()
}
