//! MPI datatypes as extents.
//!
//! | module | holds |
//! |---|---|
//! | [`mod@shape`] | bytes in an order, relative to any address: extents, and where their first one lies |
//! | `build` | a datatype's shape from how it was made |
//! | [`mod@flat`] | a datatype as the engine uses it: as memory, as a file view |

use std::sync::Arc;

use tributary::Error;

use crate::abi::MPI_Datatype;
use crate::abi::types::Attribute;

mod array;
mod build;
pub mod flat;
pub mod shape;

pub use flat::Flat;

/// The bytes of a datatype. Worked out once, in O(arguments of its constructors), and kept on the datatype until it is freed.
///
/// # Errors
/// No datatype, one made by a constructor that is not known, or bytes beyond 2^63 - 1.
pub fn flattened(datatype: MPI_Datatype) -> Result<Arc<Flat>, Error> {
    static KEPT: Attribute<Flat> = Attribute::new();
    if let Some(flat) = KEPT.get(datatype) {
        return Ok(flat);
    }
    let (flat, is_predefined) = build::flat(datatype)?;
    let flat = Arc::new(flat);
    if !is_predefined {
        KEPT.set(datatype, flat.clone());
    }
    Ok(flat)
}
