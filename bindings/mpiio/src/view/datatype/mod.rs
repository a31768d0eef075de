//! Converts MPI datatypes to lists of extents (offset, length), which the engine can use as a memory layout or a file
//! view.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@shape`] | ordered extents relative to an address |
//! | `build` | builds a datatype's shape from its constructor |

use std::cell::RefCell;
use std::sync::Arc;

use tributary::error::About;
use tributary::{BufferLayout, Error, FileView};
use tributary_abi::handles;

use crate::mpi::abi::MPI_Datatype;
use crate::mpi::abi::types::{DatatypeAttribute, is_committed};

mod array;
mod build;
pub mod shape;

use shape::{Shape, too_far};

thread_local! {
    /// Predefined datatype that this thread used last, with its flat form. MPI never reuses the handle of a
    /// predefined datatype for another type.
    static PREDEFINED: RefCell<Option<(MPI_Datatype, Arc<FlatType>)>> = const { RefCell::new(None) };
}

/// Returns the flat form of a datatype: the bytes of an element in typemap order. The first call computes the form in
/// O(arguments of the constructors) and attaches it to the datatype until the datatype is freed; later duplicates
/// share it. Local; several threads may call this at once.
///
/// # Errors
/// An error about [`About::Datatype`] for MPI_DATATYPE_NULL and for a datatype that is not committed; another error
/// if the constructor is not known, or if the bytes reach beyond 2^63 - 1.
pub fn flattened(datatype: MPI_Datatype) -> Result<Arc<FlatType>, Error> {
    static KEPT: DatatypeAttribute<FlatType> = DatatypeAttribute::new();
    if datatype == handles().datatype_null {
        return Err(no_data("MPI_DATATYPE_NULL"));
    }
    if let Some(flat) =
        PREDEFINED.with_borrow(|kept| kept.as_ref().filter(|kept| kept.0 == datatype).map(|kept| kept.1.clone()))
    {
        return Ok(flat);
    }
    if let Some(flat) = KEPT.get(datatype)? {
        return Ok(flat);
    }
    let (flat, is_predefined) = build::flat(datatype)?;
    let flat = Arc::new(flat);
    if is_predefined {
        PREDEFINED.set(Some((datatype, flat.clone())));
        return Ok(flat);
    }
    // MPI is asked once: a datatype stays committed, and so do its duplicates, which share the flat form.
    if !is_committed(datatype)? {
        return Err(no_data("one that is not committed"));
    }
    KEPT.keep(datatype, flat)
}

/// Returns the error for a datatype that no call may use. `given` describes the datatype.
fn no_data(given: &str) -> Error {
    Error::argument("datatype", given, "a committed datatype").about(About::Datatype)
}

/// The bytes of one element of a datatype in typemap order, and its extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatType {
    shape: Shape,
    extent: i64,
    size: u64,
}

/// Elements of a datatype in the program's memory.
#[derive(Debug, PartialEq, Eq)]
pub struct FlatMemory {
    /// Displacement of the lowest byte, in bytes from the buffer's address.
    pub displacement: i64,
    /// Number of bytes from the lowest byte to the end of the highest byte.
    pub span: u64,
    /// Extents of the data, relative to the lowest byte.
    pub layout: BufferLayout,
}

impl FlatType {
    /// Returns the number of bytes of data in one element.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the number of bytes from the start of one element to the start of the next; may be negative.
    pub fn extent(&self) -> i64 {
        self.extent
    }

    /// Returns the shape of one element: its bytes in typemap order.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns true if any number of consecutive elements is one piece of memory.
    pub fn is_contiguous(&self) -> bool {
        self.shape.tile(self.extent).is_some()
    }

    /// Returns the memory that `count` consecutive elements occupy.
    ///
    /// # Errors
    /// The bytes lie more than 2^63 - 1 apart.
    pub fn memory(&self, count: u64) -> Result<FlatMemory, Error> {
        if let Some(tile) = self.shape.tile(self.extent) {
            let span = i64::try_from(count).ok().and_then(|count| count.checked_mul(tile)).ok_or_else(too_far)?;
            return Ok(FlatMemory { displacement: 0, span: span as u64, layout: BufferLayout::Contiguous });
        }
        let shape = self.shape.repeat(self.extent, count)?;
        let (displacement, extents) = (shape.low(), shape.extents());
        let span = extents.span().map_or(0, |(_, end)| end);
        let layout = match extents.count() {
            0 | 1 => BufferLayout::Contiguous,
            _ => BufferLayout::Extents(extents.clone()),
        };
        Ok(FlatMemory { displacement, span, layout })
    }

    /// Returns the file view of consecutive elements, the first at byte `displacement` of the file; None for a
    /// datatype without data.
    ///
    /// # Errors
    /// An element has bytes before the start of the file, or the extent is not positive.
    pub fn view(&self, displacement: i64) -> Result<Option<FileView>, Error> {
        if self.size == 0 {
            return Ok(None);
        }
        let start = displacement.checked_add(self.shape.low()).and_then(|start| u64::try_from(start).ok());
        let given = || format!("displacement {displacement}, first byte of data {}", self.shape.low());
        let start = start.ok_or_else(|| Error::argument("file view", given(), "no byte before the file"))?;
        let extent =
            u64::try_from(self.extent).map_err(|_| Error::argument("extent of a file type", self.extent, "above 0"))?;
        FileView::new(start, self.shape.extents().clone(), extent).map(Some)
    }
}
