//! The constructors of datatypes, and the words of their arguments.

use std::ffi::c_int;

use tributary::Error;

/// The constructor that made a datatype, in the numbers of combiner.c.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combiner {
    /// Predefined.
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
    /// MPI_Type_create_f90_real, _complex, _integer: predefined in effect.
    F90,
}

const COMBINERS: [Combiner; 14] = {
    use Combiner::*;
    [
        Named,
        Dup,
        Contiguous,
        Vector,
        Hvector,
        Indexed,
        Hindexed,
        IndexedBlock,
        HindexedBlock,
        Struct,
        Subarray,
        Darray,
        Resized,
        F90,
    ]
};

unsafe extern "C" {
    fn trib_combiner(combiner: c_int) -> c_int;
    static trib_order_fortran: c_int;
    static trib_distribute_block: c_int;
    static trib_distribute_cyclic: c_int;
    static trib_distribute_default: c_int;
}

impl Combiner {
    /// The one that MPI gives this number.
    ///
    /// # Errors
    /// One that is not known here.
    pub fn of(number: c_int) -> Result<Self, Error> {
        // SAFETY: a pure function of combiner.c.
        let known = usize::try_from(unsafe { trib_combiner(number) }).ok().and_then(|n| COMBINERS.get(n));
        known.copied().ok_or_else(|| Error::argument("combiner of a datatype", number, "those of MPI-3.1"))
    }

    /// Whether the MPI library owns what it made: there is nothing to take apart, and nobody frees it.
    pub fn is_predefined(self) -> bool {
        matches!(self, Self::Named | Self::F90)
    }
}

/// Words of subarrays and distributed arrays.
pub struct Words {
    /// MPI_ORDER_FORTRAN.
    pub order_fortran: i64,
    /// MPI_DISTRIBUTE_BLOCK.
    pub block: i64,
    /// MPI_DISTRIBUTE_CYCLIC.
    pub cyclic: i64,
    /// MPI_DISTRIBUTE_DFLT_DARG.
    pub default: i64,
}

/// This MPI library's words.
pub fn words() -> Words {
    // SAFETY: constants of combiner.c.
    let all = unsafe { [trib_order_fortran, trib_distribute_block, trib_distribute_cyclic, trib_distribute_default] };
    let [order_fortran, block, cyclic, default] = all.map(i64::from);
    Words { order_fortran, block, cyclic, default }
}
