//! Tests the first long write of a file, which is two exchanges: the times of the first divide the second.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tributary::drivers::hostile::{Fault, Hostile};
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};
use tributary_testing::suite::value;
use tributary_testing::watchdog::Watchdog;

/// Number of ranks that have bytes. Odd ones have their pieces in descending order; rank 2 has gaps in its memory.
const WRITERS: u64 = 4;
/// Length of a piece in bytes: short, so that windows are copied together and written in one call.
const PIECE: u64 = 900;
/// Number of pieces of each of these ranks: more than 64 MiB for each of two aggregators.
const COUNT: u64 = 37_500;
/// An aggregator that has no bytes of its own.
const OTHER: usize = 4;

/// Returns the bytes of a piece at an offset in the file.
fn piece(offset: u64) -> &'static [u8] {
    static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| (0..8 * PIECE).map(value).collect());
    &BYTES[(offset / 100 % (7 * PIECE)) as usize..][..PIECE as usize]
}

/// A write of pieces, from each of which it is `pitch` bytes to the next in the file.
struct InTwo<'a> {
    path: &'a Path,
    /// Number of ranks. No other test has as many, so none begins with what another has learned.
    ranks: usize,
    hints: &'a str,
    pitch: u64,
}

/// What a rank's storage has written in the call, and the error of the call.
type Ended = (Vec<Range<u64>>, Option<String>);

impl InTwo<'_> {
    fn access(&self, rank: usize) -> (Extents, BufferLayout, Vec<u8>) {
        let number = |at: u64| if rank.is_multiple_of(2) { at } else { COUNT - 1 - at };
        let offset = |at: u64| (number(at) * WRITERS + rank as u64) * self.pitch;
        let count = if rank as u64 >= WRITERS { 0 } else { COUNT };
        let file = Extents::from_extents((0..count).map(|at| Extent { offset: offset(at), len: PIECE })).unwrap();
        let bytes: Vec<u8> = (0..count).flat_map(|at| piece(offset(at))).copied().collect();
        if rank != 2 {
            return (file, BufferLayout::Contiguous, bytes);
        }
        let apart = bytes.chunks(100).flat_map(|chunk| chunk.iter().copied().chain([0; 2])).collect();
        let memory = (0..file.bytes()).step_by(100).map(|at| (at / 100 * 102, 100.min(file.bytes() - at)));
        let memory = Extents::from_extents(memory.map(|(offset, len)| Extent { offset, len })).unwrap();
        (file, BufferLayout::Extents(memory), apart)
    }

    /// Returns the end of the last piece and a gap.
    fn end(&self) -> u64 {
        COUNT * WRITERS * self.pitch
    }

    /// Lets all ranks write once into a file of old bytes, which reach behind the end of the write. The storage of each rank
    /// has a fault. Checks every byte.
    fn run(&self, fault: impl Fn(usize) -> Fault + Sync) -> Vec<Ended> {
        let _watchdog = Watchdog::new("probe_then_divide", 300);
        let mut expected = vec![0xee; self.end() as usize + 100];
        std::fs::write(self.path, &expected).unwrap();
        let wanted = format!("cb_nodes=2; trib_placement=list:0,{OTHER}; trib_shared_memory=disable; {}", self.hints);
        let all = threads::run(self.ranks, |transport| {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank();
            let storage = Hostile::new(fault(rank));
            let hints = Hints::parse(&wanted).unwrap();
            let mut file = File::open_on(endpoint, self.path, Mode::Update, hints, Arc::new(storage.clone())).unwrap();
            let (extents, layout, bytes) = self.access(rank);
            let error = file.write_all(&extents, &layout, &bytes).err().map(|error| error.to_string());
            let written = storage.take().0;
            if error.is_some() {
                storage.set(Fault::None);
                file.write_all(&extents, &layout, &bytes).unwrap();
            }
            file.close().unwrap();
            (written, error)
        });
        for offset in (0..self.end()).step_by(self.pitch as usize) {
            expected[offset as usize..][..PIECE as usize].copy_from_slice(piece(offset));
        }
        let image = std::fs::read(self.path).unwrap();
        assert_eq!(image.len(), expected.len());
        let wrong = image.chunks(4096).zip(expected.chunks(4096)).position(|(found, wanted)| found != wanted);
        assert_eq!(wrong, None, "in units of 4096 bytes");
        all.unwrap()
    }
}

#[test]
fn the_first_part_divides_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("file");
    let part = |hints: &str| {
        let slow = |rank| Fault::Slow(Duration::from_millis(if rank == OTHER { 60 } else { 1 }));
        let ended = InTwo { path, ranks: 13, hints, pitch: PIECE }.run(slow);
        let bytes = |ended: &Ended| ended.0.iter().map(|range| range.end - range.start).sum::<u64>();
        bytes(&ended[OTHER]) as f64 / ended.iter().map(bytes).sum::<u64>() as f64
    };
    let whole = part("trib_aggregators_fixed=true");
    assert!(whole > 0.4, "the hint says that it is one part: {whole}");
    let probe_then_divide = part("");
    assert!(probe_then_divide < 0.3, "{probe_then_divide}");
}

#[test]
fn every_byte_is_right_beside_holes() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("file");
    for (ranks, hints) in [(14, "trib_overlap=rank_order"), (15, "romio_ds_write=enable")] {
        let ended = InTwo { path, ranks, hints, pitch: PIECE + 300 }.run(|_| Fault::Slow(Duration::from_micros(20)));
        assert!(ended.iter().all(|(_, error)| error.is_none()), "{ended:?}");
    }
}

#[test]
fn an_error_in_either_part_is_the_error_of_all_ranks() {
    let directory = tempfile::tempdir().unwrap();
    let path = &directory.path().join("file");
    for (ranks, part) in [(16, 0), (17, 2)] {
        let write = InTwo { path, ranks, hints: "", pitch: PIECE };
        let from = part * write.end() / 4;
        let ended = write.run(|_| Fault::Write(from, libc::ENOSPC));
        let errors: Vec<_> = ended.iter().map(|(_, error)| error.as_deref().unwrap_or("none")).collect();
        assert!(errors[0].contains("No space left on device"), "{errors:?}");
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        let behind = ended.iter().any(|(ranges, _)| ranges.iter().any(|range| range.end > write.end() / 4));
        assert_eq!(behind, part > 0, "after an error in the first part nothing of the second is written");
    }
}
