//! Encodes and decodes the block of one rank in a capture (docs/reference/capture.md has the format). A block is a list
//! of records; a record is a tag, the length of its body, and the body. A reader skips a record with an unknown tag.
//! Integers are varints: 7 bits a byte, lowest first.

use std::time::Duration;

use bytes::Bytes;
use tributary_base::wire::varint::Varints;
use tributary_base::wire::{self, Wire};

use crate::access::{BufferLayout, Direction, Extent, Extents, Packer};
use crate::engine::trace::capture::independent::{self, IndependentCalls};
use crate::engine::trace::report::Seconds;
use crate::engine::trace::timeline::{RankTimeline, Round};
use crate::error::{Error, Result};

/// Tag of a record with a list of extents, relative to its lowest offset. Lists are numbered from 0 in the order of the
/// block.
const LIST: u64 = 1;
/// Tag of a record with one collective call. Calls are numbered from 0 in the order of the block.
const CALL: u64 = 2;
/// Tag of the record with the rank's timeline.
const TIMELINE: u64 = 3;
/// Tag of the record with the rank's independent calls.
const INDEPENDENT: u64 = 4;

/// Flag of a call: it was a read, not a write.
const READ: u64 = 1;
/// Flag of a call: it ended with an error.
const FAILED: u64 = 2;

/// Refers to the extents of a call: the number of a list of the block, and the offset of its first extent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListPlace {
    /// Number of the list in the block; `None` if there are no extents.
    pub list: Option<usize>,
    /// Lowest offset of the extents, in bytes. Offsets in the list count from there.
    pub start: u64,
}

/// One collective call, as one rank made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Write or read.
    pub direction: Direction,
    /// True if the call ended with an error.
    pub failed: bool,
    /// Extents of the file that the rank wrote or read.
    pub file: Extents,
    /// Layout of these bytes in the rank's memory; offsets count from the lowest.
    pub memory: BufferLayout,
    /// Time from the end of the open to the start of the call, on this rank.
    pub start: Duration,
    /// Time from the start to the end of the call, on this rank.
    pub took: Duration,
}

/// Encodes the block of one rank.
#[derive(Debug, Default)]
pub struct BlockWriter {
    out: Vec<u8>,
    lists: usize,
    last_start: u64,
}

impl BlockWriter {
    /// Returns the number of lists so far.
    pub fn lists(&self) -> usize {
        self.lists
    }

    /// Returns the number of encoded bytes so far.
    pub fn bytes(&self) -> usize {
        self.out.len()
    }

    /// Appends a list of extents. O(extents).
    pub fn add_list(&mut self, list: &Extents) {
        let start = list.span().map_or(0, |(start, _)| start);
        let mut packer = Packer::default();
        list.iter().for_each(|extent| packer.push(Extent { offset: extent.offset - start, len: extent.len }));
        let mut body = Vec::new();
        packer.finish().write(&mut body);
        self.record(LIST, &body);
        self.lists += 1;
    }

    /// Appends a call. Calls must be added in the order of their starts. O(1).
    pub fn add_call(
        &mut self,
        direction: Direction,
        failed: bool,
        (file, memory): (ListPlace, Option<ListPlace>),
        start: Duration,
        took: Duration,
    ) {
        let flags = if direction == Direction::Read { READ } else { 0 } | if failed { FAILED } else { 0 };
        let [start, took] = [start, took].map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let [[file, from], [memory, at]] = [Some(file), memory].map(|place| {
            let number = place.map_or(0, |place| place.list.map_or(1, |list| list as u64 + 2));
            [number, place.map_or(0, |place| place.start)]
        });
        let since = start.saturating_sub(self.last_start);
        self.last_start = self.last_start.max(start);
        self.record(CALL, &wire::to_bytes(&Varints([flags, file, from, memory, at, since, took])));
    }

    /// Appends the rank's timeline, encoded by [`timeline_body`].
    pub fn add_timeline(&mut self, body: &[u8]) {
        self.record(TIMELINE, body);
    }

