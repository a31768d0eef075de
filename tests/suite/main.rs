//! The tests of the crate that run ranks as threads. One program, because linking takes longer than running.

#[path = "../common/collective_suite.rs"]
mod collective_suite;
#[path = "../common/counted.rs"]
mod counted;
#[path = "../common/f_case_matrix.rs"]
mod f_case_matrix;
#[path = "../common/gather_world.rs"]
mod gather_world;
#[path = "../common/interleaved.rs"]
mod interleaved;
#[path = "../common/islands.rs"]
mod islands;
#[path = "../common/one_port.rs"]
mod one_port;
#[path = "../common/pattern_matrix.rs"]
mod pattern_matrix;
#[path = "../common/payload.rs"]
mod payload;
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
#[path = "../common/two_sides.rs"]
mod two_sides;
#[path = "../common/watchdog.rs"]
mod watchdog;

mod allgather_locality;
mod auto_kernels;
mod capture;
mod collectives;
mod conformance;
mod f_case;
mod gatherv;
mod golden;
mod hierarchical;
mod independent;
mod intergroup;
mod kernels;
mod layers;
mod links;
mod machine_file;
mod memory_gaps;
mod moved_plans;
mod operations;
mod overlap;
mod patterns;
mod several_hosts;
mod shared_memory;
mod sieving;
mod sizes;
