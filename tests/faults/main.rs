//! Tests failures of storage, file systems, arguments and memory. All ranks get the same error and continue.

mod breaking;
mod data;
mod reading;
mod shared_memory;
mod stopping;
mod system;
