//! What MPI tells of a datatype: how it was made, its size and extent, and a value of ours kept on it.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

use ::mpi::ffi;
use tributary::Error;

use super::{MPI_Datatype, SUCCESS, check};

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
    static trib_short_int: MPI_Datatype;
    static trib_short_int_gap: [std::ffi::c_long; 2];
    static trib_order_fortran: c_int;
    static trib_distribute_block: c_int;
    static trib_distribute_cyclic: c_int;
    static trib_distribute_default: c_int;
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

/// Whether this is MPI_SHORT_INT, the predefined type with a hole inside: the bytes of its first part, and where its
/// second begins.
pub fn short_int(datatype: MPI_Datatype) -> Option<[u64; 2]> {
    // SAFETY: constants of combiner.c.
    unsafe { (datatype == trib_short_int).then(|| trib_short_int_gap.map(|value| value as u64)) }
}

/// Bytes of data, lower bound, extent, and the true lower bound and extent of a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measures {
    /// Bytes of data.
    pub size: u64,
    /// From one element to the next.
    pub extent: i64,
    /// First byte of data.
    pub true_lower_bound: i64,
    /// From the first byte of data to behind the last.
    pub true_extent: i64,
}

/// Asks MPI.
///
/// # Errors
/// A datatype that is none.
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

/// A datatype that belongs to us, as MPI_Type_get_contents gives it.
#[derive(Debug)]
pub struct Owned {
    /// The handle.
    pub handle: MPI_Datatype,
    /// How it was made.
    combiner: Combiner,
}

impl Drop for Owned {
    fn drop(&mut self) {
        if !matches!(self.combiner, Combiner::Named | Combiner::F90) {
            // SAFETY: a reference that MPI_Type_get_contents gave us, freed once; predefined types are not ours to free.
            unsafe { ffi::MPI_Type_free(&mut self.handle) };
        }
    }
}

/// The arguments that a datatype was made from, read one after the other in the order of its constructor.
#[derive(Debug)]
pub struct Contents {
    /// How it was made.
    pub combiner: Combiner,
    integers: std::vec::IntoIter<c_int>,
    addresses: std::vec::IntoIter<ffi::MPI_Aint>,
    /// Counts and addresses of a constructor with large counts.
    large: std::vec::IntoIter<i64>,
    is_large: bool,
    types: Vec<Owned>,
}

impl Contents {
    /// Asks MPI.
    ///
    /// # Errors
    /// A datatype that is none, or was made by a constructor that is not known here.
    pub fn of(datatype: MPI_Datatype) -> Result<Self, Error> {
        let (combiner, [integers, addresses, large, types]) = envelope(datatype)?;
        let mut lists = Lists {
            integers: vec![0; integers],
            addresses: vec![0; addresses],
            large: vec![0; large],
            // SAFETY: a constant of the C library.
            types: vec![unsafe { ffi::RSMPI_DATATYPE_NULL }; types],
        };
        if !matches!(combiner, Combiner::Named | Combiner::F90) {
            lists.fill(datatype)?;
        }
        // All of them are owned before any of them can fail.
        let all: Vec<_> = lists.types.iter().map(|&handle| Owned { handle, combiner: Combiner::Dup }).collect();
        let mut owned = Vec::with_capacity(all.len());
        for mut one in all {
            one.combiner = envelope(one.handle)?.0;
            owned.push(one);
        }
        Ok(Self {
            combiner,
            integers: lists.integers.into_iter(),
            addresses: lists.addresses.into_iter(),
            is_large: !lists.large.is_empty(),
            large: lists.large.into_iter(),
            types: owned,
        })
    }

    /// The next argument that is an `int` in every form of the constructor.
    pub fn int(&mut self) -> Result<i64, Error> {
        self.integers.next().map(i64::from).ok_or_else(missing)
    }

    /// The next argument that is an `int`, or a count.
    pub fn count(&mut self) -> Result<i64, Error> {
        if self.is_large { self.large.next().ok_or_else(missing) } else { self.int() }
    }

    /// The next argument that is an address, or a count.
    #[allow(clippy::unnecessary_cast)] // i64 with one MPI library, isize with the other
    pub fn address(&mut self) -> Result<i64, Error> {
        let address = |address| address as i64;
        let next = if self.is_large { self.large.next() } else { self.addresses.next().map(address) };
        next.ok_or_else(missing)
    }

    /// So many arguments of a kind.
    pub fn list(&mut self, count: i64, next: fn(&mut Self) -> Result<i64, Error>) -> Result<Vec<i64>, Error> {
        (0..count).map(|_| next(self)).collect()
    }

    /// The only datatype among the arguments.
    pub fn datatype(&self) -> Result<MPI_Datatype, Error> {
        self.types.first().map(|owned| owned.handle).ok_or_else(missing)
    }

    /// All datatypes among the arguments.
    pub fn datatypes(&self) -> impl Iterator<Item = MPI_Datatype> + '_ {
        self.types.iter().map(|owned| owned.handle)
    }
}

fn missing() -> Error {
    Error::argument(
        "datatype",
        "MPI gives fewer arguments than its constructor takes",
        "what the constructor was given",
    )
}