    /// Appends the independent calls of the rank.
    pub fn add_independent(&mut self, all: &[IndependentCalls]) {
        self.record(INDEPENDENT, &independent::body(all));
    }

    fn record(&mut self, tag: u64, body: &[u8]) {
        Varints([tag, body.len() as u64]).encode(&mut self.out);
        self.out.extend_from_slice(body);
    }

    /// Returns the encoded block.
    pub fn finish(self) -> Vec<u8> {
        self.out
    }
}

/// Decodes the calls of a block. O(encoded bytes); memory O(encoded bytes and calls).
///
/// # Errors
/// [`Error::Codec`] on a damaged block.
pub fn decode(block: &Bytes) -> Result<Vec<Call>> {
    decode_all(block).map(|(calls, _)| calls)
}

/// Decodes the calls of a block, and the rank's timeline if the block has one. Costs as much as [`decode`].
///
/// # Errors
/// The same errors as [`decode`].
pub fn decode_all(block: &Bytes) -> Result<(Vec<Call>, Option<RankTimeline>)> {
    let (mut rest, mut lists, mut last_start) = (block.clone(), Vec::new(), 0);
    let (mut calls, mut timeline) = (Vec::new(), None);
    while !rest.is_empty() {
        let at = block.len() - rest.len();
        let damaged = |what: &str| Error::codec(at, what.to_string());
        let (tag, mut body) = next_record(&mut rest).ok_or_else(|| damaged("a record is cut"))?;
        match tag {
            LIST => lists.push(Extents::read(&mut body)?),
            CALL => calls.push(call(&body, &lists, &mut last_start).map_err(damaged)?),
            TIMELINE => {
                timeline = Some(timeline_of(&body).ok_or_else(|| damaged("a timeline that cannot be decoded"))?);
            }
            _ => {}
        }
    }
    Ok((calls, timeline))
}

/// Decodes the independent calls of a block, and skips all else; none if the block does not have them. O(records).
///
/// # Errors
/// The same errors as [`decode`].
pub fn decode_independent(block: &Bytes) -> Result<Vec<IndependentCalls>> {
    let mut rest = block.clone();
    while !rest.is_empty() {
        let at = block.len() - rest.len();
        let damaged = |what: &str| Error::codec(at, what.to_string());
        let (tag, body) = next_record(&mut rest).ok_or_else(|| damaged("a record is cut"))?;
        if tag == INDEPENDENT {
            return independent::decode(&body).ok_or_else(|| damaged("independent calls that cannot be decoded"));
        }
    }
    Ok(Vec::new())
}

/// Removes the first record from `block`. Returns its tag and its body; `None` if it is cut.
fn next_record(block: &mut Bytes) -> Option<(u64, Bytes)> {
    let mut rest = &block[..];
    let Varints([tag, length]) = Wire::decode(&mut rest)?;
    let head = block.len() - rest.len();
    let end = head.checked_add(usize::try_from(length).ok()?).filter(|end| *end <= block.len())?;
    let body = block.slice(head..end);
    *block = block.slice(end..);
    Some((tag, body))
}

/// Decodes the body of a call, whose extents are in `lists`. `last_start` is the start of the call before, and becomes the
/// start of this one. An error says what is wrong.
fn call(mut body: &[u8], lists: &[Extents], last_start: &mut u64) -> std::result::Result<Call, &'static str> {
    let numbers = Wire::decode(&mut body).ok_or("a call is cut, or a number has over 64 bits")?;
    let Varints([flags, file, from, memory, at, since, took]) = numbers;
    let extents = |number: u64, start: u64| match number {
        0 => Ok(None),
        1 => Ok(Some(Extents::empty())),
        _ => {
            let list = usize::try_from(number - 2).ok().and_then(|index| lists.get(index)).cloned();
            let moved = list.ok_or("a list that is not there")?.shift(start);
            moved.map(Some).map_err(|_| "extents end beyond the largest offset")
        }
    };
    *last_start = last_start.saturating_add(since);
    Ok(Call {
        direction: if flags & READ == 0 { Direction::Write } else { Direction::Read },
        failed: flags & FAILED != 0,
        file: extents(file, from)?.ok_or("a call without extents in the file")?,
        memory: extents(memory, at)?.map_or(BufferLayout::Contiguous, BufferLayout::Extents),
        start: Duration::from_nanos(*last_start),
        took: Duration::from_nanos(took),
    })
}

