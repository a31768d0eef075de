//! Memory of GPUs: which addresses the processor may not touch, and how their bytes get to the host and back.
//!
//! Nothing is linked. A runtime is looked for among the libraries of the process, under its own names; where none is there,
//! no address is a device's. Programs load runtimes late, by `dlopen`, so they are looked for again whenever the dynamic
//! linker has loaded something more: it counts.
//!
//! | module | holds |
//! |---|---|
//! | `cuda`, `hip`, `level_zero` | one runtime each: **a new one is a file here, and a row of `KNOWN`** |
//! | `libraries` | what the process has loaded |

mod cuda;
mod hip;
mod level_zero;
mod libraries;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libraries::Symbols;

/// A GPU's runtime that the process has loaded.
pub(crate) trait Runtime: Send + Sync {
    /// What people call it.
    fn name(&self) -> &'static str;
    /// Whether the byte at `address` is of memory that it has and the processor may not touch.
    fn has(&self, address: usize) -> bool;
    /// How bytes are copied, where it is known how.
    fn copies(&self) -> Option<&dyn Copies>;
}

/// Copies by a runtime. An error is the function that failed and its code.
pub(crate) trait Copies {
    /// Device to host; returns when it is done.
    ///
    /// # Safety
    /// As many bytes at `from` are the runtime's, and valid.
    unsafe fn to_host(&self, from: usize, to: &mut [u8]) -> Result<(), String>;
    /// Host to device; returns when it is done.
    ///
    /// # Safety
    /// As many bytes at `to` are the runtime's, valid, and nobody else's.
    unsafe fn to_device(&self, from: &[u8], to: usize) -> Result<(), String>;
}

type Find = fn(&Symbols) -> Option<Box<dyn Runtime>>;

/// The runtimes that are known: what the name of the library's file begins with, and what makes one of its functions.
const KNOWN: [(&str, Find); 3] =
    [("libcuda.so", cuda::find), ("libamdhip64.so", hip::find), ("libze_loader.so", level_zero::find)];

/// Those that were found, which stay loaded.
static FOUND: [OnceLock<Box<dyn Runtime>>; KNOWN.len()] = [const { OnceLock::new() }; KNOWN.len()];
/// Whether there is one.
static ANY: AtomicBool = AtomicBool::new(false);
/// How many libraries the dynamic linker had ever loaded when they were looked at last.
static LOOKED_AT: AtomicU64 = AtomicU64::new(0);

/// Whether an address may be a device's: a GPU's runtime is loaded. About 200 instructions where nothing was loaded since it
/// was asked last.
#[inline]
pub(crate) fn may_be() -> bool {
    let loaded = libraries::ever_loaded();
    if loaded != LOOKED_AT.load(Ordering::Acquire) {
        look();
        LOOKED_AT.store(loaded, Ordering::Release);
    }
    ANY.load(Ordering::Acquire)
}

/// Two threads that look at once find the same.
#[cold]
fn look() {
    for ((library, find), found) in KNOWN.iter().zip(&FOUND) {
        if found.get().is_none()
            && let Some(runtime) = find(&Symbols::of(library))
        {
            found.get_or_init(|| runtime);
            ANY.store(true, Ordering::Release);
        }
    }
}

/// Whose an address is. What was said of one is taken for true of its surroundings, so that many small pieces of one array
/// cost one question.
#[derive(Default)]
pub(crate) struct Survey {
    asked: Option<(usize, Option<&'static dyn Runtime>)>,
}

impl Survey {
    /// Memory from this boundary to the next is of one kind: runtimes map their memory in larger units, the system too.
    const SURROUNDINGS: usize = 1 << 16;

    /// The runtime whose memory is at `address`; none for memory of the host.
    pub(crate) fn of(&mut self, address: usize) -> Option<&'static dyn Runtime> {
        let around = address / Self::SURROUNDINGS;
        match self.asked {
            Some((asked, whose)) if asked == around => whose,
            _ => {
                let whose = FOUND.iter().filter_map(|found| found.get()).find(|runtime| runtime.has(address));
                self.asked.insert((around, whose.map(|runtime| &**runtime))).1
            }
        }
    }
}
