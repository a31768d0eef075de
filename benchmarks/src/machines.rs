//! Machine files for the simulator: `benchmarks/machines/*.toml`, built in.

/// Name and text of every machine file.
pub static MACHINES: [(&str, &str); 10] = [
    ("cori-knl", include_str!("../machines/cori-knl.toml")),
    ("cori-haswell", include_str!("../machines/cori-haswell.toml")),
    ("summit", include_str!("../machines/summit.toml")),
    ("lassen", include_str!("../machines/lassen.toml")),
    ("quartz", include_str!("../machines/quartz.toml")),
    ("bluegene-p", include_str!("../machines/bluegene-p.toml")),
    ("grid5000-graphene", include_str!("../machines/grid5000-graphene.toml")),
    ("frontier", include_str!("../machines/frontier.toml")),
    ("perlmutter", include_str!("../machines/perlmutter.toml")),
    ("laptop", include_str!("../machines/laptop.toml")),
];