/// Encodes a timeline as the body of a record: varints, times in nanoseconds. The calls themselves are other records of
/// the block.
pub fn timeline_body(timeline: &RankTimeline) -> Vec<u8> {
    let nanos = |seconds: f64| (seconds * 1e9).round() as u64;
    let RankTimeline { seconds, windows, covered, fan_in, rounds } = timeline;
    let Seconds { flatten, metadata, data, placement, io, agreement, total, .. } = *seconds;
    let mut body = Vec::new();
    Varints([flatten, metadata, data, placement, io, agreement, total].map(nanos)).encode(&mut body);
    Varints([*windows, *covered, fan_in.len() as u64]).encode(&mut body);
    fan_in.iter().for_each(|&(ranks, times)| Varints([u64::from(ranks), times]).encode(&mut body));
    Varints([rounds.len() as u64]).encode(&mut body);
    for Round { call, round, ranks, bytes, exchange, io } in rounds {
        let [exchange, io] = [exchange, io].map(|(begin, end)| [nanos(*begin), nanos(end - begin)]);
        let ranks = u64::from(*ranks);
        Varints([*call, *round, ranks, *bytes, exchange[0], exchange[1], io[0], io[1]]).encode(&mut body);
    }
    body
}

/// Decodes the body of a timeline; `None` if it is damaged.
fn timeline_of(mut body: &[u8]) -> Option<RankTimeline> {
    let from = &mut body;
    let times = Varints::<7>::decode(from)?.0.map(|nanos| nanos as f64 / 1e9);
    let [flatten, metadata, data, placement, io, agreement, total] = times;
    let seconds = Seconds { flatten, metadata, data, placement, io, agreement, total, ..Seconds::default() };
    let Varints([windows, covered, count]) = Wire::decode(from)?;
    let fan_in = |_| {
        let Varints([ranks, times]) = Wire::decode(from)?;
        Some((u32::try_from(ranks).ok()?, times))
    };
    let fan_in = (0..count).map(fan_in).collect::<Option<_>>()?;
    let Varints([count]) = Wire::decode(from)?;
    let rounds = (0..count).map(|_| round_of(from)).collect::<Option<_>>()?;
    Some(RankTimeline { seconds, windows, covered, fan_in, rounds })
}

