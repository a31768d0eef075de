//! Decides which segments of a log belong to one collective call.
//!
//! A log does not say which calls were collective, nor which segments of different ranks belonged together. It has the
//! times at which each began and ended. A call is everything that ranks did from one moment when none was in a write
//! (or read) to the next such moment. Bytes that are written again begin a new call, so that the last bytes stay in the
//! file.

use std::collections::BTreeMap;

use tributary::engine::Direction;

use super::log::Segment;

/// Segments that are taken for one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// Direction of the call: write or read.
    pub direction: Direction,
    /// Time when the first segment began, in seconds from the start of the job.
    pub start: f64,
    /// Time when the last segment ended, in seconds from the start of the job.
    pub end: f64,
    /// Pairs of a rank and a segment, by rank, each rank's in the order of time. No segment is empty.
    pub segments: Vec<(usize, Segment)>,
}

/// Returns the calls in one direction, in the order of time. A pause of up to `gap` seconds does not end a call. O(n
/// log n).
///
/// # Errors
/// Two ranks wrote the same byte at the same time.
pub fn windows(direction: Direction, mut segments: Vec<(usize, Segment)>, gap: f64) -> Result<Vec<Window>, String> {
    segments.retain(|(_, segment)| segment.len > 0);
    segments.sort_by(|(one_rank, one), (rank, other)| one.start.total_cmp(&other.start).then(one_rank.cmp(rank)));
    let (mut all, mut taken): (Vec<Window>, Taken) = (Vec::new(), Taken::default());
    for (rank, segment) in segments {
        let again = taken.holder(direction, rank, &segment);
        if let Some((other, before)) = again.filter(|(other, before)| *other != rank && segment.start < before.end) {
            return Err(format!(
                "ranks {other} and {rank} wrote byte {} at the same time, {} s after the start; allowed: writes that do not \
                 overlap",
                segment.offset.max(before.offset),
                segment.start
            ));
        }
        let current = all.last_mut().filter(|window| again.is_none() && segment.start <= window.end + gap);
        match current {
            Some(window) => {
                window.end = window.end.max(segment.end);
                window.segments.push((rank, segment));
            }
            None => {
                taken.0.clear();
                let (start, end) = (segment.start, segment.end);
                all.push(Window { direction, start, end, segments: vec![(rank, segment)] });
            }
        }
        taken.add(direction, rank, segment);
    }
    // A stable sort keeps each rank's segments in the order of time.
    all.iter_mut().for_each(|window| window.segments.sort_by_key(|(rank, _)| *rank));
    Ok(all)
}

/// Bytes of a call so far, by owner and offset. All ranks' writes have one owner; each rank's reads have their own.
#[derive(Default)]
struct Taken(BTreeMap<(usize, u64), (usize, Segment)>);

impl Taken {
    fn owner(direction: Direction, rank: usize) -> usize {
        match direction {
            Direction::Write => 0,
            Direction::Read => rank,
        }
    }

    /// Returns the segment of the call that has a byte in common with `segment`, and its rank. Segments of a call do
    /// not overlap.
    fn holder(&self, direction: Direction, rank: usize, segment: &Segment) -> Option<(usize, Segment)> {
        let owner = Self::owner(direction, rank);
        let (_, last) = self.0.range((owner, 0)..(owner, segment.until())).next_back()?;
        (last.1.until() > segment.offset).then_some(*last)
    }

    fn add(&mut self, direction: Direction, rank: usize, segment: Segment) {
        self.0.insert((Self::owner(direction, rank), segment.offset), (rank, segment));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment(offset: u64, len: u64, start: f64, end: f64) -> Segment {
        Segment { offset, len, start, end }
    }

    fn calls(segments: &[(usize, Segment)], gap: f64) -> Vec<usize> {
        let windows = windows(Direction::Write, segments.to_vec(), gap).unwrap();
        windows.iter().map(|window| window.segments.len()).collect()
    }

    #[test]
    fn a_moment_without_writes_ends_a_call() {
        let three = [
            (1, segment(10, 10, 0.1, 1.0)),
            (0, segment(0, 10, 0.0, 0.5)),
            (0, segment(20, 10, 1.0, 1.1)),
            (1, segment(40, 10, 1.5, 1.6)),
        ];
        assert_eq!((calls(&three, 0.0), calls(&three, 0.4)), (vec![3, 1], vec![4]));
    }

    #[test]
    fn what_is_written_again_is_another_call() {
        let twice = [(0, segment(0, 10, 0.0, 0.5)), (0, segment(10, 5, 0.5, 0.6)), (0, segment(5, 1, 0.6, 0.7))];
        assert_eq!(calls(&twice, 0.0), [2, 1]);
        let later = [(0, segment(0, 10, 0.0, 0.5)), (1, segment(5, 10, 0.5, 0.7))];
        assert_eq!(calls(&later, 0.0), [1, 1]);
    }

    #[test]
    fn bytes_that_two_ranks_wrote_at_a_time_are_refused() {
        let both = vec![(0, segment(0, 10, 0.0, 0.5)), (3, segment(9, 10, 0.4, 0.7))];
        let said = windows(Direction::Write, both.clone(), 0.0).unwrap_err();
        assert!(said.contains("ranks 0 and 3 wrote byte 9 at the same time"), "{said}");
        assert_eq!(windows(Direction::Read, both, 0.0).unwrap().len(), 1, "reads may");
    }

    proptest! {
        /// Checks that every byte is in a call, in the order of its rank, and that no call has a byte twice.
        #[test]
        fn nothing_is_lost(parts in prop::collection::vec((0usize..4, 0u64..100, 0u64..9, 0u32..40, 0u32..4), 0..60), gap in 0u32..5) {
            let one = |&(rank, offset, len, start, took): &(usize, u64, u64, u32, u32)| {
                (rank, segment(offset, len, f64::from(start), f64::from(start + took)))
            };
            let segments: Vec<_> = parts.iter().map(one).collect();
            let Ok(all) = windows(Direction::Write, segments.clone(), f64::from(gap)) else { return Ok(()) };
            let bytes = |segments: &[(usize, Segment)]| segments.iter().map(|(_, segment)| segment.len).sum::<u64>();
            prop_assert_eq!(all.iter().map(|window| bytes(&window.segments)).sum::<u64>(), bytes(&segments));
            for window in &all {
                let mut places: Vec<_> = window.segments.iter().map(|(_, it)| (it.offset, it.until())).collect();
                places.sort_unstable();
                prop_assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{:?}", places);
                prop_assert!(window.segments.is_sorted_by_key(|(rank, _)| *rank));
            }
            prop_assert!(all.is_sorted_by(|one, other| one.start <= other.start));
        }
    }
}
