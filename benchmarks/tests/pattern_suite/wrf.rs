//! Tests the WRF trace: a small one that is written here, what is refused, replays with every kernel, and the real
//! one if it is available.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use crate::common::at_hand;
use proptest::prelude::*;
use tributary::exchange::{BALANCED, KERNELS};
use tributary::fabric::threads;
use tributary::{Endpoint, Hints, Topology};
use tributary_benchmarks::wrf::{Replay, ReplayReport, ReplaySettings, Synthetic, Trace};

/// Numbers of bytes by (round, sender, receiver).
type Sends = BTreeMap<(usize, usize, usize), i32>;

/// Returns the numbers of a trace file, in 32 bits each.
fn numbers(ranks: usize, rounds: usize, sends: &Sends) -> Vec<i32> {
    let mut blocks = Vec::new();
    for rank in 0..ranks {
        let mut block = Vec::new();
        for sending in [true, false] {
            let of = |round: usize| -> Vec<(usize, i32)> {
                let mine = sends
                    .iter()
                    .filter(move |((r, from, to), _)| *r == round && rank == if sending { *from } else { *to });
                mine.map(|((_, from, to), bytes)| (if sending { *to } else { *from }, *bytes)).collect()
            };
            block.extend((0..rounds).map(|round| of(round).len() as i32));
            for round in 0..rounds {
                block.extend(of(round).iter().map(|(peer, _)| *peer as i32));
                block.extend(of(round).iter().map(|(_, bytes)| *bytes));
            }
        }
        blocks.push(block);
    }
    let lengths = blocks.iter().map(|block| block.len() as i32);
    let header = [ranks as i32, rounds as i32].into_iter().chain(lengths);
    header.collect::<Vec<_>>().into_iter().chain(blocks.into_iter().flatten()).collect()
}

