//! The tests of the crate that run ranks as threads. One program, because linking takes longer than running.

#[path = "../common/counted.rs"]
mod counted;
#[path = "../common/f_case_matrix.rs"]
mod f_case_matrix;
#[path = "../common/interleaved.rs"]
mod interleaved;
#[path = "../common/islands.rs"]
mod islands;
#[path = "../common/pattern_matrix.rs"]
mod pattern_matrix;
#[path = "../common/periodic.rs"]
mod periodic;
#[path = "../common/placed_suite.rs"]
mod placed_suite;
#[path = "../common/reading.rs"]
mod reading;
#[path = "../common/settings.rs"]
mod settings;
#[path = "../common/suite.rs"]
mod suite;
#[path = "../common/watchdog.rs"]
mod watchdog;

mod auto_kernels;
mod capture;
mod conformance;
mod f_case;
mod golden;
mod independent;
mod kernels;
mod layers;
mod links;
mod machine_file;
mod memory_gaps;
mod moved_plans;
mod operations;
mod overlap;
mod pages;
mod patterns;
mod several_hosts;
mod shared_memory;
mod sieving;
mod sizes;
