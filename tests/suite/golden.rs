//! Compares the schedules of small exchanges with golden texts, operation by operation, so that a change of order is
//! seen in a diff. `./generate` writes them anew.

use std::path::{Path, PathBuf};

use tributary::exchange::two_layer::{Share, TwoLayer};
use tributary::exchange::{ASCENDING_ISSEND, Exchange, KERNELS, RankList, ReceiverIndex, Transfer};
use tributary::hints::KernelHint;
use tributary::schedule::{Buffer, Span, Throttle};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn generates() -> bool {
    std::env::var_os("TRIB_REGENERATE").is_some()
}

fn check(name: &str, text: &str) {
    let path = directory().join(name);
    let golden = std::fs::read_to_string(&path);
    if generates() && !golden.as_ref().is_ok_and(|golden| golden == text) {
        return std::fs::write(&path, text).unwrap();
    }
    let golden = golden.unwrap_or_else(|error| panic!("tests/golden/{name}: {error}; ./generate makes it"));
    assert_eq!(text, golden, "tests/golden/{name} has another schedule; where that is meant, ./generate writes it");
}

/// There is one file for every kernel, one for two layers, and no others.
#[test]
fn every_golden_text_has_a_kernel() {
    let kernels: Vec<_> = KernelHint::all().map(|kernel| format!("{kernel}.txt")).collect();
    for file in std::fs::read_dir(directory()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if generates() && !kernels.contains(&name) {
            std::fs::remove_file(directory().join(&name)).unwrap();
            continue;
        }
        assert!(kernels.contains(&name), "tests/golden/{name} is of no kernel; ./generate removes it");
    }
}

/// Five ranks with receivers 0 and 3: all send 10 bytes to each; batches and sliding limits of two.
#[test]
fn flat_kernels() {
    let receivers = [0, 3];
    let at = |buffer, index: usize| Span::new(buffer, index as u64 * 10, 10);
    for kernel in KERNELS {
        let mut text = String::new();
        for throttle in [Throttle::batch(2), Throttle::sliding(2)] {
            text += &format!("{}, {throttle}\n", kernel.name);
            for rank in 0..5 {
                let sends: Vec<_> = (0..2)
                    .map(|index| Transfer { peer: ReceiverIndex(index), span: at(Buffer::Send, index) })
                    .collect();
                let receives: Vec<_> = (0..5).map(|peer| Transfer { peer, span: at(Buffer::Receive, peer) }).collect();
                let exchange = Exchange {
                    rank,
                    ranks: 5,
                    receivers: &receivers,
                    rank_list: &RankList::Identity,
                    sends: &sends,
                    receives: if receivers.contains(&rank) { &receives } else { &[] },
                };
                text += &format!("rank {rank}\n{}", exchange.schedule(kernel, throttle).dump());
            }
        }
        check(&format!("{}.txt", kernel.name), &text);
    }
}

/// Four ranks on two nodes, with aggregators 0 and 2 and local aggregators 0 and 2: every rank sends 10 bytes to each
/// aggregator.
#[test]
fn two_layers() {
    let mut text = String::new();
    let shares = [0, 1].map(|index| Share { aggregator: ReceiverIndex(index), len: 10 }).to_vec();
    for rank in 0..4 {
        let leads = rank % 2 == 0;
        let receive = |(index, peer)| Transfer { peer, span: Span::new(Buffer::Receive, index as u64 * 20, 20) };
        let receives: Vec<_> = [0, 2].into_iter().enumerate().map(receive).collect();
        let members = [(rank + 1, shares.clone())];
        let two_layer = TwoLayer {
            rank,
            ranks: 4,
            receivers: &[0, 2],
            rank_list: &RankList::Identity,
            local_aggregator: rank - rank % 2,
            own: &shares,
            members: if leads { &members } else { &[] },
            receives: if leads { &receives } else { &[] },
        };
        let schedule = two_layer.schedule(&ASCENDING_ISSEND, Throttle::NONE, Throttle::NONE);
        text += &format!("rank {rank}\n{}", schedule.dump());
    }
    check("two_layer.txt", &text);
}
