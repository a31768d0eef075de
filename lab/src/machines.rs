//! Machine files for the simulator: `lab/machines/*.toml`, built in.

use crate::sim::Machine;
use tributary::Error;

/// Name and text of every machine file.
pub static MACHINES: [(&str, &str); 13] = [
    ("cori-knl", include_str!("../machines/cori-knl.toml")),
    ("cori-haswell", include_str!("../machines/cori-haswell.toml")),
    ("summit", include_str!("../machines/summit.toml")),
    ("lassen", include_str!("../machines/lassen.toml")),
    ("quartz", include_str!("../machines/quartz.toml")),
    ("bluegene-p", include_str!("../machines/bluegene-p.toml")),
    ("grid5000-graphene", include_str!("../machines/grid5000-graphene.toml")),
    ("jupiter", include_str!("../machines/jupiter.toml")),
    ("vsc-3", include_str!("../machines/vsc-3.toml")),
    ("frontier", include_str!("../machines/frontier.toml")),
    ("perlmutter", include_str!("../machines/perlmutter.toml")),
    ("hosts-lab", include_str!("../machines/hosts-lab.toml")),
    ("laptop", include_str!("../machines/laptop.toml")),
];

/// Returns the built-in machine called `name`.
///
/// # Errors
/// An unknown name; the error lists all names.
pub fn named(name: &str) -> Result<Machine, Error> {
    match MACHINES.iter().find(|(known, _)| *known == name) {
        Some((name, text)) => Machine::parse(name, text),
        None => Err(Error::argument("machine", name, MACHINES.map(|(name, _)| name).join("|"))),
    }
}
