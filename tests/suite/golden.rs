//! Golden texts: the schedules of small exchanges, operation by operation, so that a change of order is seen in a diff.
//! `TRIB_REGENERATE=1 cargo test --test suite golden` writes them anew.

use std::path::Path;

use tributary::exchange::two_layer::{Share, TwoLayer};
use tributary::exchange::{ASCENDING_ISSEND, Exchange, KERNELS, RankList, Transfer};
use tributary::schedule::{Buffer, Span, Throttle};

fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("TRIB_REGENERATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, golden, "{}", path.display());
}

/// Five ranks, receivers 0 and 3, everybody sends 10 bytes to each; batches and windows of two.
#[test]
fn flat_kernels() {
    let receivers = [0, 3];
    let at = |buffer, index: usize| Span::new(buffer, index as u64 * 10, 10);
    for kernel in KERNELS {
        let mut text = String::new();
        for throttle in [Throttle::batch(2), Throttle::window(2)] {
            text += &format!("{}, {throttle}\n", kernel.name);
            for rank in 0..5 {
                let sends: Vec<_> = (0..2).map(|peer| Transfer { peer, span: at(Buffer::Send, peer) }).collect();
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

/// Four ranks on two nodes, aggregators 0 and 2, local aggregators 0 and 2; everybody sends 10 bytes to each aggregator.
#[test]
fn two_layers() {
    let mut text = String::new();
    let shares = vec![Share { aggregator: 0, len: 10 }, Share { aggregator: 1, len: 10 }];
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
            tree: None,
            receives: if leads { &receives } else { &[] },
        };
        let schedule = two_layer.schedule(&ASCENDING_ISSEND, Throttle::NONE, Throttle::NONE);
        text += &format!("rank {rank}\n{}", schedule.dump());
    }
    check("two_layer.txt", &text);
}
