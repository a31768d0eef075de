//! Rust values attached to datatypes, by MPI's attributes (MPI 4.1, section 7.7.4).

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock};

use tributary::Error;
use tributary_abi as ffi;
use tributary_bindings::guard::lock;

use crate::mpi::abi::{MPI_Datatype, SUCCESS, check};

/// Values of type `T` attached to datatypes. A value is dropped with its datatype; a duplicate of the datatype shares it.
pub struct DatatypeAttribute<T> {
    key: OnceLock<Result<c_int, Error>>,
    /// Lock that is held while a value is looked up and cloned, and while a value is set.
    finding: Mutex<()>,
    of: PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> DatatypeAttribute<T> {
    /// Creates an attribute that no datatype has yet.
    #[allow(clippy::new_without_default)] // for a static
    pub const fn new() -> Self {
        Self { key: OnceLock::new(), finding: Mutex::new(()), of: PhantomData }
    }

    /// Returns the value attached to `datatype`.
    ///
    /// # Errors
    /// MPI refuses to create the key or to look up the value.
    pub fn get(&self, datatype: MPI_Datatype) -> Result<Option<Arc<T>>, Error> {
        let key = self.key()?;
        let _held = lock(&self.finding);
        Self::find(datatype, key)
    }

    /// Attaches a value to `datatype`, unless another thread has done so first; returns the attached one.
    ///
    /// # Errors
    /// MPI refuses; nothing is attached then.
    pub fn keep(&self, datatype: MPI_Datatype, value: Arc<T>) -> Result<Arc<T>, Error> {
        let key = self.key()?;
        let _held = lock(&self.finding);
        if let Some(kept) = Self::find(datatype, key)? {
            return Ok(kept);
        }
        let reference = Arc::into_raw(value.clone());
        // SAFETY: a datatype and a key of ours.
        let code = unsafe { ffi::MPI_Type_set_attr(datatype, key, reference.cast_mut().cast()) };
        if code != SUCCESS {
            // SAFETY: MPI has not accepted the reference.
            drop(unsafe { Arc::from_raw(reference) });
        }
        check("MPI_Type_set_attr", code).map(|()| value)
    }

    fn find(datatype: MPI_Datatype, key: c_int) -> Result<Option<Arc<T>>, Error> {
        let (mut value, mut found) = (std::ptr::null_mut::<c_void>(), 0);
        // SAFETY: a datatype and a key of ours; MPI writes the value and whether there is one.
        let code = unsafe { ffi::MPI_Type_get_attr(datatype, key, (&raw mut value).cast(), &mut found) };
        check("MPI_Type_get_attr", code)?;
        if found == 0 || value.is_null() {
            return Ok(None);
        }
        // SAFETY: `keep` stored it with Arc::into_raw, and MPI holds that reference as long as the attribute exists.
        Ok(Some(unsafe {
            Arc::increment_strong_count(value.cast::<T>());
            Arc::from_raw(value.cast::<T>())
        }))
    }

    fn key(&self) -> Result<c_int, Error> {
        let made = self.key.get_or_init(|| {
            let mut key = 0;
            let nothing = std::ptr::null_mut();
            // SAFETY: callbacks of the types that MPI asks for.
            let code = unsafe { ffi::MPI_Type_create_keyval(copy::<T>, delete::<T>, &mut key, nothing) };
            check("MPI_Type_create_keyval", code).map(|()| key)
        });
        made.clone()
    }
}

/// Callback of MPI_Type_dup: the duplicate shares the value, because it has the same bytes.
unsafe extern "C" fn copy<T>(
    _datatype: MPI_Datatype,
    _key: c_int,
    _extra: *mut c_void,
    value: *mut c_void,
    duplicate: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: a reference that MPI holds, and one more for the duplicate; MPI's places for the answer.
    unsafe {
        Arc::increment_strong_count(value.cast::<T>());
        duplicate.cast::<*mut c_void>().write(value);
        flag.write(1);
    }
    SUCCESS
}

unsafe extern "C" fn delete<T>(_datatype: MPI_Datatype, _key: c_int, value: *mut c_void, _extra: *mut c_void) -> c_int {
    // SAFETY: a reference that was given to MPI, which gives it back once.
    let drop_it = || drop(unsafe { Arc::from_raw(value.cast::<T>()) });
    // A panic must not unwind into MPI. A value whose drop panics is gone all the same.
    let _ = catch_unwind(AssertUnwindSafe(drop_it));
    SUCCESS
}
