//! How a function of the MPI library is called: by name, with handles as wide as the library has them.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::find::find;

/// An argument in both interfaces. Only handles differ.
pub trait Argument: Copy {
    /// As a library takes it whose handles are integers.
    type Narrow;
    /// As a library takes it whose handles are pointers.
    type Wide;

    /// The argument for the first.
    fn narrow(self) -> Self::Narrow;
    /// The argument for the second.
    fn wide(self) -> Self::Wide;
}

/// Arguments that are the same in both.
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
    [] crate::functions::GrequestQuery;
    [] crate::functions::GrequestFree;
    [] crate::functions::GrequestCancel;
    [] crate::functions::TypeCopy;
    [] crate::functions::TypeDelete;
}

/// In place of the address of a function that the library does not have.
static NOWHERE: u8 = 0;

/// A function of the MPI library, looked up when it is first called.
pub struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    /// A function by its name, with its terminator.
    pub const fn new(name: &'static str) -> Self {
        let name = match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => name,
            // For statics only, so this is an error of the compiler, not of a run.
            Err(_) => panic!("a name that does not end with its terminator"),
        };
        Self { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Where it is; none where the process has no MPI library, or one without this function.
    #[inline]
    pub fn address(&self) -> Option<*mut c_void> {
        // What was found is seen with the library that it was found in.
        let address = self.address.load(Ordering::Acquire);
        if address.is_null() {
            return self.look_up();
        }
        (!std::ptr::eq(address.cast(), &NOWHERE)).then_some(address)
    }

    /// Two threads that look it up at once find the same.
    #[cold]
    fn look_up(&self) -> Option<*mut c_void> {
        // Without a library it is asked again: one may be loaded later.
        let address = find().ok()?.address(self.name);
        let nowhere = (&raw const NOWHERE).cast_mut().cast();
        self.address.store(address.unwrap_or(nowhere), Ordering::Release);
        address
    }
}

/// Declares functions of the MPI library by their C declarations. Each becomes an `unsafe fn` that returns MPI's code, or
/// [`MISSING`](crate::MISSING); its argument types are this crate's handles and what implements `Argument`.
#[macro_export]
macro_rules! mpi_functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?);)+) => {$(
        $(#[$attribute])*
        #[doc = concat!("`", stringify!($name), "` of the MPI library of the process.\n\n# Safety\nWhat MPI's text says of ",
            "the function: arguments of the types that it declares, MPI initialised where it must be.")]
        #[allow(non_snake_case, reason = "MPI's names")]
        #[allow(clippy::too_many_arguments, reason = "MPI's functions")]
        #[inline]
        pub unsafe fn $name($($argument: $type),*) -> ::std::ffi::c_int {
            static FUNCTION: $crate::Function = $crate::Function::new(concat!("P", stringify!($name), "\0"));
            type Narrow = unsafe extern "C" fn($(<$type as $crate::Argument>::Narrow),*) -> ::std::ffi::c_int;
            type Wide = unsafe extern "C" fn($(<$type as $crate::Argument>::Wide),*) -> ::std::ffi::c_int;
            let Some(address) = FUNCTION.address() else { return $crate::MISSING };
            // SAFETY: the function of this name, in the interface of the library that it is of; the caller's promises.
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
