//! Calls functions of the MPI library by name, with handles of the library's width; and declares the functions that the libraries
//! call. A program declares others by [`mpi_functions!`].
//!
//! All names that this project looks up are in one section of the object files, so that a tool can list them exactly: a static
//! program has no dynamic linker that finds functions by name, and `bindings/mpiio/package/static-library` makes a table of them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::find::find;
use crate::{MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Errhandler, MPI_Info, MPI_Op, MPI_Request, MPI_Status};

/// Name of a function of MPI, such as `PMPI_Type_size`. [`function_name!`](crate::function_name) makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionName(&'static CStr);

impl FunctionName {
    /// Creates the name from its text with a terminating 0, which [`function_name!`](crate::function_name) has put into the
    /// section of names.
    #[doc(hidden)]
    pub const fn from_section(bytes: &'static [u8]) -> Self {
        match CStr::from_bytes_with_nul(bytes) {
            Ok(name) => Self(name),
            // Evaluated at compile time only: this is used in statics.
            Err(_) => panic!("the name has a 0 inside"),
        }
    }

    /// Returns the text of the name.
    pub const fn text(self) -> &'static CStr {
        self.0
    }
}

/// Joins the literals to one text and makes the [`FunctionName`] of this text.
#[macro_export]
macro_rules! function_name {
    ($($part:expr),+) => {{
        const TEXT: &str = concat!($($part,)+ "\0");
        #[used]
        #[unsafe(link_section = "tributary_names")]
        static BYTES: [u8; TEXT.len()] = match TEXT.as_bytes().first_chunk() {
            Some(bytes) => *bytes,
            // Evaluated at compile time only.
            None => panic!("a text has its own length"),
        };
        $crate::FunctionName::from_section(&BYTES)
    }};
}

/// An argument of an MPI function, for both widths of handles. Only handles differ between the widths.
#[doc(hidden)]
pub trait Argument: Copy {
    /// Type of the argument for libraries whose handles are integers.
    type Narrow;
    /// Type of the argument for libraries whose handles are pointers.
    type Wide;

    /// Converts the argument for a library with integer handles.
    fn narrow(self) -> Self::Narrow;
    /// Converts the argument for a library with pointer handles.
    fn wide(self) -> Self::Wide;
}

/// Implements [`Argument`] for types that are the same for both widths.
macro_rules! same {
    ($([$($generic:tt)*] $type:ty;)+) => {$(
        impl<$($generic)*> Argument for $type {
            type Narrow = Self;
            type Wide = Self;

            #[inline]
            fn narrow(self) -> Self {
                self
            }

            #[inline]
            fn wide(self) -> Self {
                self
            }
        }
    )+};
}

same! {
    [] c_int;
    [] i64;
    [T] *const T;
    [T] *mut T;
    [] GrequestQuery;
    [] GrequestFree;
    [] GrequestCancel;
    [] CommCopy;
    [] CommDelete;
    [] TypeCopy;
    [] TypeDelete;
}

/// Object whose address stands for a function that the library does not have.
static NOWHERE: u8 = 0;

/// A function of the MPI library, which is looked up at its first call.
#[doc(hidden)]
pub struct Function {
    name: FunctionName,
    address: AtomicPtr<c_void>,
}

impl Function {
    /// Creates the function with this name.
    pub const fn new(name: FunctionName) -> Self {
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Returns the function's address; None if the process has no MPI library, or if the library lacks the function.
    #[inline]
    pub fn address(&self) -> Option<*mut c_void> {
        // Acquire: a thread that sees the address also sees the library in which it was found.
        let address = self.address.load(Ordering::Acquire);
        if address.is_null() {
            return self.look_up();
        }
        (!std::ptr::eq(address.cast(), &NOWHERE)).then_some(address)
    }

    /// Looks up the function. Two threads that do so at once find the same address.
    #[cold]
    fn look_up(&self) -> Option<*mut c_void> {
        // Without a library the look-up is repeated: one may be loaded later.
        let address = find().ok()?.address(self.name.text());
        let nowhere = (&raw const NOWHERE).cast_mut().cast();
        self.address.store(address.unwrap_or(nowhere), Ordering::Release);
        address
    }
}

/// Declares functions of the MPI library by their C declarations. Each becomes an `unsafe fn` that returns MPI's code, or
/// [`MISSING`](crate::MISSING); its argument types implement `Argument`, as this crate's handles do.
#[macro_export]
macro_rules! mpi_functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?);)+) => {$(
        $(#[$attribute])*
        #[doc = concat!("`", stringify!($name), "` of the MPI library of the process.\n\n# Safety\nThe requirements of the MPI ",
        "standard: arguments of the declared types, and MPI initialised if the function needs it.")]
        #[allow(non_snake_case, reason = "MPI's names")]
        #[allow(clippy::too_many_arguments, reason = "MPI's functions")]
        #[inline]
        pub unsafe fn $name($($argument: $type),*) -> ::std::ffi::c_int {
            static FUNCTION: $crate::Function = $crate::Function::new($crate::function_name!("P", stringify!($name)));
            type Narrow = unsafe extern "C-unwind" fn($(<$type as $crate::Argument>::Narrow),*) -> ::std::ffi::c_int;
            type Wide = unsafe extern "C-unwind" fn($(<$type as $crate::Argument>::Wide),*) -> ::std::ffi::c_int;
            let Some(address) = FUNCTION.address() else { return $crate::MISSING };
            // SAFETY: the function of this name, with the ABI of its library; the caller's promises.
            unsafe {
                match $crate::Width::of_process() {
                    $crate::Width::Narrow => {
                        let function = ::std::mem::transmute::<*mut ::std::ffi::c_void, Narrow>(address);
                        function($($crate::Argument::narrow($argument)),*)
                    }
                    $crate::Width::Wide => {
                        let function = ::std::mem::transmute::<*mut ::std::ffi::c_void, Wide>(address);
                        function($($crate::Argument::wide($argument)),*)
                    }
                }
            }
        }
    )+};
}

