//! Values kept on datatypes: MPI's attributes (MPI 4.1, section 7.7.4), with a Rust value behind each.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tributary::Error;
use tributary_abi as ffi;

use super::super::{MPI_Datatype, SUCCESS, check};

/// Values of type `T` that are kept on datatypes. A value goes with its datatype; a duplicate of the datatype shares it.
pub struct Attribute<T> {
    key: OnceLock<Result<c_int, Error>>,
    /// Held from finding a value to having a reference to it, and while one is set.
    finding: Mutex<()>,
    of: PhantomData<fn() -> T>,
}

impl<T: Send + Sync + 'static> Attribute<T> {
    /// None yet.
    #[allow(clippy::new_without_default)] // for a static
    pub const fn new() -> Self {
        Self { key: OnceLock::new(), finding: Mutex::new(()), of: PhantomData }
    }

    /// The value that is kept on `datatype`.
    ///
    /// # Errors
    /// MPI refuses.
    pub fn get(&self, datatype: MPI_Datatype) -> Result<Option<Arc<T>>, Error> {
        let key = self.key()?;
        let _held = self.finding.lock().unwrap_or_else(PoisonError::into_inner);
        Self::find(datatype, key)
    }

    /// Keeps a value on `datatype`, unless another thread was faster; returns the one that is kept.
    ///
    /// # Errors
    /// MPI refuses; nothing is kept then.
    pub fn keep(&self, datatype: MPI_Datatype, value: Arc<T>) -> Result<Arc<T>, Error> {
        let key = self.key()?;
        let _held = self.finding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = Self::find(datatype, key)? {
            return Ok(kept);
        }
        let reference = Arc::into_raw(value.clone());
        // SAFETY: a datatype and a key of ours.
        let code = unsafe { ffi::MPI_Type_set_attr(datatype, key, reference.cast_mut().cast()) };
        if code != SUCCESS {
            // SAFETY: MPI did not take the reference.
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
        // SAFETY: `keep` put it there by Arc::into_raw, and MPI holds that reference as long as the attribute is there.
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

/// A duplicate of a datatype has the same bytes: it shares the value.
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
    // What unwinds must not reach MPI; a value whose drop panics is gone all the same.
    let _ = catch_unwind(AssertUnwindSafe(drop_it));
    SUCCESS
}
