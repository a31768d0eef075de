//! Sources of the C program that `trib-lab compare` builds with an MPI library's compiler wrapper (`programs/`).

use trib::compare::build::SourceFile;

macro_rules! sources {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../programs/", $name)))),*] };
}

/// Headers and sources of the C program that makes the access patterns through MPI-IO.
pub const PROGRAM: &[SourceFile] = sources![
    "compare.h",
    "program.c",
    "steps.c",
    "options.c",
    "plan.c",
    "patterns.c",
    "blocks.c",
    "lists.c",
    "netcdf.c",
    "payload.c",
    "usage.c",
    "record.c",
    "floor.c",
];
