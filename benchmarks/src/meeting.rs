//! How many ranks can meet at an aggregator: bounds from the lengths of the pieces a file is cut into, whatever their
//! order and place.
//!
//! The one fact behind all of it: pieces that adjoin and are at least `piece` bytes long, of which a window of `bytes`
//! bytes touches at most `(bytes - 1) / piece`, rounded up, and one more. Where all ends of pieces and windows are
//! multiples of some bytes (the grain), these are counted instead of bytes, and the bound is reached.

use crate::closed_form::Division;

/// The greatest common divisor; of 0 and a number, the number.
pub(crate) fn common(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The most adjoining pieces of `piece` bytes or more that `bytes` contiguous bytes touch, if both begin and end at
/// multiples of `grain` only.
pub(crate) fn touched(bytes: u64, piece: u64, grain: u64) -> u64 {
    let grain = grain.max(1);
    match bytes / grain {
        0 => u64::from(bytes > 0),
        grains => (grains - 1).div_ceil((piece / grain).max(1)) + 1,
    }
}

/// What a call writes in: contiguous bytes of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// How many.
    pub bytes: u64,
    /// What both ends are multiples of, in every call.
    pub grain: u64,
}

/// The most ranks an aggregator is told of, and the most that send into one of its windows, in a call of `ranks` ranks
/// that writes within `span`. `within(bytes, grain)` bounds the ranks that write to any `bytes`
/// contiguous bytes of the file which begin and end at multiples of `grain`. Ranges are taken to be whole file-system
/// blocks no larger than a window, as all drivers cut them.
pub(crate) fn fan_in(division: Division, span: Span, ranks: u64, within: impl Fn(u64, u64) -> u64) -> FanIn {
    let window = division.window().max(1);
    let aggregators = division.aggregators().max(1);
    let (metadata, data) = match division {
        Division::Stripes { .. } => {
            let data = within(window, window);
            let stripes = touched(span.bytes, window, common(span.grain, window));
            (stripes.div_ceil(aggregators).saturating_mul(data), data)
        }
        Division::Ranges { .. } => {
            let range = (span.bytes / aggregators).saturating_add(window.saturating_mul(3)).min(span.bytes);
            (within(range, 1), within(window, 1))
        }
    };
    FanIn { metadata: metadata.min(ranks), data: data.min(ranks) }
}

/// Two bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FanIn {
    /// Of ranks an aggregator is told of in a call.
    pub metadata: u64,
    /// Of ranks that send into one window.
    pub data: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound against every window of every alignment over pieces of one length: never below, and reached.
    #[test]
    fn pieces_touched() {
        for piece in 1..12u64 {
            for bytes in 1..30u64 {
                for grain in (1..=6).filter(|g| piece % g == 0 && bytes % g == 0) {
                    let starts = (0..200).step_by(grain as usize);
                    let most = starts.map(|start| (start + bytes - 1) / piece - start / piece + 1).max();
                    assert_eq!(
                        most,
                        Some(touched(bytes, piece, grain)),
                        "{bytes} bytes, pieces {piece}, grain {grain}"
                    );
                }
            }
        }
        assert_eq!(touched(0, 5, 1), 0);
    }

    #[test]
    fn common_divisors() {
        assert_eq!((common(12, 18), common(0, 7), common(7, 0), common(1, u64::MAX)), (6, 7, 7, 1));
    }
}
