//! Reads the arguments with which a datatype was made (MPI_Type_get_contents; MPI 4.1, section 5.1.13).

use std::ffi::c_int;

use tributary::Error;
use tributary_abi::{self as ffi, HandleArray, MISSING, handles};

use crate::mpi::abi::types::{Combiner, Kept};
use crate::mpi::abi::{MPI_Datatype, check};

/// The arguments of a datatype's constructor. The methods return them one by one, in the order of the constructor.
#[derive(Debug)]
pub struct Contents {
    /// The MPI function that made the datatype.
    pub combiner: Combiner,
    integers: std::vec::IntoIter<c_int>,
    addresses: std::vec::IntoIter<ffi::MPI_Aint>,
    /// Counts and addresses, if the constructor has large counts (MPI_Count).
    large: std::vec::IntoIter<ffi::MPI_Count>,
    is_large: bool,
    types: Vec<Kept>,
}

impl Contents {
    /// Gets the arguments of the constructor of `datatype` from MPI.
    ///
    /// # Errors
    /// The handle is not a datatype, or its constructor is not known here.
    pub fn from_datatype(datatype: MPI_Datatype) -> Result<Self, Error> {
        let envelope = envelope(datatype)?;
        let combiner = Combiner::from_number(envelope.combiner)?;
        let lists = if combiner.is_predefined() { ConstructorLists::default() } else { envelope.lists(datatype)? };
        Ok(Self {
            combiner,
            integers: lists.integers.into_iter(),
            addresses: lists.addresses.into_iter(),
            is_large: !lists.large.is_empty(),
            large: lists.large.into_iter(),
            // SAFETY: references of MPI_Type_get_contents.
            types: lists.types.iter().map(|datatype| unsafe { Kept::from_reference(datatype) }).collect(),
        })
    }

    /// Returns the next argument that is an `int` in every form of the constructor.
    pub fn int(&mut self) -> Result<i64, Error> {
        self.integers.next().map(i64::from).ok_or_else(missing)
    }

    /// Returns the next argument that is an `int`, or a count.
    pub fn count(&mut self) -> Result<i64, Error> {
        if self.is_large { self.large.next().ok_or_else(missing) } else { self.int() }
    }

    /// Returns the next argument that is an address, or a count.
    pub fn address(&mut self) -> Result<i64, Error> {
        if self.is_large {
            return self.count();
        }
        self.addresses.next().ok_or_else(missing)
    }

    /// Returns the next `count` arguments, each read by `next`.
    pub fn list(&mut self, count: i64, next: fn(&mut Self) -> Result<i64, Error>) -> Result<Vec<i64>, Error> {
        (0..count).map(|_| next(self)).collect()
    }

    /// Returns lengths and displacements of `count` blocks, for constructors with displacements in bytes. Borrows the
    /// values that [`Contents::list`] would return, and does not advance.
    pub fn blocks_in_bytes(&self, count: i64) -> Option<BlockList<'_>> {
        let count = usize::try_from(count).ok()?;
        if self.is_large {
            let large = self.large.as_slice();
            return Some(BlockList::Large(large.get(..count)?, large.get(count..2 * count)?));
        }
        Some(BlockList::Small(self.integers.as_slice().get(..count)?, self.addresses.as_slice().get(..count)?))
    }

    /// Returns the only datatype among the arguments.
    pub fn datatype(&self) -> Result<MPI_Datatype, Error> {
        self.types.first().map(Kept::datatype).ok_or_else(missing)
    }

    /// Returns all datatypes among the arguments.
    pub fn datatypes(&self) -> impl Iterator<Item = MPI_Datatype> + '_ {
        self.types.iter().map(Kept::datatype)
    }
}

/// Lengths and displacements of the blocks of a datatype.
#[derive(Debug, Clone, Copy)]
pub enum BlockList<'a> {
    /// Lengths, then displacements in bytes, of a constructor with large counts.
    Large(&'a [ffi::MPI_Count], &'a [ffi::MPI_Count]),
    /// Lengths, then displacements in bytes, of a constructor with `int` counts.
    Small(&'a [c_int], &'a [ffi::MPI_Aint]),
}