fn file(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn open(ranks: usize, rounds: usize, sends: &Sends) -> Trace {
    Trace::from_bytes("t", &file(&numbers(ranks, rounds, sends))).unwrap()
}

/// Returns sends of every rank to every third rank, with sizes from one byte on, a rank's message to itself included,
/// and some gaps.
fn some(ranks: usize, rounds: usize) -> Sends {
    let mut sends = Sends::new();
    for round in 0..rounds {
        for from in 0..ranks {
            for to in (round % 3..ranks).step_by(3) {
                let dice = round * 31 + from * 7 + to * 3;
                if dice % 4 != 0 {
                    sends.insert((round, from, to), [1, 7, 8, 9, 100, 4096, 70_001][dice % 7]);
                }
            }
        }
    }
    sends
}

fn replay(trace: Trace, settings: impl Fn() -> ReplaySettings + Sync) -> ReplayReport {
    let replay = Replay::new(Arc::new(trace));
    let ranks = replay.trace().ranks();
    let all = threads::run(ranks, |transport| replay.run(&mut Endpoint::new(transport), &settings()).unwrap());
    let all = all.unwrap();
    assert!(all.iter().all(|report| *report == all[0]), "the same on every rank");
    all[0].clone()
}

#[test]
fn a_trace_is_what_was_written() {
    let sends = some(7, 5);
    let trace = open(7, 5, &sends);
    assert_eq!((trace.ranks(), trace.rounds(), trace.messages()), (7, 5, sends.len() as u64));
    assert_eq!(trace.bytes(), sends.values().map(|&bytes| bytes as u64).sum::<u64>());
    assert_eq!(trace.largest(), 70_001);
    let mut fan_in = Vec::new();
    for round in 0..5 {
        for rank in 0..7 {
            let sent: Vec<_> = trace.sends(round, rank).iter().map(|t| (t.peer, t.bytes)).collect();
            let expected = sends.iter().filter(|((r, from, _), _)| (*r, *from) == (round, rank));
            assert_eq!(sent, expected.map(|((_, _, to), bytes)| (*to, *bytes as u64)).collect::<Vec<_>>());
            for receive in trace.receives(round, rank) {
                assert_eq!(sends[&(round, receive.peer, rank)] as u64, receive.bytes);
            }
            fan_in.extend(Some(trace.receives(round, rank).len() as u32).filter(|&count| count > 0));
            assert_eq!(trace.receivers(round).contains(&rank), !trace.receives(round, rank).is_empty());
        }
    }
    fan_in.sort_unstable();
    let stated = trace.fan_in();
    let expected = (fan_in[0], fan_in[(fan_in.len() - 1) / 2], fan_in[fan_in.len() - 1]);
    assert_eq!((stated.min, stated.median, stated.max), expected);
    assert!(trace.sends(5, 0).is_empty() && trace.receives(0, 7).is_empty() && trace.receivers(5).is_empty());
}

#[test]
fn folding_keeps_the_bytes_of_every_round() {
    let trace = open(7, 5, &some(7, 5));
    for ranks in [1, 2, 3, 6, 7, 9] {
        let folded = trace.folded(ranks).unwrap();
        assert_eq!((folded.ranks(), folded.rounds(), folded.bytes()), (ranks, 5, trace.bytes()));
        // Rank 0 takes the first ceil(7 / ranks) ranks, by the rule of shares.
        let members = 7usize.div_ceil(ranks);
        for round in 0..5 {
            let sum = |t: &Trace, ranks: usize| -> u64 {
                (0..ranks).flat_map(|rank| t.sends(round, rank)).map(|transfer| transfer.bytes).sum()
            };
            assert_eq!(sum(&folded, ranks), sum(&trace, 7), "{ranks} ranks, round {round}");
            assert_eq!(sum(&folded, 1), sum(&trace, members), "{ranks} ranks, round {round}: rank 0");
        }
    }
    assert_eq!(trace.folded(1).unwrap().messages(), 5, "one message a round, of the rank to itself");
    assert!(trace.folded(0).unwrap_err().to_string().contains("ranks: 0; allowed: 1 or more"));
}

#[test]
fn every_kernel_delivers_every_byte() {
    let trace = || open(9, 6, &some(9, 6));
    let (bytes, messages) = (trace().bytes(), trace().messages());
    let own = some(9, 6).iter().filter(|((_, from, to), _)| from == to).map(|(_, &bytes)| bytes as u64).sum::<u64>();
    let check = |what: &str, report: &ReplayReport| {
        assert_eq!((report.bytes_sent, report.bytes_received), (bytes, bytes), "{what}");
        assert_eq!((report.messages, report.rounds, report.ranks), (messages, 6, 9), "{what}");
    };
    for kernel in KERNELS {
        let report = replay(trace(), || ReplaySettings::flat(kernel));
        check(kernel.name, &report);
        assert_eq!(report.fabric_bytes, bytes - own, "{}: a rank's own bytes stay", kernel.name);
    }
    let topology = Topology::blocks(9, 4).unwrap();
    for text in [
        "trib_kernel_data=balanced;trib_throttle_data=2;trib_rank_list=node_round_robin",
        "trib_kernel_data=two_layer;nc_num_aggrs_per_node=1",
        "trib_kernel_data=two_layer;nc_num_aggrs_per_node=2;trib_two_layer_outer=ascending_isend",
        "trib_kernel_data=two_layer;nc_num_aggrs_per_node=4;trib_throttle_data=1",
    ] {
        let hints = Hints::parse(text).unwrap();
        check(text, &replay(trace(), || ReplaySettings::from_hints(&hints, &topology).unwrap()));
    }
}

#[test]
fn two_layers_take_fewer_messages_between_more_ranks() {
    // Everybody sends to everybody: p (p - 1) messages, or m - 1 inside each of n nodes and n - 1 to each of p.
    let all = (0..12).flat_map(|from| (0..12).map(move |to| ((0, from, to), 100))).collect();
    let hints = Hints::parse("trib_kernel_data=two_layer;nc_num_aggrs_per_node=1").unwrap();
    let topology = Topology::blocks(12, 4).unwrap();
    let layered = replay(open(12, 1, &all), || ReplaySettings::from_hints(&hints, &topology).unwrap());
    let flat = replay(open(12, 1, &all), || ReplaySettings::flat(KERNELS[0]));
    assert_eq!((flat.fabric_messages, layered.fabric_messages), (12 * 11, 9 + 3 * 11));
}

#[test]
fn a_replay_on_other_ranks_is_refused_before_anything_is_sent() {
    let replay = Replay::new(Arc::new(open(3, 2, &some(3, 2))));
    let said =
        threads::run(2, |transport| replay.run(&mut Endpoint::new(transport), &ReplaySettings::flat(KERNELS[0])));
    for outcome in said.unwrap() {
        assert_eq!(outcome.unwrap_err().to_string(), "ranks: 2; allowed: 3, as the trace t has; or fold it");
    }
}

fn error(bytes: &[u8]) -> String {
    let line = Trace::from_bytes("t", bytes).expect_err("accepted").to_string();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

#[test]
fn a_truncated_trace_is_one_clear_line() {
    let good = file(&numbers(4, 3, &some(4, 3)));
    assert!(Trace::from_bytes("t", &good).is_ok());
    for len in 0..good.len() {
        let line = error(&good[..len]);
        assert!(line.starts_with("t: ") && line.contains("truncated"), "cut to {len}: {line}");
    }
    assert!(error(&[&good[..], &[0; 4]].concat()).starts_with("t: end: 4 bytes behind the last block"));
    let packed = gzip(&good);
    assert_eq!(Trace::from_bytes("t", &packed).unwrap().messages(), some(4, 3).len() as u64);
    for len in [3, 10, packed.len() / 2, packed.len() - 1] {
        assert!(error(&packed[..len]).starts_with("t: gzip data: cannot be unpacked: "), "cut to {len}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn damaged_numbers_are_named() {
    // Two ranks, one round: rank 0 sends 50 bytes to rank 1. Blocks of 4: [1, 1, 50, 0] and [0, 1, 0, 50].
    let good = numbers(2, 1, &[((0, 0, 1), 50)].into());
    assert_eq!(good, [2, 1, 4, 4, 1, 1, 50, 0, 0, 1, 0, 50]);
    let cases: &[(usize, i32, &str)] = &[
        (0, 0, "t: header: ranks is 0; allowed: 1 to"),
        (0, -2, "t: header: ranks is -2; allowed: 1 to"),
        (0, i32::MAX, "t: header: has 2147483647 block lengths, and 10 numbers are left: truncated"),
        (1, 0, "t: header: rounds is 0; allowed"),
        (1, i32::MAX, "t: block of rank 0: has 2147483647 numbers of sends, and 4 numbers are left"),
        (2, -1, "t: block of rank 0: length is -1; allowed: 0 to"),
        (2, 5, "t: block of rank 0: has 1 numbers behind its last round"),
        (3, 9, "t: block of rank 1: has 9 numbers, and 4 numbers are left: truncated"),
        (4, -1, "t: block of rank 0: number of sends in round 0 is -1; allowed: 0 to 2"),
        (4, 2, "t: block of rank 0: has 2 sends of round 0, and 1 numbers are left"),
        (5, 2, "t: block of rank 0: peer among the sends of round 0 is 2; allowed: 0 to 1"),
        (5, -1, "t: block of rank 0: peer among the sends of round 0 is -1; allowed: 0 to 1"),
        (6, -50, "t: block of rank 0: size among the sends of round 0 is -50; allowed: 0 to"),
        (6, 49, "t: round 0: rank 0 sends 49 bytes to rank 1, which expects 50"),
        (6, 0, "t: round 0: rank 1 expects 50 bytes from rank 0, which sends none"),
        (11, 0, "t: round 0: rank 0 sends 50 bytes to rank 1, which expects none"),
        (5, 0, "t: round 0: rank 0 sends 50 bytes to rank 0, which expects none"),
        (10, 1, "t: round 0: rank 1 expects 50 bytes from rank 1, which sends none"),
    ];
    for &(at, value, expected) in cases {
        let mut bad = good.clone();
        bad[at] = value;
        let line = error(&file(&bad));
        assert!(line.starts_with(expected), "{line}\nexpected {expected}");
    }
    let twice = [2, 1, 6, 2, 2, 1, 1, 5, 6, 0, 0, 0];
    assert!(error(&file(&twice)).starts_with("t: block of rank 0: names rank 1 twice among the sends of round 0"));
    assert!(Trace::open(std::path::Path::new("none.dat")).unwrap_err().to_string().contains("none.dat: open failed"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn flipped_bytes_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5)
    ) {
        let mut bytes = file(&numbers(3, 2, &some(3, 2)));
        for (index, value) in flips {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        if let Err(error) = Trace::from_bytes("t", &bytes) {
            prop_assert_eq!(error.to_string().lines().count(), 1, "{}", error);
        }
    }
}

/// Number of bytes of the real trace: 129,074.16 MiB. (In units of 10^6 bytes it would be 135,344.07.)
const BYTES: u64 = 135_344_065_136;

#[test]
fn the_real_trace_has_the_published_bytes() {
    let Some(path) = at_hand("TRIB_WRF_TRACE", "wrf/trace_1024p_253n.dat.gz") else { return };
    let trace = Trace::open(&path).unwrap();
    assert_eq!((trace.ranks(), trace.rounds(), trace.messages()), (1024, 253, 1_389_840));
    assert_eq!(trace.bytes(), BYTES);
    assert_eq!(format!("{:.2}", trace.bytes() as f64 / (1 << 20) as f64), "129074.16");
    let fan_in = trace.fan_in();
    assert_eq!((fan_in.min, fan_in.median, fan_in.max), (32, 160, 192));
    // cb_nodes is 32; the last round is shorter.
    let receivers: Vec<_> = (0..253).map(|round| trace.receivers(round).len()).collect();
    assert!(receivers[..252].iter().all(|&count| count == 32) && receivers[252] == 23);
    let folded = trace.folded(8).unwrap();
    let messages = folded.messages();
    let report = replay(folded, || ReplaySettings::flat(&BALANCED));
    assert_eq!((report.bytes_sent, report.bytes_received, report.messages), (BYTES, BYTES, messages));
    println!("on 8 threads: {report:?}");
}

#[test]
fn the_real_trace_at_its_full_size() {
    let Some(path) = at_hand("TRIB_WRF_TRACE", "wrf/trace_1024p_253n.dat.gz") else { return };
    let replay = Replay::new(Arc::new(Trace::open(&path).unwrap()));
    let topology = Topology::blocks(1024, 128).unwrap();
    // All flat kernels do it in 1.5 to 9 s; two_layer, which copies every byte three times, in a minute.
    for kernel in ["ascending_isend", "balanced"] {
        let hints = Hints::parse(&format!("trib_kernel_data={kernel}")).unwrap();
        let settings = ReplaySettings::from_hints(&hints, &topology).unwrap();
        let all = threads::run(1024, |transport| replay.run(&mut Endpoint::new(transport), &settings).unwrap());
        let report = all.unwrap().swap_remove(0);
        assert_eq!((report.bytes_sent, report.bytes_received, report.messages), (BYTES, BYTES, 1_389_840), "{kernel}");
        println!("{kernel}: {report:?}");
    }
}

#[test]
fn a_trace_is_written_as_it_was_read() {
    let bytes = file(&numbers(7, 4, &some(7, 4)));
    assert_eq!(Trace::from_bytes("t", &bytes).unwrap().to_bytes().unwrap(), bytes);
    let large = Sends::from([((0, 0, 1), i32::MAX), ((0, 1, 2), i32::MAX)]);
    let folded = open(4, 1, &Sends::from([((0, 0, 2), i32::MAX), ((0, 1, 3), i32::MAX)])).folded(2).unwrap();
    let error = folded.to_bytes().unwrap_err().to_string();
    assert!(error.contains("4294967294; allowed"), "{error}");
    assert!(open(3, 1, &large).to_bytes().is_ok());
}

/// Computes for every element its owner and the aggregator whose window contains it.
#[test]
fn the_synthetic_trace_sends_every_element_once() {
    for synthetic in [
        Synthetic::default(),
        Synthetic { points: [7, 5, 3], ranks: [3, 2], aggregators: 5, rounds: 4 },
        Synthetic { points: [2, 1, 1], ranks: [2, 2], aggregators: 1, rounds: 9 },
    ] {
        let Synthetic { points: [x, y, z], ranks: [across, down], aggregators, rounds } = synthetic;
        let part = |at: usize, length: usize, parts: usize| {
            (0..parts).rfind(|part| part * (length / parts) + (*part).min(length % parts) <= at).unwrap()
        };
        let domain = (x * y * z).div_ceil(aggregators);
        let mut sends = Sends::new();
        for element in 0..x * y * z {
            let from = part(element / x % y, y, down) * across + part(element % x, x, across);
            let to = element / domain * across * down / aggregators;
            *sends.entry((element % domain / domain.div_ceil(rounds), from, to)).or_default() += 4;
        }
        let expected = file(&numbers(across * down, rounds, &sends));
        assert_eq!(synthetic.trace().unwrap().to_bytes().unwrap(), expected, "{synthetic:?}");
    }
    for wrong in [
        Synthetic { rounds: 0, ..Synthetic::default() },
        Synthetic { aggregators: 33, ..Synthetic::default() },
        Synthetic { ranks: [0, 4], ..Synthetic::default() },
    ] {
        assert!(wrong.trace().is_err(), "{wrong:?}");
    }
}

#[test]
fn the_shipped_trace_is_the_synthetic_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/example_trace.dat");
    let written = Synthetic::default().trace().unwrap().to_bytes().unwrap();
    let how = "cargo run -p tributary-benchmarks --example write_trace -- benchmarks/data/example_trace.dat";
    assert!(std::fs::read(path).unwrap() == written, "{path} is stale; regenerate with: {how}");
}
