//! Describes datatypes as values, and makes them with MPI constructor by constructor.

use std::ffi::{CString, c_int, c_void};

use tributary_abi::{MPI_Comm, constants, handles, mpi_functions};
use tributary_abi::{MPI_Finalize, MPI_Init_thread, MPI_Type_free};
use tributary_mpiio::abi::{MPI_Datatype, SUCCESS};

use super::constructors::{
    MPI_Type_contiguous_c, MPI_Type_create_hindexed, MPI_Type_dup, MPI_Type_vector_c, has_large_counts,
};

mpi_functions! {
    fn MPI_Pack(
        from: *const c_void, count: c_int, datatype: MPI_Datatype, to: *mut c_void, size: c_int,
        position: *mut c_int, comm: MPI_Comm,
    );
    fn MPI_Pack_size(count: c_int, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut c_int);
    fn MPI_Type_commit(datatype: *mut MPI_Datatype);
}

/// The description of a datatype: its constructor and the arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum Recipe {
    /// A predefined type.
    Named(&'static Named),
    /// MPI_Type_create_f90_real, _complex or _integer, with usual numbers of digits.
    F90(F90),
    Dup(Box<Recipe>),
    Contiguous(c_int, Box<Recipe>),
    /// MPI_Type_vector: count, block length, stride in elements.
    Vector(c_int, c_int, c_int, Box<Recipe>),
    /// MPI_Type_create_hvector: count, block length, stride in bytes.
    Hvector(c_int, c_int, i64, Box<Recipe>),
    /// MPI_Type_indexed: length and displacement of each block, in elements.
    Indexed(Vec<(c_int, c_int)>, Box<Recipe>),
    /// MPI_Type_create_hindexed: length in elements and displacement in bytes of each block.
    Hindexed(Vec<(c_int, i64)>, Box<Recipe>),
    IndexedBlock(c_int, Vec<c_int>, Box<Recipe>),
    HindexedBlock(c_int, Vec<i64>, Box<Recipe>),
    /// MPI_Type_create_struct: length, displacement in bytes, and type of each member.
    Struct(Vec<(c_int, i64, Recipe)>),
    /// MPI_Type_create_subarray: size, subsize and start of each dimension; true for Fortran's order.
    Subarray(Vec<[c_int; 3]>, bool, Box<Recipe>),
    /// MPI_Type_create_darray: rank, dimensions; true for Fortran's order.
    Darray(c_int, Vec<Dealt>, bool, Box<Recipe>),
    /// MPI_Type_create_resized: lower bound and extent.
    Resized(i64, i64, Box<Recipe>),
}

/// The kinds of MPI_Type_create_f90_*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum F90 {
    Real,
    Complex,
    Integer,
}

/// One dimension of a distributed array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dealt {
    pub size: c_int,
    pub way: Way,
    /// Distribution argument; None stands for MPI_DISTRIBUTE_DFLT_DARG.
    pub argument: Option<c_int>,
    pub processes: c_int,
}

/// The way in which a dimension is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Block,
    Cyclic,
    None,
}

/// A predefined datatype. (rsmpi knows few of them: in Open MPI they are variables, in MPICH's binary interface
/// numbers.)
#[derive(PartialEq, Eq)]
pub struct Named {
    pub name: &'static str,
    variable: &'static str,
    number: u32,
}

const fn named(name: &'static str, variable: &'static str, number: u32) -> Named {
    Named { name, variable, number }
}

impl std::fmt::Debug for Named {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        to.write_str(self.name)
    }
}