/// How a datatype was made, and how many arguments of each kind: ints, addresses, large counts, datatypes.
fn envelope(datatype: MPI_Datatype) -> Result<(Combiner, [usize; 4]), Error> {
    let mut combiner = 0;
    #[cfg(large_count)]
    let counts = {
        let (mut integers, mut addresses, mut large, mut types) = (0, 0, 0, 0);
        // SAFETY: MPI checks the handle; the places are ours.
        check("MPI_Type_get_envelope_c", unsafe {
            ffi::MPI_Type_get_envelope_c(datatype, &mut integers, &mut addresses, &mut large, &mut types, &mut combiner)
        })?;
        [integers as usize, addresses as usize, large as usize, types as usize]
    };
    #[cfg(not(large_count))]
    let counts = {
        let (mut integers, mut addresses, mut types) = (0, 0, 0);
        // SAFETY: MPI checks the handle; the places are ours.
        check("MPI_Type_get_envelope", unsafe {
            ffi::MPI_Type_get_envelope(datatype, &mut integers, &mut addresses, &mut types, &mut combiner)
        })?;
        [integers as usize, addresses as usize, 0, types as usize]
    };
    // SAFETY: a pure function of combiner.c.
    let known = usize::try_from(unsafe { trib_combiner(combiner) }).ok().and_then(|number| COMBINERS.get(number));
    let unknown = || Error::argument("combiner of a datatype", combiner, "those of MPI-3.1");
    known.map(|&known| (known, counts)).ok_or_else(unknown)
}

struct Lists {
    integers: Vec<c_int>,
    addresses: Vec<ffi::MPI_Aint>,
    large: Vec<i64>,
    types: Vec<MPI_Datatype>,
}

impl Lists {
    #[cfg(large_count)]
    fn fill(&mut self, datatype: MPI_Datatype) -> Result<(), Error> {
        let lengths = [self.integers.len(), self.addresses.len(), self.large.len(), self.types.len()];
        let [integers, addresses, large, types] = lengths.map(|length| length as ffi::MPI_Count);
        let (at_integers, at_addresses) = (self.integers.as_mut_ptr(), self.addresses.as_mut_ptr());
        // SAFETY: the lists are as long as the envelope says.
        check("MPI_Type_get_contents_c", unsafe {
            ffi::MPI_Type_get_contents_c(
                datatype,
                integers,
                addresses,
                large,
                types,
                at_integers,
                at_addresses,
                self.large.as_mut_ptr(),
                self.types.as_mut_ptr(),
            )
        })
    }

    #[cfg(not(large_count))]
    fn fill(&mut self, datatype: MPI_Datatype) -> Result<(), Error> {
        let lengths = [self.integers.len(), self.addresses.len(), self.types.len()];
        let [integers, addresses, types] = lengths.map(|length| length as c_int);
        let (at_integers, at_addresses) = (self.integers.as_mut_ptr(), self.addresses.as_mut_ptr());
        // SAFETY: the lists are as long as the envelope says.
        check("MPI_Type_get_contents", unsafe {
            let at_types = self.types.as_mut_ptr();
            ffi::MPI_Type_get_contents(datatype, integers, addresses, types, at_integers, at_addresses, at_types)
        })
    }
}

/// Values of type `T` that are kept on datatypes, and go with them.
pub struct Attribute<T> {
    key: OnceLock<Option<c_int>>,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> Attribute<T> {
    /// None yet.
    #[allow(clippy::new_without_default)] // for a static
    pub const fn new() -> Self {
        Self { key: OnceLock::new(), of: std::marker::PhantomData }
    }

    /// The value that is kept on `datatype`.
    pub fn get(&self, datatype: MPI_Datatype) -> Option<Arc<T>> {
        let key = self.key()?;
        let (mut value, mut found) = (std::ptr::null_mut::<c_void>(), 0);
        // SAFETY: a datatype and a key of ours; MPI writes the value and whether there is one.
        let code = unsafe { ffi::MPI_Type_get_attr(datatype, key, (&raw mut value).cast(), &mut found) };
        if code != SUCCESS || found == 0 || value.is_null() {
            return None;
        }
        // SAFETY: `set` put it there by Arc::into_raw, and MPI holds that reference as long as the attribute is there.
        unsafe {
            Arc::increment_strong_count(value.cast::<T>());
            Some(Arc::from_raw(value.cast::<T>()))
        }
    }

    /// Keeps a value on `datatype`. Where MPI does not take it, it is not kept.
    pub fn set(&self, datatype: MPI_Datatype, value: Arc<T>) {
        let Some(key) = self.key() else { return };
        let value = Arc::into_raw(value);
        // SAFETY: a datatype and a key of ours.
        if unsafe { ffi::MPI_Type_set_attr(datatype, key, value.cast_mut().cast()) } != SUCCESS {
            // SAFETY: MPI did not take the reference.
            drop(unsafe { Arc::from_raw(value) });
        }
    }

    fn key(&self) -> Option<c_int> {
        *self.key.get_or_init(|| {
            let mut key = 0;
            let nothing = std::ptr::null_mut();
            // SAFETY: callbacks of the types that MPI asks for.
            let code = unsafe { ffi::MPI_Type_create_keyval(Some(copy), Some(delete::<T>), &mut key, nothing) };
            (code == SUCCESS).then_some(key)
        })
    }
}

/// A duplicate of a datatype is given no value.
unsafe extern "C" fn copy(
    _datatype: MPI_Datatype,
    _key: c_int,
    _extra: *mut c_void,
    _value: *mut c_void,
    _copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI's place for the answer.
    unsafe { *flag = 0 };
    SUCCESS
}

unsafe extern "C" fn delete<T>(_datatype: MPI_Datatype, _key: c_int, value: *mut c_void, _extra: *mut c_void) -> c_int {
    // SAFETY: the reference that `set` gave to MPI, which gives it back once. A value of ours does not panic when dropped.
    drop(unsafe { Arc::from_raw(value.cast::<T>()) });
    SUCCESS
}
