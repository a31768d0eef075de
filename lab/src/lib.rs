//! The laboratory: what Tributary's schedules would take elsewhere, what its collectives take here, and what papers say.
//!
//! Nothing that moves a program's bytes is here, and nothing of this crate is in the library or in a library to preload.
//!
//! | module | holds |
//! |---|---|
//! | [`sim`] | the simulator: how long schedules take on a machine that is not here |
//! | [`machines`] | its machine files |
//! | [`advice`] | the hints that a write would gain by |
//! | [`forecast`] | kernels and whole collective writes as workloads of the simulator |
//! | [`timing`] | how long the schedules of all ranks take in the one-port model |
//! | [`mod@tune`] | collectives measured until their means are known |
//! | [`hsumma`] | SUMMA and hierarchical SUMMA: an application of the collectives, without a file |
//! | [`papers`] | the papers' results as claims, measured |

pub mod advice;
pub mod forecast;
pub mod hsumma;
pub mod machines;
pub mod papers;
pub mod sim;
pub mod timing;
pub mod tune;
