//! Handles memory of GPUs: finds out which addresses the processor may not access, and copies bytes to the host and
//! back.
//!
//! No GPU library is linked. A runtime is searched for by name among the libraries of the process; without one, no address is
//! a device's. Programs may load a runtime late, by `dlopen`, so the search is repeated whenever the dynamic linker has loaded
//! a library.
//!
//! | module | holds |
//! |---|---|
//! | `cuda`, `hip` | one runtime each: **a new one is a file here, and a row of `KNOWN`** |
//! | `libraries` | the libraries that the process has loaded |

mod cuda;
mod hip;
mod libraries;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::world::process::per_process;
use libraries::Symbols;

/// A GPU runtime that the process has loaded. An error of a copy names the function that failed and its code.
pub(crate) trait Runtime: Send + Sync {
    /// Returns the name of the runtime, for messages.
    fn name(&self) -> &'static str;
    /// Returns true if the byte at `address` is memory of this runtime that the processor may not access.
    fn has(&self, address: usize) -> bool;
    /// Copies from device to host; returns when the copy is complete.
    ///
    /// # Safety
    /// The `to.len()` bytes at `from` are valid memory of the runtime.
    unsafe fn to_host(&self, from: usize, to: &mut [u8]) -> Result<(), String>;
    /// Copies from host to device; returns when the copy is complete.
    ///
    /// # Safety
    /// The `from.len()` bytes at `to` are valid memory of the runtime, and nobody else accesses them.
    unsafe fn to_device(&self, from: &[u8], to: usize) -> Result<(), String>;
}

type Find = fn(&Symbols) -> Option<Box<dyn Runtime>>;

/// The known GPU runtimes: the beginning of the library's file name, and the function that finds it.
const KNOWN: [(&str, Find); 2] = [("libcuda.so", cuda::find), ("libamdhip64.so", hip::find)];

per_process! {
    /// GPU runtimes that were found; their libraries stay loaded.
    static FOUND: [OnceLock<Box<dyn Runtime>>; KNOWN.len()] = [const { OnceLock::new() }; KNOWN.len()];
    /// True if a GPU runtime was found.
    static ANY: AtomicBool = AtomicBool::new(false);
    /// The number of libraries that the dynamic linker had ever loaded at the last search.
    static LIBRARIES_SEEN: AtomicU64 = AtomicU64::new(0);
}

/// Returns true if a GPU runtime is loaded, so that an address may be a device's. About 200 instructions if no
/// library was loaded since the last call.
#[inline]
pub fn may_be() -> bool {
    let loaded = libraries::ever_loaded();
    if loaded != LIBRARIES_SEEN.load(Ordering::Acquire) {
        search();
        LIBRARIES_SEEN.store(loaded, Ordering::Release);
    }
    ANY.load(Ordering::Acquire)
}

/// Searches for runtimes. Two threads that search at the same time find the same.
#[cold]
fn search() {
    for ((library, find), found) in KNOWN.iter().zip(&FOUND) {
        if found.get().is_none()
            && let Some(runtime) = find(&Symbols::from_name(library))
        {
            found.get_or_init(|| runtime);
            ANY.store(true, Ordering::Release);
        }
    }
}

/// Finds the GPU runtime of an address. The answer for an address is reused for its surroundings, so that many small
/// pieces of one array cost one query.
#[derive(Default)]
pub(crate) struct Survey {
    last: Option<(usize, Option<&'static dyn Runtime>)>,
}

impl Survey {
    /// Number of bytes: memory between two multiples of it is of one kind, because runtimes and the system map memory
    /// in larger units.
    const SURROUNDINGS: usize = 1 << 16;

    /// Returns the runtime whose memory is at `address`; `None` for host memory.
    pub(crate) fn runtime_at(&mut self, address: usize) -> Option<&'static dyn Runtime> {
        let around = address / Self::SURROUNDINGS;
        match self.last {
            Some((last, runtime)) if last == around => runtime,
            _ => {
                let runtime = FOUND.iter().filter_map(|found| found.get()).find(|runtime| runtime.has(address));
                self.last.insert((around, runtime.map(|runtime| &**runtime))).1
            }
        }
    }
}
