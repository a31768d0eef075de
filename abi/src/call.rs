//! Calls functions of the MPI library by name, with handles of the library's width.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::find::find;
use crate::name::FunctionName;

/// An argument of an MPI function, for both widths of handles. Only handles differ between the widths.
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
    [] crate::functions::GrequestQuery;
    [] crate::functions::GrequestFree;
    [] crate::functions::GrequestCancel;
    [] crate::functions::CommCopy;
    [] crate::functions::CommDelete;
    [] crate::functions::TypeCopy;
    [] crate::functions::TypeDelete;
}

/// Object whose address stands for a function that the library does not have.
static NOWHERE: u8 = 0;

/// A function of the MPI library, which is looked up at its first call.
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
        // Acquire: whoever sees the address also sees the library that it was found in.
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
/// [`MISSING`](crate::MISSING); its argument types are this crate's handles and what implements `Argument`.
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
