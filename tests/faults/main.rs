//! Failures of storage, file systems, arguments and memory. All ranks get the same error and continue.

#[path = "../common/breaking.rs"]
mod breaking;
#[path = "../common/interleaved.rs"]
mod interleaved;
#[path = "../common/mounted.rs"]
mod mounted;
#[path = "../common/read_trial.rs"]
mod read_trial;
#[path = "../common/settings.rs"]
mod settings;
#[path = "../common/trial.rs"]
mod trial;
#[path = "../common/watchdog.rs"]
mod watchdog;

mod data;
mod reading;
mod shared_memory;
mod stopping;
mod system;
