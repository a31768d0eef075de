//! Tests of ranks that have no memory for the messages of a round: every rank gets the same error, no rank waits for
//! ever or panics, and the next call works.

use crate::error::Error;
use crate::fabric::pool::REFUSED_FROM;
use crate::fabric::{Endpoint, threads};
use crate::{BufferLayout, Extents, File, Hints, Mode};

const RANKS: u64 = 4;
/// Hints for two aggregators and many windows; messages between ranks.
const FLAT: &str = "trib_shared_memory=disable;cb_nodes=2;cb_buffer_size=64KiB;romio_cb_write=enable;\
                    romio_cb_read=enable;trib_tiny_call=0";
const LAYERED: &str = "trib_ranks_per_node=2;nc_num_aggrs_per_node=1;trib_kernel=two_layer;cb_nodes=2;\
                       cb_buffer_size=64KiB;romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0";

/// The bytes of `rank` in `call`: pieces of `len` bytes, in turn with the pieces of other ranks; with an `overlap` each
/// piece reaches that far into the next rank's piece.
struct Access {
    file: Extents,
    memory: BufferLayout,
    bytes: Vec<u8>,
}

impl Access {
    fn new(rank: u64, len: u64, overlap: u64) -> Self {
        let pieces = (1 << 20) / len;
        let file = Extents::strided(rank * len, len + overlap, (RANKS * len) as i64, pieces).unwrap();
        // In memory, pieces of half the size, with gaps: no message is one piece.
        let half = (len + overlap) / 2;
        let memory = Extents::strided(0, half, half as i64 + 8, 2 * pieces).unwrap();
        let bytes = (0..(half + 8) * 2 * pieces).map(|at| (at * 7 + at / 251 + rank) as u8).collect();
        Self { file, memory: BufferLayout::Extents(memory), bytes }
    }
}

/// Runs a write and a read in which rank `poor` gets no memory for messages, and then both with memory. `due` says if
/// the first write, and the first read, must fail.
fn check(hints: &str, len: u64, overlap: u64, poor: u64, due: [bool; 2]) {
    let what = format!("pieces of {len}, overlap {overlap}, rank {poor}, {hints}");
    let directory = tempfile::tempdir().unwrap();
    let done = threads::run(RANKS as usize, |transport| {
        let rank = transport.rank() as u64;
        let endpoint = Endpoint::new(transport);
        let Access { file: extents, memory, bytes } = Access::new(rank, len, overlap);
        let path = directory.path().join("file");
        let mut file = File::open(endpoint, &path, Mode::Create, Hints::parse(hints).unwrap()).unwrap();
        let mut back = vec![0; bytes.len()];
        // After these calls, the windows have their memory.
        file.write_all(&extents, &memory, &bytes).unwrap();
        file.read_all(&extents, &memory, &mut back).unwrap();
        let is_poor = |is_poor| REFUSED_FROM.set(if is_poor && rank == poor { 1000 } else { usize::MAX });
        is_poor(true);
        let poor_calls =
            [file.write_all(&extents, &memory, &bytes).err(), file.read_all(&extents, &memory, &mut back).err()];
        is_poor(false);
        back.fill(0);
        assert!(!poor_calls.iter().flatten().any(|error| matches!(error, Error::Fabric { .. })), "{poor_calls:?}");
        file.write_all(&extents, &memory, &bytes).unwrap();
        file.read_all(&extents, &memory, &mut back).unwrap();
        if overlap == 0 {
            let BufferLayout::Extents(places) = &memory else { panic!("no layout") };
            places.iter().for_each(|at| {
                let range = at.offset as usize..(at.offset + at.len) as usize;
                assert!(back[range.clone()] == bytes[range], "rank {rank}: {what}");
            });
        }
        file.close().unwrap();
        poor_calls
    });
    for (rank, calls) in done.unwrap().into_iter().enumerate() {
        for (call, due) in calls.iter().zip(due) {
            let is_right = match call {
                Some(Error::NoMemory { rank, .. }) => due && *rank as u64 == poor,
                other => !due && other.is_none(),
            };
            assert!(is_right, "rank {rank}: {call:?}, {what}");
        }
    }
}

/// A rank that is no aggregator has no memory for what it sends. Windows are filled, or written from the messages.
#[test]
fn a_sender_has_no_memory() {
    for len in [100, 32 << 10] {
        check(FLAT, len, 0, 3, [true, false]);
    }
}

/// An aggregator has no memory for what it sends in a read, nor for copies of messages that overlap in a write.
#[test]
fn an_aggregator_has_no_memory_for_messages() {
    check(FLAT, 100, 0, 0, [true, true]);
    let one = FLAT.replace("cb_nodes=2", "cb_nodes=1");
    check(&one, 100, 0, 0, [false, true]);
    check(&one, 100, 50, 0, [true, true]);
    check(LAYERED, 100, 0, 0, [false, true]);
}
