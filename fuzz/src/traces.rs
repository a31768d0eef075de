//! Target: WRF's traces, compressed or not.

use tributary_benchmarks::wrf::Trace;

use crate::one_line;

pub fn check(bytes: &[u8]) {
    let Some(trace) = one_line(Trace::from_bytes("trace", bytes)) else { return };
    assert!(trace.ranks() > 0 && trace.rounds() > 0);
    let (mut messages, mut sent, mut largest) = (0, 0, 0);
    for round in 0..trace.rounds() {
        let mut received = 0;
        for rank in 0..trace.ranks() {
            let sends = trace.sends(round, rank);
            assert!(sends.iter().all(|send| send.peer < trace.ranks() && send.bytes > 0));
            assert!(sends.windows(2).all(|pair| pair[0].peer < pair[1].peer), "peers ascend");
            messages += sends.len() as u64;
            sent += sends.iter().map(|send| send.bytes).sum::<u64>();
            largest = sends.iter().map(|send| send.bytes).max().unwrap_or(0).max(largest);
            received += trace.receives(round, rank).len() as u64;
        }
        let all: u64 = (0..trace.ranks()).map(|rank| trace.sends(round, rank).len() as u64).sum();
        assert_eq!(received, all, "round {round}: every send has its receive");
    }
    assert_eq!((trace.messages(), trace.bytes(), trace.largest()), (messages, sent, largest));
    trace.fan_in();
    one_line(trace.folded(3));
    // Written and read again, it is the same.
    let written = trace.to_bytes().expect("numbers that came from such a file");
    let again = Trace::from_bytes("again", &written).expect("what was written");
    assert!(again.to_bytes().expect("as before") == written, "another trace");
    assert_eq!((again.messages(), again.bytes()), (messages, sent));
}

pub fn seeds() -> Vec<Vec<u8>> {
    let plain = include_bytes!("../../benchmarks/data/example_trace.dat").to_vec();
    vec![plain.clone(), gzip(&plain)]
}

/// Returns a gzip file that contains the bytes uncompressed: damage to the file is then damage to the trace, or to
/// its header.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = bytes.chunks(1 << 15).peekable();
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        file.push(u8::from(blocks.peek().is_none()));
        file.extend(len.to_le_bytes().into_iter().chain((!len).to_le_bytes()));
        file.extend_from_slice(block);
    }
    let step = |sum: u32| if sum & 1 == 1 { (sum >> 1) ^ 0xEDB8_8320 } else { sum >> 1 };
    let sum = !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)));
    file.extend(sum.to_le_bytes().into_iter().chain((bytes.len() as u32).to_le_bytes()));
    file
}