/// Predefined datatypes for the tests: some of each kind, and all pairs.
pub static NAMED: [Named; 17] = [
    named("MPI_BYTE", "ompi_mpi_byte", 0x4c00_010d),
    named("MPI_CHAR", "ompi_mpi_char", 0x4c00_0101),
    named("MPI_SHORT", "ompi_mpi_short", 0x4c00_0203),
    named("MPI_INT", "ompi_mpi_int", 0x4c00_0405),
    named("MPI_DOUBLE", "ompi_mpi_double", 0x4c00_080b),
    named("MPI_LONG_DOUBLE", "ompi_mpi_long_double", 0x4c00_100c),
    named("MPI_PACKED", "ompi_mpi_packed", 0x4c00_010f),
    named("MPI_CHARACTER", "ompi_mpi_character", 0x4c00_011a),
    named("MPI_DOUBLE_COMPLEX", "ompi_mpi_dblcplex", 0x4c00_1022),
    named("MPI_2INTEGER", "ompi_mpi_2integer", 0x4c00_0820),
    named("MPI_C_BOOL", "ompi_mpi_c_bool", 0x4c00_013f),
    named("MPI_FLOAT_INT", "ompi_mpi_float_int", 0x8c00_0000),
    named("MPI_DOUBLE_INT", "ompi_mpi_double_int", 0x8c00_0001),
    named("MPI_LONG_INT", "ompi_mpi_long_int", 0x8c00_0002),
    named("MPI_SHORT_INT", "ompi_mpi_short_int", 0x8c00_0003),
    named("MPI_2INT", "ompi_mpi_2int", 0x4c00_0816),
    named("MPI_LONG_DOUBLE_INT", "ompi_mpi_longdbl_int", 0x8c00_0004),
];

/// The markers of MPI-1 (MPI_LB, MPI_UB), which MPI-3.0 removed; both libraries still accept them as members of a
/// struct.
pub static MARKERS: [Named; 2] =
    [named("MPI_LB", "ompi_mpi_lb", 0x4c00_0010), named("MPI_UB", "ompi_mpi_ub", 0x4c00_0011)];

impl Named {
    pub fn handle(&self) -> MPI_Datatype {
        let variable = CString::new(self.variable).unwrap();
        // SAFETY: a look-up by name; the address of a datatype of Open MPI is its handle.
        unsafe {
            let address = libc::dlsym(libc::RTLD_DEFAULT, variable.as_ptr());
            MPI_Datatype::from_word(if address.is_null() { self.number as usize } else { address as usize })
        }
    }
}

/// Returns the description of the predefined type with this name.
pub fn predefined(name: &str) -> Recipe {
    Recipe::Named(NAMED.iter().chain(&MARKERS).find(|named| named.name == name).unwrap())
}

/// A committed datatype that a test has made.
pub struct Made {
    pub handle: MPI_Datatype,
    is_derived: bool,
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.is_derived {
            // SAFETY: made by us, freed once.
            unsafe { MPI_Type_free(&mut self.handle) };
        }
    }
}

impl Made {
    /// Duplicates the datatype with MPI_Type_dup.
    pub fn duplicate(&self) -> Self {
        let mut new = handles().datatype_null;
        // SAFETY: a datatype of the test's own.
        code(unsafe { MPI_Type_dup(self.handle, &mut new) }).unwrap();
        Self { handle: new, is_derived: true }
    }
}

/// Calls MPI_Type_create_hindexed on an existing datatype.
pub fn hindexed(blocks: &[(c_int, i64)], of: &Made) -> Made {
    let (lengths, places): (Vec<_>, Vec<_>) = blocks.iter().map(|&(length, at)| (length, at)).unzip();
    let mut new = handles().datatype_null;
    let count = blocks.len() as c_int;
    // SAFETY: lists of `count`.
    let made = unsafe { MPI_Type_create_hindexed(count, lengths.as_ptr(), places.as_ptr(), of.handle, &mut new) };
    code(made).unwrap();
    committed(new).unwrap()
}

/// Commits a derived datatype that was just made.
fn committed(mut handle: MPI_Datatype) -> Result<Made, c_int> {
    // SAFETY: a datatype of ours.
    code(unsafe { MPI_Type_commit(&mut handle) })?;
    Ok(Made { handle, is_derived: true })
}

/// Returns two datatypes: `count` MPI_INT in one run, and `count` MPI_INT with a gap of its size behind each. None if
/// MPI has no large counts.
pub fn large_pair(count: i64) -> Option<(Made, Made)> {
    if !has_large_counts() {
        return None;
    }
    let of = predefined("MPI_INT").make(0).unwrap().handle;
    let (mut contiguous, mut vector) = (handles().datatype_null, handles().datatype_null);
    // SAFETY: a datatype, and places of ours.
    unsafe {
        code(MPI_Type_contiguous_c(count, of, &mut contiguous)).unwrap();
        code(MPI_Type_vector_c(count, 1, 2, of, &mut vector)).unwrap();
    }
    Some((committed(contiguous).unwrap(), committed(vector).unwrap()))
}

