//! The tests of the laboratory: one program.

mod allgather_locality;
mod collective_costs;
mod collective_suite;
mod collectives;
mod costly_paths;
mod gather_hierarchies;
mod gather_world;
mod gatherv;
mod hierarchical;
mod hostile;
mod hsumma;
mod intergroup;
mod intergroup_costs;
mod layers;
mod log_gops;
mod machines;
mod one_port;
mod payload;
mod same_messages;
mod sim_all_to_many;
mod sim_closed_forms;
mod sim_collective_write;
mod sim_links;
mod sim_loggopsim;
mod sim_storage;
mod two_sides;
