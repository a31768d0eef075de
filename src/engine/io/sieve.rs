//! Data sieving: writes or reads a window run by run (a run is a contiguous range of bytes with data), or several runs
//! together with the holes between them.
//!
//! A window in an aggregator's memory and a window that ranks share are written by the same code: see [`Segment`].

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use tributary_base::wire;

use crate::drivers::FileSystem;
use crate::engine::choose::{FEW_RUNS, PARTS_READ, WORTH_ASKING, WORTH_LEAVING};
use crate::engine::io::call_cost::{CallCost, Measure};
use crate::engine::io::present::Present;
use crate::engine::io::{Moved, Storage, StorageFailure, calls, read_all, write_all};
use crate::error::FileOperation;
use crate::fabric::pool::Block;
use crate::hints::Switch;

/// Facts that can be known about the bytes of a file without reading them. A later value includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownBytes {
    /// Nothing: a host may not see at once what other hosts have written, or the file system is unknown.
    Nothing,
    /// The end of the file.
    End,
    /// The parts of the file that were written ([`Storage::next_data`]).
    Data,
}

wire::fields!(enum KnownBytes { 0 Nothing, 1 End, 2 Data, });

impl KnownBytes {
    /// Returns the facts that are known on a file system.
    pub fn on(found: Option<FileSystem>) -> Self {
        match found {
            Some(found) if found.knows_data() => Self::Data,
            Some(found) if found.knows_size() => Self::End,
            _ => Self::Nothing,
        }
    }
}

/// Ranges of the file that may have data, ascending.
type DataRanges = SmallVec<[Range<u64>; PARTS_READ]>;

/// Decides what to do about gaps between runs of bytes, by the hint `romio_ds_write` or `romio_ds_read` and by the cost
/// of a call.
#[derive(Debug, Clone)]
pub struct Sieve {
    switch: Switch,
    /// Cost of a call on the file.
    cost: Arc<CallCost>,
    /// Gaps longer than this number of bytes are never moved.
    widest: u64,
    known: KnownBytes,
    /// End of the file when the call began: no byte from here on had data. `u64::MAX` if the end is unknown, or if the file
    /// has none (a device).
    end: u64,
}

impl Sieve {
    /// Returns the sieve for a file on which calls cost `cost`.
    pub fn new(switch: Switch, cost: Arc<CallCost>) -> Self {
        Self { switch, cost, widest: u64::MAX, known: KnownBytes::Nothing, end: u64::MAX }
    }

    /// Returns the sieve of a write. Unless `is_sole` is true, others may write the file meanwhile: bytes that they
    /// write in a gap must not be overwritten, so the write has only the runs. `known` is what can be known of the
    /// gaps without reading them.
    pub fn of_write(switch: Switch, cost: Arc<CallCost>, is_sole: bool, known: KnownBytes) -> Self {
        Self { known, ..Self::new(if is_sole { switch } else { Switch::Disable }, cost) }
    }

    /// Returns this sieve, which now leaves out gaps of `gap` bytes or more: others may write there.
    pub fn within(self, gap: u64) -> Self {
        Self { widest: self.widest.min(gap - 1), ..self }
    }

    /// Returns this sieve for a file whose last byte lies before `end`, which is called only if the sieve needs it. Call
    /// this after all ranks have arrived in the call.
    pub fn with_end(self, end: impl FnOnce() -> u64) -> Self {
        let is_needed = self.switch != Switch::Disable && self.known >= KnownBytes::End;
        Self { end: if is_needed { end() } else { u64::MAX }, ..self }
    }

    /// Returns the maximum gap within a group in bytes. A read reads such a gap too, because that costs less than
    /// another call.
    pub fn bridge(&self) -> u64 {
        let bridge = match self.switch {
            Switch::Enable => u64::MAX,
            Switch::Disable => 0,
            Switch::Automatic => self.cost.bytes(),
        };
        bridge.min(self.widest)
    }