/// Callback that fills the status of a generalised request.
pub type GrequestQuery = unsafe extern "C" fn(*mut c_void, *mut MPI_Status) -> c_int;
/// Callback that frees the state of a generalised request.
pub type GrequestFree = unsafe extern "C" fn(*mut c_void) -> c_int;
/// Callback that cancels a generalised request.
pub type GrequestCancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
/// Callback that copies an attribute of a communicator. The library may pass the handle with garbage in its upper half:
/// use [`MPI_Comm::as_given`].
pub type CommCopy = unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// Callback that deletes an attribute of a communicator. The library may pass the handle with garbage in its upper half.
pub type CommDelete = unsafe extern "C" fn(MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int;
/// Callback that copies an attribute of a datatype. The library may pass the handle with garbage in its upper half:
/// use [`MPI_Datatype::as_given`].
pub type TypeCopy =
    unsafe extern "C" fn(MPI_Datatype, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
/// Callback that deletes an attribute of a datatype. The library may pass the handle with garbage in its upper half.
pub type TypeDelete = unsafe extern "C" fn(MPI_Datatype, c_int, *mut c_void, *mut c_void) -> c_int;

// Initialisation, errors, threads, and properties of the library.
mpi_functions! {
    fn MPI_Abort(comm: MPI_Comm, code: c_int);
    fn MPI_Error_class(code: c_int, class: *mut c_int);
    fn MPI_Error_string(code: c_int, text: *mut c_char, length: *mut c_int);
    fn MPI_Finalize();
    fn MPI_Finalized(flag: *mut c_int);
    fn MPI_Get_library_version(text: *mut c_char, length: *mut c_int);
    fn MPI_Init_thread(count: *mut c_int, arguments: *mut *mut *mut c_char, wanted: c_int, granted: *mut c_int);
    fn MPI_Initialized(flag: *mut c_int);
    fn MPI_Is_thread_main(flag: *mut c_int);
    fn MPI_Query_thread(level: *mut c_int);
}

// Communicators.
mpi_functions! {
    fn MPI_Comm_compare(one: MPI_Comm, other: MPI_Comm, how: *mut c_int);
    fn MPI_Comm_create_keyval(copy: CommCopy, delete: CommDelete, key: *mut c_int, extra: *mut c_void);
    fn MPI_Comm_dup(comm: MPI_Comm, new: *mut MPI_Comm);
    fn MPI_Comm_free(comm: *mut MPI_Comm);
    fn MPI_Comm_get_attr(comm: MPI_Comm, key: c_int, value: *mut c_void, found: *mut c_int);
    fn MPI_Comm_get_errhandler(comm: MPI_Comm, handler: *mut MPI_Errhandler);
    fn MPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int);
    fn MPI_Comm_set_attr(comm: MPI_Comm, key: c_int, value: *mut c_void);
    fn MPI_Comm_set_errhandler(comm: MPI_Comm, handler: MPI_Errhandler);
    fn MPI_Comm_size(comm: MPI_Comm, size: *mut c_int);
    fn MPI_Comm_test_inter(comm: MPI_Comm, flag: *mut c_int);
    fn MPI_Errhandler_free(handler: *mut MPI_Errhandler);
}

// Messages.
mpi_functions! {
    fn MPI_Cancel(request: *mut MPI_Request);
    fn MPI_Get_count(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut c_int);
    fn MPI_Get_elements_c(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count);
    fn MPI_Get_elements_x(status: *const MPI_Status, datatype: MPI_Datatype, count: *mut MPI_Count);
    fn MPI_Iprobe(from: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, status: *mut MPI_Status);
    fn MPI_Irecv(
        buffer: *mut c_void, count: c_int, datatype: MPI_Datatype, from: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    );
    fn MPI_Isend(
        buffer: *const c_void, count: c_int, datatype: MPI_Datatype, to: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    );
    fn MPI_Issend(
        buffer: *const c_void, count: c_int, datatype: MPI_Datatype, to: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    );
    fn MPI_Request_free(request: *mut MPI_Request);
    fn MPI_Send_init(
        buffer: *const c_void, count: c_int, datatype: MPI_Datatype, to: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    );
    fn MPI_Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status);
    fn MPI_Testsome(
        count: c_int, requests: *mut MPI_Request, ended: *mut c_int, indices: *mut c_int, statuses: *mut MPI_Status,
    );
    fn MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status);
}

