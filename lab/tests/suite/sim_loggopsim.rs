//! Compares the simulator with numbers that LogGOPSim gave (revision 76451de, its default figures) for schedules
//! exported with `trib-lab sim all-to-many --ranks P --ranks-per-node 4 --receivers R --kernel K --throttle 4 --message
//! 100..100 --goal K.bin`: `LogGOPSim -f K.bin --batchmode`, with `-S 1` for kernels of synchronous sends. The text
//! form, made binary by LogGOPSim's txt2bin, gave the same.

use crate::log_gops::{NS, log_gops};
use tributary::Topology;
use tributary::hints::KernelHint;
use tributary::schedule::Throttle;
use tributary_lab::forecast::{AllToMany, AllToManyKernel, AllToManyOptions};
use tributary_lab::sim::run;

/// LogGOPSim's results: kernel, ranks, receivers, the end of the last rank in nanoseconds.
const THEIRS: [(&str, usize, usize, f64); 30] = [
    ("ascending_isend", 16, 2, 35_410.0),
    ("ascending_issend", 16, 2, 35_410.0),
    ("spread_out", 16, 2, 35_410.0),
    ("balanced", 16, 2, 35_410.0),
    ("pairwise", 16, 2, 39_410.0),
    ("two_layer", 16, 2, 28_564.0),
    ("ascending_isend", 32, 4, 72_108.0),
    ("ascending_issend", 32, 4, 72_108.0),
    ("spread_out", 32, 4, 69_608.0),
    ("balanced", 32, 4, 69_608.0),
    ("pairwise", 32, 4, 80_914.0),
    ("two_layer", 32, 4, 55_328.0),
    ("ascending_isend", 64, 8, 153_680.0),
    ("ascending_issend", 64, 8, 275_038.0),
    ("spread_out", 64, 8, 142_804.0),
    ("balanced", 64, 8, 142_804.0),
    ("pairwise", 64, 8, 163_922.0),
    ("two_layer", 64, 8, 161_690.0),
    ("ascending_isend", 256, 16, 576_668.0),
    ("ascending_issend", 256, 16, 2_127_258.0),
    ("spread_out", 256, 16, 557_228.0),
    ("balanced", 256, 16, 557_228.0),
    ("pairwise", 256, 16, 597_970.0),
    ("two_layer", 256, 16, 973_272.0),
    ("ascending_isend", 100, 7, 227_470.0),
    ("ascending_issend", 100, 7, 423_024.0),
    ("spread_out", 100, 7, 221_094.0),
    ("balanced", 100, 7, 223_188.0),
    ("pairwise", 100, 7, 263_870.0),
    ("two_layer", 100, 7, 221_188.0),
];

/// Maximum relative difference between the two simulators. Simultaneous arrivals are served in another order, and
/// LogGOPSim frees a synchronous sender at the match, while here the acknowledgement takes a latency.
const SHARE: f64 = 0.085;
const LATENCY: f64 = 2500.0;

#[test]
fn schedules_take_as_long_as_in_loggopsim() {
    for (kernel, ranks, receivers, theirs) in THEIRS {
        let topology = Topology::blocks(ranks, 4).unwrap();
        let way = match kernel.parse().unwrap() {
            KernelHint::Flat(kernel) => AllToManyKernel::Flat(kernel),
            KernelHint::TwoLayer => AllToManyKernel::TwoLayer(1),
            KernelHint::Auto => panic!("auto is no kernel"),
        };
        let throttle = Some(Throttle::batch(4));
        let options = AllToManyOptions { topology, receivers, way, throttle, iterations: 1, bytes: (100, 100) };
        // LogGOPSim knows no nodes.
        let apart = Topology::blocks(ranks, 1).unwrap();
        let outcome = run(&log_gops(), &apart, &AllToMany::new(options).unwrap(), 0, |_| ()).unwrap();
        let ours = outcome.ranks.iter().map(|spent| spent.total).max().unwrap() as f64 / NS;
        let allowed = SHARE * theirs + LATENCY;
        assert!((ours - theirs).abs() <= allowed, "{kernel}, {ranks} to {receivers}: {ours} ns, LogGOPSim {theirs} ns");
    }
}
