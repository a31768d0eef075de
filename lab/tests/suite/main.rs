//! The tests of the laboratory: one program.

#[path = "../common/collective_suite.rs"]
mod collective_suite;
#[path = "../common/costly_paths.rs"]
mod costly_paths;
#[path = "../../../tests/common/damage.rs"]
mod damage;
#[path = "../common/gather_world.rs"]
mod gather_world;
#[path = "../common/log_gops.rs"]
mod log_gops;
#[path = "../common/one_port.rs"]
mod one_port;
#[path = "../common/payload.rs"]
mod payload;
#[path = "../common/two_sides.rs"]
mod two_sides;
#[path = "../../../tests/common/watchdog.rs"]
mod watchdog;

mod allgather_locality;
mod collective_costs;
mod collectives;
mod gather_hierarchies;
mod gatherv;
mod hierarchical;
mod hostile;
mod hsumma;
mod intergroup;
mod intergroup_costs;
mod machines;
mod sim_all_to_many;
mod sim_closed_forms;
mod sim_collective_write;
mod sim_links;
mod sim_loggopsim;
mod sim_storage;