// Collective calls.
mpi_functions! {
    fn MPI_Iallreduce(
        from: *const c_void, to: *mut c_void, count: c_int, of: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: *mut MPI_Request,
    );
    fn MPI_Allreduce(
        from: *const c_void, to: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
    );
    fn MPI_Gather(
        from: *const c_void, count: c_int, of: MPI_Datatype, to: *mut c_void, each: c_int, into: MPI_Datatype,
        root: c_int, comm: MPI_Comm,
    );
    fn MPI_Gatherv(
        from: *const c_void, count: c_int, of: MPI_Datatype, to: *mut c_void, counts: *const c_int,
        places: *const c_int, into: MPI_Datatype, root: c_int, comm: MPI_Comm,
    );
    fn MPI_Reduce(
        from: *const c_void, to: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op, root: c_int,
        comm: MPI_Comm,
    );
}

// Hints.
mpi_functions! {
    fn MPI_Info_create(info: *mut MPI_Info);
    fn MPI_Info_delete(info: MPI_Info, key: *const c_char);
    fn MPI_Info_free(info: *mut MPI_Info);
    fn MPI_Info_get(info: MPI_Info, key: *const c_char, length: c_int, value: *mut c_char, found: *mut c_int);
    fn MPI_Info_get_nkeys(info: MPI_Info, count: *mut c_int);
    fn MPI_Info_get_nthkey(info: MPI_Info, index: c_int, key: *mut c_char);
    fn MPI_Info_set(info: MPI_Info, key: *const c_char, value: *const c_char);
}

// Requests and statuses of files.
mpi_functions! {
    fn MPI_Grequest_complete(request: MPI_Request);
    fn MPI_Grequest_start(
        query: GrequestQuery, free: GrequestFree, cancel: GrequestCancel, state: *mut c_void,
        request: *mut MPI_Request,
    );
    fn MPI_Status_set_cancelled(status: *mut MPI_Status, flag: c_int);
    fn MPI_Status_set_elements(status: *mut MPI_Status, datatype: MPI_Datatype, count: c_int);
    fn MPI_Status_set_elements_c(status: *mut MPI_Status, datatype: MPI_Datatype, count: MPI_Count);
    fn MPI_Status_set_elements_x(status: *mut MPI_Status, datatype: MPI_Datatype, count: MPI_Count);
}

// Datatypes.
mpi_functions! {
    fn MPI_Type_create_keyval(copy: TypeCopy, delete: TypeDelete, key: *mut c_int, extra: *mut c_void);
    fn MPI_Type_dup(datatype: MPI_Datatype, new: *mut MPI_Datatype);
    fn MPI_Type_free(datatype: *mut MPI_Datatype);
    fn MPI_Type_get_attr(datatype: MPI_Datatype, key: c_int, value: *mut c_void, found: *mut c_int);
    fn MPI_Type_get_contents(
        datatype: MPI_Datatype, most_integers: c_int, most_addresses: c_int, most_types: c_int,
        integers: *mut c_int, addresses: *mut MPI_Aint, types: *mut MPI_Datatype,
    );
    fn MPI_Type_get_contents_c(
        datatype: MPI_Datatype, most_integers: MPI_Count, most_addresses: MPI_Count, most_counts: MPI_Count,
        most_types: MPI_Count, integers: *mut c_int, addresses: *mut MPI_Aint, counts: *mut MPI_Count,
        types: *mut MPI_Datatype,
    );
    fn MPI_Type_get_envelope(
        datatype: MPI_Datatype, integers: *mut c_int, addresses: *mut c_int, types: *mut c_int, combiner: *mut c_int,
    );
    fn MPI_Type_get_envelope_c(
        datatype: MPI_Datatype, integers: *mut MPI_Count, addresses: *mut MPI_Count, counts: *mut MPI_Count,
        types: *mut MPI_Count, combiner: *mut c_int,
    );
    fn MPI_Type_get_extent_x(datatype: MPI_Datatype, lower: *mut MPI_Count, extent: *mut MPI_Count);
    fn MPI_Type_get_name(datatype: MPI_Datatype, name: *mut c_char, length: *mut c_int);
    fn MPI_Type_get_true_extent_x(datatype: MPI_Datatype, lower: *mut MPI_Count, extent: *mut MPI_Count);
    fn MPI_Type_set_attr(datatype: MPI_Datatype, key: c_int, value: *mut c_void);
    fn MPI_Type_size(datatype: MPI_Datatype, size: *mut c_int);
    fn MPI_Type_size_x(datatype: MPI_Datatype, size: *mut MPI_Count);
}