    /// Begins to measure calls on the file.
    pub fn measure(&self) -> Measure<'_> {
        self.cost.measure()
    }

    /// Returns true if a group is written as a whole, after `read` bytes in its gaps have been read in `parts` calls;
    /// otherwise it is written run by run. Reading these bytes and writing the gaps pays if it costs less than a call for
    /// each run.
    fn writes_whole(&self, group: &RunGroup, read: u64, parts: u64) -> bool {
        match self.switch {
            Switch::Enable => group.runs > 1,
            Switch::Disable => false,
            // Each gap costs less than a call.
            Switch::Automatic if parts == 0 => true,
            Switch::Automatic => {
                let call = self.cost.bytes();
                let (by_runs, few) = (group.runs.saturating_mul(call), FEW_RUNS * self.cost.least());
                by_runs > few && read + group.gap_bytes() + (parts + 1).saturating_mul(call) <= by_runs
            }
        }
    }

    /// Returns true if the runs of a group are buffered one by one. A group whose holes are filled must be in the file
    /// when the call ends, because others may write into the holes then; runs need not.
    fn leaves_runs(&self, group: &RunGroup, storage: &dyn Storage) -> bool {
        let call = self.cost.bytes();
        let whole = (group.range.end - group.range.start).saturating_add(call);
        let by_runs = group.covered.saturating_add(group.runs.saturating_mul(call));
        let is_cheap = by_runs <= whole.saturating_mul(WORTH_LEAVING);
        self.switch == Switch::Automatic && is_cheap && calls::writes_later(storage, group.covered)
    }

    /// Returns true if the answer that no byte of `gaps` has data would save enough. A file without an end is not asked:
    /// it may be a device whose answer means nothing.
    fn is_worth_asking(&self, group: &RunGroup, gaps: &Range<u64>) -> bool {
        let (read, call) = (gaps.end - gaps.start, self.cost.bytes());
        let calls = |bytes: u64| bytes / call;
        let saved = match self.writes_whole(group, read, 1) {
            true => calls(read),
            // Saves a call for each run; costs the question and one write with the gaps.
            false => group.runs.saturating_sub(2 + calls(group.gap_bytes())),
        };
        self.known == KnownBytes::Data && self.end < u64::MAX && saved >= WORTH_ASKING
    }

    /// Returns the parts of a group's gaps that may have data. `gaps` are the offsets in the file between which all gaps
    /// lie.
    fn data(&self, storage: &dyn Storage, group: &RunGroup, gaps: Range<u64>) -> DataRanges {
        let mut found = DataRanges::new();
        let mut rest = gaps.start..gaps.end.min(self.end);
        while rest.start < rest.end {
            let asks = found.len() < PARTS_READ && self.is_worth_asking(group, &rest);
            let start = if asks { calls::next_data(storage, rest.start).max(rest.start) } else { rest.start };
            match found.last_mut() {
                _ if start >= rest.end => break,
                // Data follows the last part directly: take the rest as data, too.
                Some(last) if last.end == start => {
                    last.end = rest.end;
                    break;
                }
                _ if !asks => {
                    found.push(rest);
                    break;
                }
                _ => {
                    rest.start = rest.end.min(start.saturating_add(WORTH_ASKING.saturating_mul(self.cost.bytes())));
                    found.push(start..rest.start);
                }
            }
        }
        found
    }

    /// Returns true if a group is written run by run after this failure: the file may only be written, so its gaps
    /// cannot be read.
    fn tolerates_unreadable(&self, failure: &StorageFailure) -> bool {
        self.switch == Switch::Automatic && failure.cause.raw_os_error() == Some(libc::EBADF)
    }
}

/// Runs of bytes that are present and lie close together.
struct RunGroup {
    /// Number of runs.
    runs: u64,
    /// Number of bytes of the runs.
    covered: u64,
    /// Positions from the first run to the end of the last, with the gaps.
    range: Range<u64>,
    /// Positions from the end of the first run to the start of the last: all gaps lie there.
    gaps: Range<u64>,
}

