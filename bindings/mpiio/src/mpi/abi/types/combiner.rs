//! Names the MPI function that made a datatype (MPI's combiner constants as an enum).

use std::ffi::c_int;

use tributary::Error;
use tributary_abi::constants;

/// The constructor that made a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combiner {
    /// The datatype is predefined, such as MPI_INT.
    Named,
    /// MPI_Type_dup.
    Dup,
    /// MPI_Type_contiguous.
    Contiguous,
    /// MPI_Type_vector.
    Vector,
    /// MPI_Type_create_hvector.
    Hvector,
    /// MPI_Type_indexed.
    Indexed,
    /// MPI_Type_create_hindexed.
    Hindexed,
    /// MPI_Type_create_indexed_block.
    IndexedBlock,
    /// MPI_Type_create_hindexed_block.
    HindexedBlock,
    /// MPI_Type_create_struct.
    Struct,
    /// MPI_Type_create_subarray.
    Subarray,
    /// MPI_Type_create_darray.
    Darray,
    /// MPI_Type_create_resized.
    Resized,
    /// MPI_Type_create_f90_real, _complex or _integer; such a datatype is handled as predefined.
    F90,
}

impl Combiner {
    /// Returns the combiner for `number`, one of MPI's MPI_COMBINER_* constants.
    ///
    /// # Errors
    /// The combiner is not known here.
    pub fn from_number(number: c_int) -> Result<Self, Error> {
        let all = constants();
        Ok(match number {
            n if n == all.combiner_named => Self::Named,
            n if n == all.combiner_dup => Self::Dup,
            n if n == all.combiner_contiguous => Self::Contiguous,
            n if n == all.combiner_vector => Self::Vector,
            n if n == all.combiner_hvector => Self::Hvector,
            n if n == all.combiner_indexed => Self::Indexed,
            n if n == all.combiner_hindexed => Self::Hindexed,
            n if n == all.combiner_indexed_block => Self::IndexedBlock,
            n if n == all.combiner_hindexed_block => Self::HindexedBlock,
            n if n == all.combiner_struct => Self::Struct,
            n if n == all.combiner_subarray => Self::Subarray,
            n if n == all.combiner_darray => Self::Darray,
            n if n == all.combiner_resized => Self::Resized,
            n if [all.combiner_f90_real, all.combiner_f90_complex, all.combiner_f90_integer].contains(&n) => Self::F90,
            _ => return Err(Error::argument("combiner of a datatype", number, "those of MPI-3.1")),
        })
    }

    /// Returns true if the MPI library owns the datatype: it has no contents and cannot be freed.
    pub fn is_predefined(self) -> bool {
        matches!(self, Self::Named | Self::F90)
    }
}
