//! The constants of `mpi.h` for each ABI, and MPI statuses, whose size and field offsets depend on the ABI.

use std::ffi::{CStr, c_int};

use crate::find::{Abi, found};
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Info, MPI_Op, MPI_Request};
use crate::library::Library;
use crate::word::Word;

/// Defines constants by rows: our name, MPI's name, and the number in MPICH's ABI, Open MPI's ABI and the standard
/// ABI.
macro_rules! numbers {
    ($($field:ident $name:ident $mpich:literal $open_mpi:literal $standard:literal;)+) => {
        /// The constants of one ABI. The MPI standard defines their meanings.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Constants {
            $(#[doc = concat!("`", stringify!($name), "`.")] pub $field: c_int,)+
            pub(crate) status: StatusLayout,
        }

        static MPICH: Constants = Constants { $($field: $mpich,)+ status: StatusLayout { source: 2, size: 5 } };
        static OPEN_MPI: Constants = Constants { $($field: $open_mpi,)+ status: StatusLayout { source: 0, size: 6 } };
        static STANDARD: Constants = Constants { $($field: $standard,)+ status: StatusLayout { source: 0, size: 8 } };

        impl Constants {
            /// Returns all constants with their MPI names.
            pub fn by_name(&self) -> Vec<(&'static str, c_int)> {
                vec![$((stringify!($name), self.$field)),+]
            }
        }
    };
}

numbers! {
    any_source                  MPI_ANY_SOURCE                          -2         -1         -1;
    any_tag                     MPI_ANY_TAG                             -1         -1         -2;
    congruent                   MPI_CONGRUENT                            1          1        202;
    displacement_current        MPI_DISPLACEMENT_CURRENT         -54278278  -54278278         -1;
    ident                       MPI_IDENT                                0          0        201;
    in_place                    MPI_IN_PLACE                            -1          1          1;
    max_info_key                MPI_MAX_INFO_KEY                       255         36        256;
    max_info_value              MPI_MAX_INFO_VAL                      1024        256       1024;
    max_object_name             MPI_MAX_OBJECT_NAME                    128         64        128;
    proc_null                   MPI_PROC_NULL                           -1         -2         -3;
    seek_cur                    MPI_SEEK_CUR                           602        602        401;
    seek_end                    MPI_SEEK_END                           604        604        402;
    seek_set                    MPI_SEEK_SET                           600        600        403;
    status_ignore               MPI_STATUS_IGNORE                        1          0          0;
    tag_ub                      MPI_TAG_UB                      1681915905          0        501;
    thread_funneled             MPI_THREAD_FUNNELED                      1          1       1024;
    thread_multiple             MPI_THREAD_MULTIPLE                      3          3       4096;
    undefined                   MPI_UNDEFINED                       -32766     -32766     -32766;

    mode_append                 MPI_MODE_APPEND                        128        128          1;
    mode_create                 MPI_MODE_CREATE                          1          1          2;
    mode_delete_on_close        MPI_MODE_DELETE_ON_CLOSE                16         16          4;
    mode_excl                   MPI_MODE_EXCL                           64         64          8;
    mode_rdonly                 MPI_MODE_RDONLY                          2          2         16;
    mode_rdwr                   MPI_MODE_RDWR                            8          8         32;
    mode_sequential             MPI_MODE_SEQUENTIAL                    256        256         64;
    mode_unique_open            MPI_MODE_UNIQUE_OPEN                    32         32        128;
    mode_wronly                 MPI_MODE_WRONLY                          4          4        256;

    err_access                  MPI_ERR_ACCESS                          20         20         20;
    err_arg                     MPI_ERR_ARG                             12         13         13;
    err_bad_file                MPI_ERR_BAD_FILE                        22         23         23;
    err_count                   MPI_ERR_COUNT                            2          2          2;
    err_in_status               MPI_ERR_IN_STATUS                       17         18         19;
    err_info_value              MPI_ERR_INFO_VALUE                      30         33         33;
    err_io                      MPI_ERR_IO                              32         35         35;
    err_no_mem                  MPI_ERR_NO_MEM                          34         39         39;
    err_no_space                MPI_ERR_NO_SPACE                        36         41         41;
    err_no_such_file            MPI_ERR_NO_SUCH_FILE                    37         42         42;
    err_other                   MPI_ERR_OTHER                           15         16         16;
    err_quota                   MPI_ERR_QUOTA                           39         44         44;
    err_read_only               MPI_ERR_READ_ONLY                       40         45         45;
    err_type                    MPI_ERR_TYPE                             3          3          3;
    err_unsupported_operation   MPI_ERR_UNSUPPORTED_OPERATION           44         52         55;

    combiner_contiguous         MPI_COMBINER_CONTIGUOUS                  3          2        103;
    combiner_darray             MPI_COMBINER_DARRAY                     14         13        112;
    combiner_dup                MPI_COMBINER_DUP                         2          1        102;
    combiner_f90_complex        MPI_COMBINER_F90_COMPLEX                16         15        114;
    combiner_f90_integer        MPI_COMBINER_F90_INTEGER                17         16        115;
    combiner_f90_real           MPI_COMBINER_F90_REAL                   15         14        113;
    combiner_hindexed           MPI_COMBINER_HINDEXED                    9          8        107;
    combiner_hindexed_block     MPI_COMBINER_HINDEXED_BLOCK             19         18        109;
    combiner_hvector            MPI_COMBINER_HVECTOR                     6          5        105;
    combiner_indexed            MPI_COMBINER_INDEXED                     7          6        106;
    combiner_indexed_block      MPI_COMBINER_INDEXED_BLOCK              10          9        108;
    combiner_named              MPI_COMBINER_NAMED                       1          0        101;
    combiner_resized            MPI_COMBINER_RESIZED                    18         17        116;
    combiner_struct             MPI_COMBINER_STRUCT                     12         11        110;
    combiner_subarray           MPI_COMBINER_SUBARRAY                   13         12        111;
    combiner_vector             MPI_COMBINER_VECTOR                      4          3        104;

    distribute_block            MPI_DISTRIBUTE_BLOCK                   121          0         17;
    distribute_cyclic           MPI_DISTRIBUTE_CYCLIC                  122          1         18;
    distribute_default          MPI_DISTRIBUTE_DFLT_DARG            -49767         -1         19;
    distribute_none             MPI_DISTRIBUTE_NONE                    123          2         16;
    order_c                     MPI_ORDER_C                             56          0         12;
    order_fortran               MPI_ORDER_FORTRAN                       57          1         15;
}

