//! The sources of the C programs that `trib compare` builds with an MPI library's compiler wrapper (`benchmarks/compare`).
//! They are compiled into this crate, so that every installed `trib` has them.

/// A file of C: its name and its text.
pub type Source = (&'static str, &'static str);

macro_rules! sources {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../compare/", $name)))),*] };
}

/// The access patterns through MPI-IO: headers and sources of one program.
pub const PROGRAM: &[Source] = sources![
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

/// The library that sums the time inside MPI's file functions.
pub const INSIDE: &[Source] = sources!["inside.c"];