impl RunGroup {
    /// Takes the next runs with gaps of at most `bridge` bytes.
    fn take(runs: &mut std::iter::Peekable<impl Iterator<Item = Range<u64>>>, bridge: u64) -> Option<Self> {
        let range = runs.next()?;
        let mut group = Self { runs: 1, covered: range.end - range.start, gaps: range.end..range.end, range };
        while let Some(run) = runs.next_if(|run| run.start - group.range.end <= bridge) {
            group.runs += 1;
            group.covered += run.end - run.start;
            group.gaps.end = run.start;
            group.range.end = run.end;
        }
        Some(group)
    }

    /// Returns the number of bytes in all gaps between the runs.
    fn gap_bytes(&self) -> u64 {
        self.range.end - self.range.start - self.covered
    }
}

/// A part of a window that is contiguous in the file and in memory, and the map of its bytes that are present.
pub struct Segment<'a, P: ?Sized> {
    /// Offset of the part in the file, in bytes.
    pub offset: u64,
    /// Memory of the part.
    pub bytes: &'a mut [u8],
    /// The map of the bytes that are present.
    pub present: &'a P,
    /// Position of the first byte of the part in the map.
    pub first: u64,
}

impl<P: Present + ?Sized> Segment<'_, P> {
    /// Writes the bytes that are present. Holes are rewritten only with the bytes that were there before: zeros, or
    /// bytes that are read first. No hole after the last byte that is present is written, so the file does not grow by
    /// holes. Adds the number of present bytes that were written to `written`, also after a failure.
    pub fn write(&mut self, storage: &dyn Storage, sieve: &Sieve, written: &mut Moved) -> Result<(), StorageFailure> {
        let present = self.present;
        let mut runs = present.runs(self.positions()).peekable();
        let mut measure = sieve.measure();
        while let Some(group) = RunGroup::take(&mut runs, sieve.bridge()) {
            if group.runs == 1 || !sieve.leaves_runs(&group, storage) && self.fill_holes(storage, &group, sieve)? {
                if group.runs > 1 {
                    // Gaps may have been read.
                    measure.restart();
                }
                let mut all = Moved::default();
                let outcome = match group.runs {
                    1 => self.write_range(storage, &group.range, &mut all),
                    _ => self.rewrite(storage, &group.range, &mut all),
                };
                written.bytes += if outcome.is_ok() { group.covered } else { all.bytes.min(group.covered) };
                written.calls += all.calls;
                outcome?;
                measure.add(all);
                continue;
            }
            for run in present.runs(group.range) {
                let mut all = Moved::default();
                let outcome = self.write_range(storage, &run, &mut all);
                written.add_all(all);
                outcome?;
                measure.add(all);
            }
        }
        Ok(())
    }

    /// Writes a range with holes that were filled. No part of it is written after the call: others may write into the holes
    /// then.
    fn rewrite(&self, storage: &dyn Storage, range: &Range<u64>, written: &mut Moved) -> Result<(), StorageFailure> {
        let offset = self.offset(range.start);
        let failure = |cause| StorageFailure { operation: FileOperation::Write, offset: Some(offset), cause };
        let at_once = calls::at_once(storage, offset..self.offset(range.end)).map_err(failure)?;
        self.write_range(at_once.unwrap_or(storage), range, written)
    }

    fn write_range(
        &self,
        storage: &dyn Storage,
        range: &Range<u64>,
        written: &mut Moved,
    ) -> Result<(), StorageFailure> {
        write_all(storage, &self.bytes[self.indices(range)], self.offset(range.start), written)
    }

    /// Reads the bytes whose positions are marked in the map, and gaps between them that cost less than another call.
    /// Bytes past the end of the file are zeros.
    pub fn read(&mut self, storage: &dyn Storage, sieve: &Sieve) -> Result<(), StorageFailure> {
        let mut runs = self.present.runs(self.positions()).peekable();
        let mut measure = sieve.measure();
        while let Some(RunGroup { range, .. }) = RunGroup::take(&mut runs, sieve.bridge()) {
            let (indices, offset) = (self.indices(&range), self.offset(range.start));
            let bytes = read_all(storage, &mut self.bytes[indices], offset)?;
            measure.add(Moved { bytes, calls: 1 });
        }
        Ok(())
    }

    /// Fills the holes of a group with the bytes that the file has there, and reads only parts that may have data. Returns
    /// false if the group costs less run by run, or if the file may be written and not read.
    fn fill_holes(&mut self, storage: &dyn Storage, group: &RunGroup, sieve: &Sieve) -> Result<bool, StorageFailure> {
        if sieve.switch == Switch::Disable {
            return Ok(false);
        }
        let gaps = self.offset(group.gaps.start)..self.offset(group.gaps.end);
        let data = sieve.data(storage, group, gaps);
        let read = data.iter().map(|part| part.end - part.start).sum();
        if !sieve.writes_whole(group, read, data.len() as u64) {
            return Ok(false);
        }
        let mut at = group.gaps.start;
        for part in data {
            let position = self.position(part.start);
            self.for_each_hole(at..position, |hole, _| hole.fill(0));
            at = self.position(part.end);
            match self.read_holes(storage, part) {
                Err(failure) if sieve.tolerates_unreadable(&failure) => return Ok(false),
                outcome => outcome?,
            }
        }
        self.for_each_hole(at..group.gaps.end, |hole, _| hole.fill(0));
        Ok(true)
    }

    /// Reads a part of the file in one call, and copies its bytes into the holes there.
    fn read_holes(&mut self, storage: &dyn Storage, part: Range<u64>) -> Result<(), StorageFailure> {
        let no_memory = |cause| StorageFailure { operation: FileOperation::Read, offset: Some(part.start), cause };
        let len = (part.end - part.start) as usize;
        let mut there = Block::take(len).map_err(no_memory)?;
        there.set_len(len);
        read_all(storage, &mut there, part.start)?;
        let positions = self.position(part.start)..self.position(part.end);
        self.for_each_hole(positions, |hole, at| hole.copy_from_slice(&there[at..at + hole.len()]));
        Ok(())
    }

    /// Calls `fill` with the memory of each hole within `positions`, and with its distance from their start.
    fn for_each_hole(&mut self, positions: Range<u64>, mut fill: impl FnMut(&mut [u8], usize)) {
        let (present, mut start) = (self.present, positions.start);
        let mut fill_hole = |start, end| {
            let indices = self.indices(&(start..end));
            fill(&mut self.bytes[indices], (start - positions.start) as usize);
        };
        for run in present.runs(positions.clone()) {
            fill_hole(start, run.start);
            start = run.end;
        }
        fill_hole(start, positions.end);
    }

    /// Positions of the part in the map.
    fn positions(&self) -> Range<u64> {
        self.first..self.first + self.bytes.len() as u64
    }

    /// Returns the offset in the file of a position in the map.
    fn offset(&self, position: u64) -> u64 {
        self.offset + (position - self.first)
    }

    /// Returns the position in the map of an offset in the file.
    fn position(&self, offset: u64) -> u64 {
        self.first + (offset - self.offset)
    }

    /// Returns the indices in the memory of positions in the map.
    fn indices(&self, positions: &Range<u64>) -> Range<usize> {
        (positions.start - self.first) as usize..(positions.end - self.first) as usize
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges, some with one")]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::choose::LOCAL_CALL;
    use crate::engine::io::FileControl;
    use crate::engine::io::present::Coverage;

    /// Unit in which the file below knows what was written, in bytes.
    const PAGE: usize = 4096;

    /// Counts of the calls that one write makes.
    #[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
    struct Calls {
        writes: u64,
        reads: u64,
        /// Number of bytes that the reads returned.
        read: u64,
        questions: u64,
    }

    /// A file in memory that knows which of its pages were written, and counts calls.
    #[derive(Default)]
    struct Paged(Mutex<(Vec<u8>, Vec<bool>, Calls)>);

    impl Paged {
        /// Returns a file of `len` bytes in which only the bytes of `data` were written.
        fn with_data(len: usize, data: &[Range<usize>]) -> Self {
            let file = Self::default();
            Storage::set_len(&file, len as u64).unwrap();
            for range in data {
                let bytes: Vec<u8> = range.clone().map(|at| at as u8 | 1).collect();
                file.write_at(&bytes, range.start as u64).unwrap();
            }
            file.0.lock().unwrap().2 = Calls::default();
            file
        }

        fn bytes(&self) -> Vec<u8> {
            self.0.lock().unwrap().0.clone()
        }
    }

    impl Storage for Paged {
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            let (offset, mut file) = (offset as usize, self.0.lock().unwrap());
            let (all, pages, calls) = &mut *file;
            calls.writes += 1;
            all.resize(all.len().max(offset + bytes.len()), 0);
            pages.resize(all.len().div_ceil(PAGE), false);
            all[offset..offset + bytes.len()].copy_from_slice(bytes);
            pages[offset / PAGE..(offset + bytes.len()).div_ceil(PAGE)].fill(true);
            Ok(bytes.len())
        }

        fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
            let mut file = self.0.lock().unwrap();
            let there = file.0.get(offset as usize..).unwrap_or_default();
            let count = there.len().min(bytes.len());
            bytes[..count].copy_from_slice(&there[..count]);
            file.2.reads += 1;
            file.2.read += count as u64;
            Ok(count)
        }

        fn next_data(&self, offset: u64) -> u64 {
            let (offset, mut file) = (offset as usize, self.0.lock().unwrap());
            file.2.questions += 1;
            let page = (offset / PAGE..file.1.len()).find(|&page| file.1[page]);
            page.map_or(u64::MAX, |page| offset.max(page * PAGE) as u64)
        }

        fn size(&self) -> io::Result<u64> {
            Ok(self.0.lock().unwrap().0.len() as u64)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            let (all, pages, _) = &mut *self.0.lock().unwrap();
            all.resize(len as usize, 0);
            pages.resize(all.len().div_ceil(PAGE), false);
            Ok(())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Writes runs of bytes 255 at these offsets through a window that begins at `start`; other bytes of the window are
    /// garbage. Checks the bytes of the file, and returns the counts.
    fn written(file: &Paged, start: u64, runs: &[Range<u64>], sieve: &Sieve) -> Calls {
        let mut expected = file.bytes();
        let (mut coverage, mut memory) = (Coverage::default(), vec![77; (runs.last().unwrap().end - start) as usize]);
        let mut all = 0;
        for run in runs {
            let places = (run.start - start) as usize..(run.end - start) as usize;
            coverage.mark(places.start as u64, places.len() as u64).unwrap();
            memory[places].fill(255);
            expected.resize(expected.len().max(run.end as usize), 0);
            expected[run.start as usize..run.end as usize].fill(255);
            all += run.end - run.start;
        }
        let mut written = Moved::default();
        let mut segment = Segment { offset: start, bytes: &mut memory, present: &coverage, first: 0 };
        segment.write(file, sieve, &mut written).unwrap();
        assert_eq!(written.bytes, all);
        assert!(file.bytes() == expected, "bytes of the file, with {sieve:?}");
        std::mem::take(&mut file.0.lock().unwrap().2)
    }

    /// A file that writes up to `room` bytes later, and says that data begins before the offset that it is asked about.
    struct Odd {
        file: Paged,
        room: u64,
    }

    impl Storage for Odd {
        fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
            self.file.write_at(bytes, offset)
        }

        fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
            self.file.read_at(bytes, offset)
        }

        fn next_data(&self, offset: u64) -> u64 {
            offset / 2
        }

        fn size(&self) -> io::Result<u64> {
            self.file.size()
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            Storage::set_len(&self.file, len)
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        fn control(&self) -> &dyn FileControl {
            self
        }
    }

    impl FileControl for Odd {
        fn writes_later(&self, len: u64) -> bool {
            len <= self.room
        }
    }

    /// A write that returns before the bytes are in the file does not fill holes, unless its runs are so short that one call
    /// for each would take much longer.
    #[test]
    fn long_runs_are_left_behind_one_by_one() {
        const LONG: u64 = 8 << 10;
        for (room, len, apart, calls) in
            [(u64::MAX, LONG, 10 << 10, 100), (u64::MAX, 100, 200, 1), (LONG, LONG, 10 << 10, 1)]
        {
            let file = Odd { file: Paged::default(), room };
            let sieve = sieve_of(Switch::Automatic, KnownBytes::Data, &file.file);
            let mut memory = vec![1; (99 * apart + len) as usize];
            let mut coverage = Coverage::default();
            for run in strided(0, 100, len, apart) {
                coverage.mark(run.start, len).unwrap();
            }
            let (mut segment, mut written) =
                (Segment { offset: 0, bytes: &mut memory, present: &coverage, first: 0 }, Moved::default());
            segment.write(&file, &sieve, &mut written).unwrap();
            let counts = file.file.0.lock().unwrap().2;
            assert_eq!(
                (counts.writes, counts.reads, written.bytes),
                (calls, 0, 100 * len),
                "{len} bytes, room for {room}"
            );
        }
    }

    /// `count` runs of `len` bytes, `apart` bytes from each other.
    fn strided(start: u64, count: u64, len: u64, apart: u64) -> Vec<Range<u64>> {
        (0..count).map(|run| start + run * apart..start + run * apart + len).collect()
    }

    fn sieve_of(switch: Switch, known: KnownBytes, file: &Paged) -> Sieve {
        local(switch, true, known).with_end(|| file.size().unwrap())
    }

    /// The sieve of a write to a local file system.
    fn local(switch: Switch, is_sole: bool, known: KnownBytes) -> Sieve {
        Sieve::of_write(switch, CallCost::fixed(1).into(), is_sole, known)
    }

    #[test]
    fn nothing_is_read_behind_the_end_of_the_file() {
        for (switch, known) in [Switch::Automatic, Switch::Enable]
            .into_iter()
            .flat_map(|switch| [KnownBytes::End, KnownBytes::Data].map(|known| (switch, known)))
        {
            for count in [2, 100] {
                let file = Paged::with_data(5000, &[0..5000]);
                let calls = written(&file, 5000, &strided(5000, count, 100, 3000), &sieve_of(switch, known, &file));
                assert_eq!(calls, Calls { writes: 1, ..Calls::default() }, "{count} runs, {switch:?}, {known:?}");
            }
        }
    }

    #[test]
    fn nothing_is_read_where_nobody_has_written() {
        let file = Paged::with_data(1 << 20, &[(1 << 20) - 10..1 << 20]);
        let runs = strided(4096, 100, 100, 3000);
        let calls = written(&file, 4096, &runs, &sieve_of(Switch::Automatic, KnownBytes::Data, &file));
        assert_eq!(calls, Calls { writes: 1, questions: 1, ..Calls::default() });
        // Also a group of 16 runs, which would not be read: the gaps have no data, so one write is enough.
        let file = Paged::with_data(1 << 20, &[]);
        let runs = strided(4096, 16, 100, 1000);
        let calls = written(&file, 4096, &runs, &sieve_of(Switch::Automatic, KnownBytes::Data, &file));
        assert_eq!(calls, Calls { writes: 1, questions: 1, ..Calls::default() });
    }

    #[test]
    fn only_parts_with_data_are_read() {
        let runs = strided(10_000, 200, 1000, 2000);
        // The window before it has written the rest of its last page. Somebody has written a few bytes in the middle.
        let file = Paged::with_data(1 << 20, &[0..10_000, 200_000..200_100]);
        let calls = written(&file, 10_000, &runs, &sieve_of(Switch::Automatic, KnownBytes::Data, &file));
        assert_eq!(calls, Calls { writes: 1, reads: 2, read: 2 * (WORTH_ASKING * LOCAL_CALL), questions: 3 });
    }

    #[test]
    fn a_file_full_of_data_is_asked_twice_for_each_group() {
        let file = Paged::with_data(1 << 20, &[0..1 << 20]);
        let runs = strided(10_000, 200, 1000, 2000);
        let read = 199 * 2000 - 1000;
        let calls = written(&file, 10_000, &runs, &sieve_of(Switch::Automatic, KnownBytes::Data, &file));
        assert_eq!(calls, Calls { writes: 1, reads: 1, read, questions: 2 });
        let calls = written(&file, 10_000, &runs, &sieve_of(Switch::Automatic, KnownBytes::End, &file));
        assert_eq!(calls, Calls { writes: 1, reads: 1, read, questions: 0 });
        // A host may know only an old end of the file: then the end is not used.
        let old = local(Switch::Automatic, true, KnownBytes::Nothing).with_end(|| 0);
        assert_eq!(written(&file, 10_000, &runs, &old), Calls { writes: 1, reads: 1, read, questions: 0 });
    }

    #[test]
    fn no_question_where_it_cannot_save_enough() {
        let file = Paged::with_data(1 << 20, &[]);
        // A read of 16 KB less a byte; few runs, or gaps that cost as much as calls.
        for (runs, calls) in [
            (strided(0, 20, 55, 860), Calls { writes: 1, reads: 1, read: 19 * 860 - 55, questions: 0 }),
            (strided(0, 5, 10, 20), Calls { writes: 5, ..Calls::default() }),
            (strided(0, 100, 10, 4100), Calls { writes: 100, ..Calls::default() }),
        ] {
            assert_eq!(written(&file, 0, &runs, &sieve_of(Switch::Automatic, KnownBytes::Data, &file)), calls);
        }
    }

    #[test]
    fn if_others_may_write_only_runs_are_written_without_a_question() {
        let file = Paged::with_data(1 << 20, &[]);
        let sieve = local(Switch::Enable, false, KnownBytes::Data).with_end(|| panic!("not needed"));
        let calls = written(&file, 0, &strided(0, 100, 10, 1000), &sieve);
        assert_eq!(calls, Calls { writes: 100, ..Calls::default() });
    }

    #[test]
    fn a_file_without_an_end_is_read_without_a_question() {
        let (file, runs) = (Paged::with_data(1 << 20, &[]), strided(10_000, 200, 1000, 2000));
        let calls = Calls { writes: 1, reads: 1, read: 199 * 2000 - 1000, questions: 0 };
        let sieve = local(Switch::Automatic, true, KnownBytes::Data);
        assert_eq!(written(&file, 10_000, &runs, &sieve.clone().with_end(|| u64::MAX)), calls);
        assert_eq!(written(&file, 10_000, &runs, &sieve), calls, "nobody has asked for the end");
    }

    /// A storage may answer anything that is not wrong: it must not end in a loop, or in other bytes.
    #[test]
    fn an_answer_before_the_offset_is_as_none() {
        let file = Odd { file: Paged::with_data(1 << 20, &[0..1 << 20]), room: 0 };
        let group = RunGroup { runs: 100, covered: 10_000, range: 0..300_000, gaps: 100..299_900 };
        let sieve = sieve_of(Switch::Automatic, KnownBytes::Data, &file.file);
        assert_eq!(sieve.data(&file, &group, 100..299_900).to_vec(), [100..299_900]);
    }

    proptest! {
        /// Whatever the file holds and is known about it: the bytes are right, and no more bytes are read than without that
        /// knowledge.
        #[test]
        fn bytes_are_right_whatever_is_known(
            len in 0usize..300_000, data in prop::collection::vec((0usize..300_000, 1usize..30_000), 0..6),
            runs in prop::collection::vec((1u64..3000, 1u64..2000), 1..120), start in 0u64..100_000, enable: bool
        ) {
            let data: Vec<_> = data.into_iter().map(|(from, len)| from..from + len).collect();
            let mut at = start;
            let runs: Vec<_> = runs
                .into_iter()
                .map(|(gap, len)| {
                    at += gap + len;
                    at - len..at
                })
                .collect();
            let switch = if enable { Switch::Enable } else { Switch::Automatic };
            let counts = [KnownBytes::Nothing, KnownBytes::End, KnownBytes::Data].map(|known| {
                let file = Paged::with_data(len, &data);
                written(&file, start, &runs, &sieve_of(switch, known, &file))
            });
            prop_assert!(counts[2].writes <= counts[1].writes && counts[1].writes <= counts[0].writes, "{:?}", counts);
            prop_assert!(!enable || counts[2].read <= counts[1].read && counts[1].read <= counts[0].read, "{:?}", counts);
        }
    }
}
