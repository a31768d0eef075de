//! Finds and copies memory of HIP, through the library `libamdhip64.so` (HIP runtime API reference, "Unified
//! Addressing", "Memory Management").

use std::ffi::{c_int, c_uint, c_void};

use super::{Runtime, Symbols, check_code};

/// Value of HIP's HIP_POINTER_ATTRIBUTE_MEMORY_TYPE.
const MEMORY_TYPE: c_int = 2;
/// First version of HIP in which the memory types have CUDA's numbers.
const RENUMBERED: c_int = 60_000_000;
/// Values of HIP's hipMemcpyHostToDevice and hipMemcpyDeviceToHost.
const TO_DEVICE: c_int = 1;
const TO_HOST: c_int = 2;

struct Hip {
    get_attributes: unsafe extern "C" fn(c_uint, *mut c_int, *mut *mut c_void, *mut c_void) -> c_int,
    copy: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> c_int,
    /// Value of hipMemoryTypeDevice in the loaded version: 1 before HIP 6, 2 since (where 1 is host memory).
    device: c_uint,
}

pub fn find(symbols: &Symbols) -> Option<Box<dyn Runtime>> {
    type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;
    // SAFETY: the functions' types in hip_runtime_api.h, where hipDeviceptr_t is a pointer and enums are ints.
    unsafe {
        let get_version: GetVersion = symbols.get(c"hipRuntimeGetVersion")?;
        let mut version = 0;
        get_version(&mut version);
        Some(Box::new(Hip {
            get_attributes: symbols.get(c"hipDrvPointerGetAttributes")?,
            copy: symbols.get(c"hipMemcpy")?,
            device: if version >= RENUMBERED { 2 } else { 1 },
        }))
    }
}

impl Runtime for Hip {
    fn name(&self) -> &'static str {
        "HIP"
    }

    /// Returns true for memory of a device. The HIP function that is called returns type 0, and no error, for any
    /// other address. (An error would become the program's last error.)
    fn has(&self, address: usize) -> bool {
        let (mut kind, mut which) = (0 as c_uint, MEMORY_TYPE);
        let mut values = [(&raw mut kind).cast::<c_void>()];
        let address = std::ptr::without_provenance_mut(address);
        // SAFETY: one attribute, which is an unsigned int; the function accepts any address.
        let code = unsafe { (self.get_attributes)(1, &mut which, values.as_mut_ptr(), address) };
        code == 0 && kind == self.device
    }

    unsafe fn to_host(&self, from: usize, to: &mut [u8]) -> Result<(), String> {
        let from = std::ptr::without_provenance(from);
        // SAFETY: the caller's promise, and a slice.
        check_code("hipMemcpy", unsafe { (self.copy)(to.as_mut_ptr().cast(), from, to.len(), TO_HOST) })
    }

    unsafe fn to_device(&self, from: &[u8], to: usize) -> Result<(), String> {
        let to = std::ptr::without_provenance_mut(to);
        // SAFETY: the caller's promise, and a slice.
        check_code("hipMemcpy", unsafe { (self.copy)(to, from.as_ptr().cast(), from.len(), TO_DEVICE) })
    }
}
