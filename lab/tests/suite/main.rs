//! The tests of the laboratory: one program.

#[path = "../../../tests/common/collective_suite.rs"]
mod collective_suite;
#[path = "../common/costly_paths.rs"]
mod costly_paths;
#[path = "../../../tests/common/damage.rs"]
mod damage;
#[path = "../common/log_gops.rs"]
mod log_gops;
#[path = "../../../tests/common/payload.rs"]
mod payload;
#[path = "../../../tests/common/two_sides.rs"]
mod two_sides;

mod collective_costs;
mod gather_hierarchies;
mod hostile;
mod hsumma;
mod intergroup_costs;
mod machines;
mod sim_all_to_many;
mod sim_closed_forms;
mod sim_collective_write;
mod sim_links;
mod sim_loggopsim;
mod sim_storage;
