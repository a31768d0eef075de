//! The tests that start ranks under `mpiexec`: each starts this program again, for that test only.

#[path = "../common/f_case_matrix.rs"]
mod f_case_matrix;
#[path = "../common/interleaved.rs"]
mod interleaved;
#[path = "../common/mounted.rs"]
mod mounted;
#[path = "../common/mpiexec.rs"]
mod mpiexec;
#[path = "../common/pattern_matrix.rs"]
mod pattern_matrix;
#[path = "../common/placed_suite.rs"]
mod placed_suite;
#[path = "../common/read_trial.rs"]
mod read_trial;
#[path = "../common/reading.rs"]
mod reading;
#[path = "../common/settings.rs"]
mod settings;
#[path = "../common/suite.rs"]
mod suite;
#[path = "../common/trial.rs"]
mod trial;

mod conformance;
mod f_case;
mod faults;
mod patterns;
mod transport;
