//! Level Zero, through its loader `libze_loader.so.1` (oneAPI Level Zero specification, "Core API", "Memory").
//!
//! Its memory is recognised but not copied: a copy needs a command list in the program's own context, which cannot be found
//! from an address.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use super::libraries::Symbols;
use super::{Copies, Runtime};

/// ZE_STRUCTURE_TYPE_CONTEXT_DESC, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES.
const CONTEXT_DESC: c_int = 0xd;
const MEMORY_ALLOCATION_PROPERTIES: c_int = 0x17;
/// ZE_MEMORY_TYPE_DEVICE.
const DEVICE: c_int = 2;

type Handle = *mut c_void;
type DriverGet = unsafe extern "C" fn(*mut u32, *mut Handle) -> c_int;
type ContextCreate = unsafe extern "C" fn(Handle, *const ContextDesc, *mut Handle) -> c_int;
type GetProperties = unsafe extern "C" fn(Handle, *const c_void, *mut Properties, *mut Handle) -> c_int;

#[repr(C)]
struct ContextDesc {
    stype: c_int,
    next: *const c_void,
    flags: u32,
}

#[repr(C)]
struct Properties {
    stype: c_int,
    next: *mut c_void,
    kind: c_int,
    id: u64,
    page_size: u64,
}

struct LevelZero {
    driver_get: DriverGet,
    context_create: ContextCreate,
    get_properties: GetProperties,
    /// The address of one context of each driver.
    contexts: OnceLock<Vec<usize>>,
}

pub fn find(symbols: &Symbols) -> Option<Box<dyn Runtime>> {
    // SAFETY: the functions' types in ze_api.h.
    unsafe {
        Some(Box::new(LevelZero {
            driver_get: symbols.get(c"zeDriverGet")?,
            context_create: symbols.get(c"zeContextCreate")?,
            get_properties: symbols.get(c"zeMemGetAllocProperties")?,
            contexts: OnceLock::new(),
        }))
    }
}

impl LevelZero {
    /// One context of each driver; a driver recognises its memory in any context. `None` before the program has initialised
    /// Level Zero; it has no memory then.
    fn contexts(&self) -> Option<&[usize]> {
        if let Some(contexts) = self.contexts.get() {
            return Some(contexts);
        }
        let mut count = 0;
        // SAFETY: with null, the call returns the number of drivers; the second call has room for that many.
        let drivers = unsafe {
            let code = (self.driver_get)(&mut count, null_mut());
            let mut drivers = vec![null_mut(); count as usize];
            if code != 0 || count == 0 || (self.driver_get)(&mut count, drivers.as_mut_ptr()) != 0 {
                return None;
            }
            drivers
        };
        let create = |driver: Handle| {
            let (desc, mut context) = (ContextDesc { stype: CONTEXT_DESC, next: null_mut(), flags: 0 }, null_mut());
            // SAFETY: a driver, a complete description, room for one handle.
            let code = unsafe { (self.context_create)(driver, &desc, &mut context) };
            (code == 0).then_some(context.expose_provenance())
        };
        Some(self.contexts.get_or_init(|| drivers.into_iter().filter_map(create).collect()))
    }
}

impl Runtime for LevelZero {
    fn name(&self) -> &'static str {
        "Level Zero"
    }

    fn has(&self, address: usize) -> bool {
        self.contexts().into_iter().flatten().any(|&context| {
            let next = null_mut();
            let mut found = Properties { stype: MEMORY_ALLOCATION_PROPERTIES, next, kind: 0, id: 0, page_size: 0 };
            let (context, address) =
                (std::ptr::with_exposed_provenance_mut(context), std::ptr::without_provenance(address));
            // SAFETY: a context that is never destroyed; the function accepts any address; a complete struct; null asks for
            // no device.
            let code = unsafe { (self.get_properties)(context, address, &mut found, null_mut()) };
            code == 0 && found.kind == DEVICE
        })
    }

    fn copies(&self) -> Option<&dyn Copies> {
        None
    }
}
