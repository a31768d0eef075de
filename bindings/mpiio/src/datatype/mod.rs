//! MPI datatypes as extents.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@shape`] | bytes in an order, relative to any address: extents, and where their first one lies |
//! | `build` | a datatype's shape from how it was made |
//! | [`mod@flat`] | a datatype as the engine uses it: as memory, as a file view |

use std::cell::RefCell;
use std::sync::Arc;

use tributary::Error;

use crate::abi::types::Attribute;
use crate::abi::{MPI_Datatype, datatype_null};

mod array;
mod build;
pub mod flat;
pub mod shape;

pub use flat::FlatType;

thread_local! {
    /// The predefined datatype that this thread used last: such a handle never becomes another type's.
    static PREDEFINED: RefCell<Option<(MPI_Datatype, Arc<FlatType>)>> = const { RefCell::new(None) };
}

/// The bytes of a datatype. Worked out once, in O(arguments of its constructors), and kept on the datatype until it is
/// freed; a duplicate made later shares it. Local; may be called by several threads.
///
/// # Errors
/// MPI_DATATYPE_NULL, a type made by a constructor that is not known, and bytes beyond 2^63 - 1.
pub fn flattened(datatype: MPI_Datatype) -> Result<Arc<FlatType>, Error> {
    static KEPT: Attribute<FlatType> = Attribute::new();
    if datatype == datatype_null() {
        return Err(Error::argument("datatype", "MPI_DATATYPE_NULL", "a datatype"));
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
    if !is_predefined {
        return KEPT.keep(datatype, flat);
    }
    PREDEFINED.set(Some((datatype, flat.clone())));
    Ok(flat)
}