impl Constants {
    /// Returns the constants of `abi`, such as MPI_SUCCESS.
    #[inline]
    pub fn for_abi(abi: Abi) -> &'static Self {
        match abi {
            Abi::Mpich => &MPICH,
            Abi::OpenMpi => &OPEN_MPI,
            Abi::Standard => &STANDARD,
        }
    }

    /// Returns the size of a status, and the offsets of MPI_SOURCE, MPI_TAG and MPI_ERROR in it, all in bytes.
    pub fn status_layout(&self) -> [usize; 4] {
        let StatusLayout { source, size } = self.status;
        [size, source, source + 1, source + 2].map(|integers| integers * size_of::<c_int>())
    }
}

/// Returns the constants of the process's MPI library. Without a library, returns the constants of MPICH's ABI, which
/// no function uses in that case.
#[inline]
pub fn constants() -> &'static Constants {
    found().map_or(&MPICH, |mpi| mpi.constants())
}

/// Defines predefined handles by rows: our name, the kind, MPI's name, and the value in MPICH's ABI, Open MPI's ABI
/// (the name of a variable) and the standard ABI.
macro_rules! predefined {
    ($($field:ident $kind:ident $name:ident $mpich:literal $open_mpi:literal $standard:literal;)+) => {
        /// The predefined handles of an MPI library, such as MPI_COMM_WORLD.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct PredefinedHandles {
            $(#[doc = concat!("`", stringify!($name), "`.")] pub $field: $kind,)+
        }

        static MPICH_HANDLES: PredefinedHandles = PredefinedHandles { $($field: $kind::from_constant($mpich)),+ };
        static STANDARD_HANDLES: PredefinedHandles = PredefinedHandles { $($field: $kind::from_constant($standard)),+ };

        impl PredefinedHandles {
            /// Finds the handles of a library. The error is the name of a handle that the library lacks.
            pub(crate) fn from_library(abi: Abi, library: &Library) -> Result<Self, &'static str> {
                let variable = |name: &'static CStr| {
                    let address = library.address(name).map(|address| address as Word);
                    address.ok_or(name.to_str().unwrap_or_default())
                };
                Ok(match abi {
                    Abi::Mpich => MPICH_HANDLES,
                    Abi::Standard => STANDARD_HANDLES,
                    Abi::OpenMpi => Self { $($field: $kind::from_constant(variable($open_mpi)?)),+ },
                })
            }

            /// Returns the handles that are numbers, with their MPI names. (Open MPI has none: its handles are
            /// addresses.)
            pub fn by_name(abi: Abi) -> Vec<(&'static str, Word)> {
                match abi {
                    Abi::Mpich => vec![$((stringify!($name), $mpich)),+],
                    Abi::Standard => vec![$((stringify!($name), $standard)),+],
                    Abi::OpenMpi => Vec::new(),
                }
            }
        }
    };
}

