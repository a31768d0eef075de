//! Converts MPI datatypes to lists of extents (offset, length).
//!
//! | module | holds |
//! |---|---|
//! | [`mod@shape`] | ordered extents relative to an address |
//! | `build` | builds a datatype's shape from its constructor |
//! | [`mod@flat`] | the flat form, which becomes memory or a file view |

use std::cell::RefCell;
use std::sync::Arc;

use tributary::Error;
use tributary::error::About;
use tributary_abi::handles;

use crate::abi::MPI_Datatype;
use crate::abi::types::{DatatypeAttribute, is_committed};

mod array;
mod build;
pub mod flat;
pub mod shape;

pub use flat::FlatType;

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
