//! Finds and copies memory of CUDA, through the functions of the driver `libcuda.so.1`, which every CUDA program
//! loads (CUDA Driver API reference, "Unified Addressing", "Memory Management", "Context Management").

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use super::{Runtime, Symbols, check_code};

/// Values of CUDA's CU_POINTER_ATTRIBUTE_CONTEXT, _MEMORY_TYPE and _IS_MANAGED.
const CONTEXT: c_int = 1;
const MEMORY_TYPE: c_int = 2;
const IS_MANAGED: c_int = 8;
/// Value of CUDA's CU_MEMORYTYPE_DEVICE.
const DEVICE: c_uint = 2;

struct Cuda {
    get_attribute: unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int,
    to_host: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int,
    to_device: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int,
    synchronize: unsafe extern "C" fn(*mut c_void) -> c_int,
    push: unsafe extern "C" fn(*mut c_void) -> c_int,
    pop: unsafe extern "C" fn(*mut *mut c_void) -> c_int,
}

pub fn find(symbols: &Symbols) -> Option<Box<dyn Runtime>> {
    // SAFETY: the functions' types in cuda.h, where CUdeviceptr is an unsigned integer of 64 bits, handles are pointers, and
    // enums ints.
    unsafe {
        Some(Box::new(Cuda {
            get_attribute: symbols.get(c"cuPointerGetAttribute")?,
            to_host: symbols.get(c"cuMemcpyDtoH_v2")?,
            to_device: symbols.get(c"cuMemcpyHtoD_v2")?,
            synchronize: symbols.get(c"cuStreamSynchronize")?,
            push: symbols.get(c"cuCtxPushCurrent_v2")?,
            pop: symbols.get(c"cuCtxPopCurrent_v2")?,
        }))
    }
}

impl Cuda {
    /// Returns an attribute of an address; `None` if the address is not CUDA's or CUDA is not initialised.
    ///
    /// # Safety
    /// The attribute has the C type that corresponds to `T`.
    unsafe fn attribute<T: Copy>(&self, which: c_int, address: usize, mut value: T) -> Option<T> {
        // SAFETY: the function accepts any address; `value` has the attribute's type (the caller's promise).
        let code = unsafe { (self.get_attribute)((&raw mut value).cast(), which, address as u64) };
        (code == 0).then_some(value)
    }

    /// Runs `copy` in the context of the memory at `address`, because this thread may have no context. Memory of a pool has no
    /// context and is copied in the thread's.
    fn within(&self, address: usize, copy: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        // SAFETY: a context is a pointer.
        let context: *mut c_void = unsafe { self.attribute(CONTEXT, address, null_mut()) }.unwrap_or(null_mut());
        // SAFETY: the context of allocated memory.
        let is_pushed = !context.is_null() && unsafe { (self.push)(context) } == 0;
        let copied = copy();
        if is_pushed {
            let mut popped = null_mut();
            // SAFETY: pops the context pushed above.
            unsafe { (self.pop)(&mut popped) };
        }
        copied
    }
}

impl Runtime for Cuda {
    fn name(&self) -> &'static str {
        "CUDA"
    }

    /// Returns true for memory of a device, but not for managed memory: the driver counts managed memory as the
    /// device's, but the processor may access it.
    fn has(&self, address: usize) -> bool {
        // SAFETY: both are unsigned ints (the second is written as one or, by older drivers, as its first byte).
        unsafe {
            self.attribute(MEMORY_TYPE, address, 0 as c_uint) == Some(DEVICE)
                && self.attribute(IS_MANAGED, address, 0 as c_uint).unwrap_or(0) == 0
        }
    }

    unsafe fn to_host(&self, from: usize, to: &mut [u8]) -> Result<(), String> {
        self.within(from, || {
            // SAFETY: the caller's promise, and a slice.
            check_code("cuMemcpyDtoH", unsafe { (self.to_host)(to.as_mut_ptr().cast(), from as u64, to.len()) })
        })
    }

    unsafe fn to_device(&self, from: &[u8], to: usize) -> Result<(), String> {
        self.within(to, || {
            // SAFETY: the caller's promise, and a slice.
            check_code("cuMemcpyHtoD", unsafe { (self.to_device)(to as u64, from.as_ptr().cast(), from.len()) })?;
            // A copy from memory that is not pinned may not have reached the device when the copy function returns.
            // SAFETY: a null pointer names the default stream, on which the copy runs.
            check_code("cuStreamSynchronize", unsafe { (self.synchronize)(null_mut()) })
        })
    }
}
