//! The laboratory: simulation of Tributary's schedules on other machines, the collectives of the papers, and checks of
//! the papers' claims.
//!
//! No code here moves a program's bytes, and neither the library nor the preload library depends on this crate.
//!
//! | module | holds |
//! |---|---|
//! | [`sim`] | the simulator: times of schedules on another machine |
//! | [`machines`] | its machine files |
//! | [`advice`] | the hints that a write would gain by |
//! | [`mpi`] | MPI's own collectives; both groups of an inter-communicator as one endpoint |
//! | [`collectives`] | the collective algorithms of the papers |
//! | [`forecast`] | kernels and whole collective writes as workloads of the simulator |
//! | [`runs`] | programs on the engine itself, in virtual time, on simulated machines |
//! | [`timing`] | times of the schedules of all ranks in the one-port model |
//! | [`mod@tune`] | measurement of what messages cost, until means are known |
//! | [`hsumma`] | SUMMA and hierarchical SUMMA, an application of the collectives |
//! | [`papers`] | the papers' claims, and their measurement |

pub mod advice;
pub mod collectives;
pub mod forecast;
pub mod hsumma;
pub mod machines;
pub mod mpi;
pub mod papers;
pub mod runs;
pub mod sim;
pub mod timing;
pub mod tune;