predefined! {
    comm_null       MPI_Comm        MPI_COMM_NULL       0x0400_0000  c"ompi_mpi_comm_null"      0x100;
    comm_self       MPI_Comm        MPI_COMM_SELF       0x4400_0001  c"ompi_mpi_comm_self"      0x102;
    comm_world      MPI_Comm        MPI_COMM_WORLD      0x4400_0000  c"ompi_mpi_comm_world"     0x101;
    byte            MPI_Datatype    MPI_BYTE            0x4c00_010d  c"ompi_mpi_byte"           0x247;
    datatype_null   MPI_Datatype    MPI_DATATYPE_NULL   0x0c00_0000  c"ompi_mpi_datatype_null"  0x200;
    int             MPI_Datatype    MPI_INT             0x4c00_0405  c"ompi_mpi_int"            0x209;
    short_int       MPI_Datatype    MPI_SHORT_INT       0x8c00_0003  c"ompi_mpi_short_int"      0x22c;
    uint64          MPI_Datatype    MPI_UINT64_T        0x4c00_083e  c"ompi_mpi_uint64_t"       0x259;
    uint8           MPI_Datatype    MPI_UINT8_T         0x4c00_013b  c"ompi_mpi_uint8_t"        0x241;
    errors_return   MPI_Errhandler  MPI_ERRORS_RETURN   0x5400_0001  c"ompi_mpi_errors_return"  0x143;
    file_null       MPI_File        MPI_FILE_NULL       0x0          c"ompi_mpi_file_null"      0x118;
    info_null       MPI_Info        MPI_INFO_NULL       0x1c00_0000  c"ompi_mpi_info_null"      0x130;
    band            MPI_Op          MPI_BAND            0x5800_0006  c"ompi_mpi_op_band"        0x28;
    max             MPI_Op          MPI_MAX             0x5800_0001  c"ompi_mpi_op_max"         0x23;
    min             MPI_Op          MPI_MIN             0x5800_0002  c"ompi_mpi_op_min"         0x22;
    sum             MPI_Op          MPI_SUM             0x5800_0003  c"ompi_mpi_op_sum"         0x21;
    request_null    MPI_Request     MPI_REQUEST_NULL    0x2c00_0000  c"ompi_request_null"       0x180;
}

/// Returns the predefined handles of the process's MPI library. Without a library, returns the handles of MPICH's
/// ABI, as [`constants`] does.
#[inline]
pub fn handles() -> &'static PredefinedHandles {
    found().map_or(&MPICH_HANDLES, |mpi| &mpi.handles)
}

/// Number of integers in the largest status, which is the status of the standard ABI.
const LARGEST: usize = 8;

/// A status of any MPI library. It has the size of the largest status; MPI fills its first part.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "MPI's name")]
pub struct MPI_Status([c_int; LARGEST]);

/// The offset of the public fields in a status, and the status's size, both in integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusLayout {
    pub(crate) source: usize,
    pub(crate) size: usize,
}

impl StatusLayout {
    /// Offset of MPI_ERROR from MPI_SOURCE, in integers. The fields follow one another in the order of MPI's text in
    /// every library.
    const ERROR: usize = 2;
}

impl MPI_Status {
    /// Returns a status of zeros, for MPI to fill.
    pub const fn zeroed() -> Self {
        Self([0; LARGEST])
    }

    /// Sets MPI_ERROR in status `index` of the program's array.
    ///
    /// # Safety
    /// `row` is the address of `index + 1` statuses or more, of the process's MPI library.
    pub unsafe fn set_error(row: *mut Self, index: usize, code: c_int) {
        let field = constants().status.source + StatusLayout::ERROR;
        // SAFETY: the caller's promise; the field lies within the status.
        unsafe { Self::nth(row, index).cast::<c_int>().add(field).write_unaligned(code) };
    }

    /// Returns the address of status `index` of the program's array.
    pub fn nth(row: *mut Self, index: usize) -> *mut Self {
        row.cast::<c_int>().wrapping_add(index * constants().status.size).cast()
    }

    /// Returns the field MPI_ERROR.
    pub fn error(&self) -> c_int {
        self.0[constants().status.source + StatusLayout::ERROR]
    }
}

/// An array of statuses, for MPI to fill.
#[derive(Debug, Default)]
pub struct Statuses(Vec<u64>);

impl Statuses {
    /// Resizes the array to `count` statuses, whose contents are undefined.
    pub fn resize(&mut self, count: usize) {
        let integers = (count * constants().status.size).div_ceil(2);
        if self.0.len() < integers {
            self.0.resize(integers, 0);
        }
    }

    /// Returns the address of the first status, for MPI to fill.
    pub fn as_mut_ptr(&mut self) -> *mut MPI_Status {
        self.0.as_mut_ptr().cast()
    }

    /// Returns a copy of status `index`.
    ///
    /// # Panics
    /// Panics if the index is out of range.
    pub fn get(&self, index: usize) -> MPI_Status {
        let size = constants().status.size;
        assert!((index + 1) * size <= 2 * self.0.len(), "status {index} is out of range");
        let mut status = MPI_Status::zeroed();
        let first = self.0.as_ptr().cast::<c_int>();
        // SAFETY: in range, as just checked; a status has `size` integers, at most as many as the largest.
        unsafe { std::ptr::copy_nonoverlapping(first.add(index * size), status.0.as_mut_ptr(), size) };
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_follow_one_another() {
        let size = constants().status.size;
        let mut all = Statuses::default();
        all.resize(3);
        for i in 0..3 * size {
            // SAFETY: there is room for three.
            unsafe { all.as_mut_ptr().cast::<c_int>().add(i).write(i as c_int) };
        }
        for index in 0..3 {
            let error = index * size + constants().status.source + 2;
            assert_eq!(all.get(index).error(), error as c_int, "of status {index}");
        }
    }
}