/// Initialises MPI for calls by several threads at once; dropping the result finalises MPI.
pub fn with_threads() -> impl Drop {
    struct Mpi;
    impl Drop for Mpi {
        fn drop(&mut self) {
            // SAFETY: initialised below, and all datatypes are gone.
            unsafe { MPI_Finalize() };
        }
    }
    let mut given = 0;
    tributary_abi::load().unwrap();
    // SAFETY: the first call of MPI; no arguments to give.
    code(unsafe {
        let wanted = constants().thread_multiple;
        MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), wanted, &mut given)
    })
    .unwrap();
    assert_eq!(given, constants().thread_multiple, "MPI_THREAD_MULTIPLE");
    Mpi
}

impl Recipe {
    /// Makes and commits the datatype. The lowest bit of `large` selects the form with large counts for the outermost
    /// constructor, the next bit for the constructor inside, and so on.
    ///
    /// # Errors
    /// MPI's code if MPI refuses.
    pub fn make(&self, large: u32) -> Result<Made, c_int> {
        let mut made = self.constructed(large)?;
        if made.is_derived {
            // SAFETY: a datatype that was made just now.
            code(unsafe { MPI_Type_commit(&mut made.handle) })?;
        }
        Ok(made)
    }

    fn constructed(&self, large: u32) -> Result<Made, c_int> {
        let is_derived = match self {
            Self::Named(named) => return Ok(Made { handle: named.handle(), is_derived: false }),
            Self::F90(_) => false,
            _ => true,
        };
        let parts = self.parts().into_iter().map(|part| part.constructed(large >> 1)).collect::<Result<Vec<_>, _>>()?;
        let old: Vec<_> = parts.iter().map(|part| part.handle).collect();
        let mut new = handles().datatype_null;
        code(match large & 1 {
            0 => super::constructors::small(self, &old, &mut new),
            _ => super::constructors::large(self, &old, &mut new),
        })?;
        Ok(Made { handle: new, is_derived })
    }

    /// Returns the datatypes from which this one is made.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Named(_) | Self::F90(_) => vec![],
            Self::Struct(members) => members.iter().map(|(.., of)| of).collect(),
            Self::Dup(of)
            | Self::Contiguous(_, of)
            | Self::Vector(.., of)
            | Self::Hvector(.., of)
            | Self::Indexed(_, of)
            | Self::Hindexed(_, of)
            | Self::IndexedBlock(.., of)
            | Self::HindexedBlock(.., of)
            | Self::Subarray(.., of)
            | Self::Darray(.., of)
            | Self::Resized(.., of) => vec![of],
        }
    }

    /// Returns the name of the constructor.
    pub fn constructor(&self) -> &'static str {
        match self {
            Self::Named(named) => named.name,
            Self::F90(F90::Real) => "f90_real",
            Self::F90(F90::Complex) => "f90_complex",
            Self::F90(F90::Integer) => "f90_integer",
            Self::Dup(_) => "dup",
            Self::Contiguous(..) => "contiguous",
            Self::Vector(..) => "vector",
            Self::Hvector(..) => "hvector",
            Self::Indexed(..) => "indexed",
            Self::Hindexed(..) => "hindexed",
            Self::IndexedBlock(..) => "indexed_block",
            Self::HindexedBlock(..) => "hindexed_block",
            Self::Struct(_) => "struct",
            Self::Subarray(..) => "subarray",
            Self::Darray(..) => "darray",
            Self::Resized(..) => "resized",
        }
    }
}

/// Turns a return code of MPI into a result.
pub fn code(code: c_int) -> Result<(), c_int> {
    if code == SUCCESS { Ok(()) } else { Err(code) }
}

/// Returns the data of `count` elements of a datatype at `address`, packed by MPI_Pack.
pub fn packed(address: *const u8, count: c_int, datatype: MPI_Datatype) -> Result<Vec<u8>, c_int> {
    let mut size = 0;
    let mut position = 0;
    // SAFETY: the caller's memory holds the elements; the list has the size that MPI asks for.
    unsafe {
        code(MPI_Pack_size(count, datatype, handles().comm_self, &mut size))?;
        let mut out = vec![0u8; size as usize];
        let to = out.as_mut_ptr().cast::<c_void>();
        code(MPI_Pack(address.cast(), count, datatype, to, size, &mut position, handles().comm_self))?;
        out.truncate(position as usize);
        Ok(out)
    }
}