fn missing() -> Error {
    Error::argument(
        "datatype",
        "MPI gives fewer arguments than its constructor takes",
        "all arguments of the constructor",
    )
}

/// A datatype's combiner (a number of MPI), and the numbers of arguments of each kind that its constructor had.
pub(super) struct TypeEnvelope {
    pub combiner: c_int,
    integers: usize,
    addresses: usize,
    large: usize,
    types: usize,
}

/// Returns the envelope of `datatype`. Asks for the form with large counts first, because MPI refuses the other form
/// for constructors with large counts. Libraries before MPI 4 have neither.
pub(super) fn envelope(datatype: MPI_Datatype) -> Result<TypeEnvelope, Error> {
    let (mut integers, mut addresses, mut large, mut types, mut combiner) = (0, 0, 0, 0, 0);
    // SAFETY: MPI checks the handle; the places are ours.
    let code = unsafe {
        ffi::MPI_Type_get_envelope_c(datatype, &mut integers, &mut addresses, &mut large, &mut types, &mut combiner)
    };
    if code == MISSING {
        return small_envelope(datatype);
    }
    check("MPI_Type_get_envelope_c", code)?;
    let [integers, addresses, large, types] = [integers, addresses, large, types].map(|count| count as usize);
    Ok(TypeEnvelope { combiner, integers, addresses, large, types })
}

fn small_envelope(datatype: MPI_Datatype) -> Result<TypeEnvelope, Error> {
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    // SAFETY: MPI checks the handle; the places are ours.
    check("MPI_Type_get_envelope", unsafe {
        ffi::MPI_Type_get_envelope(datatype, &mut integers, &mut addresses, &mut types, &mut combiner)
    })?;
    let [integers, addresses, types] = [integers, addresses, types].map(|count| count as usize);
    Ok(TypeEnvelope { combiner, integers, addresses, large: 0, types })
}

#[derive(Default)]
struct ConstructorLists {
    integers: Vec<c_int>,
    addresses: Vec<ffi::MPI_Aint>,
    large: Vec<ffi::MPI_Count>,
    types: HandleArray<MPI_Datatype>,
}

impl TypeEnvelope {
    /// Returns the arguments of the constructor of `datatype`. `self` is its envelope, and the datatype is not
    /// predefined.
    fn lists(&self, datatype: MPI_Datatype) -> Result<ConstructorLists, Error> {
        let mut lists = ConstructorLists {
            integers: vec![0; self.integers],
            addresses: vec![0; self.addresses],
            large: vec![0; self.large],
            types: HandleArray::from_elem(handles().datatype_null, self.types),
        };
        lists.fill(datatype)?;
        Ok(lists)
    }
}

impl ConstructorLists {
    fn fill(&mut self, datatype: MPI_Datatype) -> Result<(), Error> {
        let lengths = [self.integers.len(), self.addresses.len(), self.large.len(), self.types.len()];
        let [integers, addresses, large, types] = lengths.map(|length| length as ffi::MPI_Count);
        let (at_integers, at_addresses) = (self.integers.as_mut_ptr(), self.addresses.as_mut_ptr());
        let (at_large, at_types) = (self.large.as_mut_ptr(), self.types.as_mut_ptr());
        // SAFETY: the lists are as long as the envelope says.
        let code = unsafe {
            ffi::MPI_Type_get_contents_c(
                datatype,
                integers,
                addresses,
                large,
                types,
                at_integers,
                at_addresses,
                at_large,
                at_types,
            )
        };
        if code != MISSING {
            return check("MPI_Type_get_contents_c", code);
        }
        let [integers, addresses, _, types] = lengths.map(|length| length as c_int);
        // SAFETY: the lists are as long as the envelope says; an MPI without the function above has no large counts.
        check("MPI_Type_get_contents", unsafe {
            ffi::MPI_Type_get_contents(datatype, integers, addresses, types, at_integers, at_addresses, at_types)
        })
    }
}