fn round_of(from: &mut &[u8]) -> Option<Round> {
    let Varints([call, round, ranks, bytes, exchange, sent, io, done]) = Wire::decode(from)?;
    let span = |begin: u64, took: u64| {
        let begin = begin as f64 / 1e9;
        (begin, begin + took as f64 / 1e9)
    };
    let (exchange, io) = (span(exchange, sent), span(io, done));
    Some(Round { call, round, ranks: u32::try_from(ranks).ok()?, bytes, exchange, io })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extents() -> impl Strategy<Value = Extents> {
        prop::collection::vec((0u64..1 << 40, 1u64..1 << 20), 0..20)
            .prop_map(|list| Extents::from_list(list.into_iter().map(|(offset, len)| Extent { offset, len })).unwrap())
    }

    fn list(extents: &Extents) -> Vec<Extent> {
        extents.iter().collect()
    }

    proptest! {
        #[test]
        fn a_block_gives_its_calls_back(calls in prop::collection::vec((extents(), any::<bool>(), 0u64..1 << 50), 0..10)) {
            let mut encoder = BlockWriter::default();
            let mut start = 0;
            for (extents, read, time) in &calls {
                encoder.add_list(extents);
                let place = ListPlace { list: Some(encoder.lists() - 1), start: extents.span().map_or(0, |(start, _)| start) };
                let direction = if *read { Direction::Read } else { Direction::Write };
                start += time;
                let (start, took) = (Duration::from_nanos(start), Duration::from_nanos(*time));
                encoder.add_call(direction, !*read, (place, read.then_some(place)), start, took);
            }
            let block = Bytes::from(encoder.finish());
            let back = decode(&block).unwrap();
            prop_assert_eq!(back.len(), calls.len());
            for (call, (extents, read, time)) in back.iter().zip(&calls) {
                prop_assert_eq!(list(&call.file), list(extents));
                prop_assert_eq!((call.direction == Direction::Read, call.failed), (*read, !*read));
                prop_assert_eq!(matches!(call.memory, BufferLayout::Contiguous), !*read);
                prop_assert_eq!(call.took.as_nanos(), u128::from(*time));
            }
            // Decoding a cut block returns an error or the first calls.
            for cut in 0..block.len() {
                if let Ok(some) = decode(&block.slice(..cut)) {
                    prop_assert!(some.len() <= back.len());
                }
            }
        }

        #[test]
        fn damaged_blocks_are_errors_or_checked(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = decode(&Bytes::from(bytes));
        }
    }

    #[test]
    fn a_timeline_comes_back() {
        let round = Round { call: 3, round: 7, ranks: 9, bytes: 1 << 40, exchange: (0.5, 0.75), io: (0.625, 2.0) };
        let seconds = Seconds { flatten: 0.25, io: 3.5, total: 8.0, ..Seconds::default() };
        let rounds = vec![round, Round { io: (0.75, 0.75), ..round }];
        let timeline = RankTimeline { seconds, windows: 12, covered: 1 << 50, fan_in: vec![(1, 5), (9, 7)], rounds };
        let mut encoder = BlockWriter::default();
        encoder.add_timeline(&timeline_body(&timeline));
        let block = Bytes::from(encoder.finish());
        assert_eq!(decode_all(&block).unwrap(), (Vec::new(), Some(timeline)));
        assert_eq!(decode_all(&Bytes::new()).unwrap(), (Vec::new(), None));
        assert!((1..block.len()).all(|cut| decode_all(&block.slice(..cut)).is_err()), "a cut timeline is damage");
    }

    #[test]
    fn independent_calls_stand_beside_the_others() {
        let function = "write_at".to_string();
        let all = vec![IndependentCalls { function, calls: 3, bytes: 12, microseconds: 7, sizes: [4; 3] }];
        let mut encoder = BlockWriter::default();
        encoder.add_call(Direction::Read, false, (ListPlace::default(), None), Duration::ZERO, Duration::ZERO);
        encoder.add_independent(&all);
        let block = Bytes::from(encoder.finish());
        assert_eq!((decode(&block).unwrap().len(), decode_independent(&block).unwrap()), (1, all));
        assert_eq!(decode_independent(&Bytes::new()).unwrap(), []);
        assert!(decode_independent(&block.slice(..block.len() - 1)).is_err());
    }

    #[test]
    fn an_unknown_record_is_skipped() {
        let mut encoder = BlockWriter::default();
        encoder.record(77, b"a later version wrote this");
        encoder.add_call(Direction::Read, false, (ListPlace::default(), None), Duration::ZERO, Duration::ZERO);
        assert_eq!(decode(&encoder.finish().into()).unwrap().len(), 1);
    }

    #[test]
    fn a_list_that_is_not_there_is_an_error() {
        let mut encoder = BlockWriter::default();
        encoder.add_call(
            Direction::Read,
            false,
            (ListPlace { list: Some(3), start: 0 }, None),
            Duration::ZERO,
            Duration::ZERO,
        );
        assert!(decode(&encoder.finish().into()).unwrap_err().to_string().contains("not there"));
    }
}
