//! Bounds of the fan-in of an aggregator, from the lengths of the pieces of a file, whatever their order and place.
//!
//! All of them follow from one fact. If pieces adjoin and have at least `piece` bytes, a window of `bytes` bytes touches at
//! most `(bytes - 1) / piece`, rounded up, plus 1 of them. If all ends of pieces and windows are multiples of a number of
//! bytes (the grain), lengths are counted in grains instead of bytes, and the bound is reached.

use crate::closed_form::Division;

/// Returns the greatest common divisor of two numbers; if one is 0, the other number.
pub(crate) fn common(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Returns the maximum number of adjoining pieces, each of `piece` bytes or more, that `bytes` contiguous bytes
/// touch, if both begin and end only at multiples of `grain`.
pub(crate) fn touched(bytes: u64, piece: u64, grain: u64) -> u64 {
    let grain = grain.max(1);
    match bytes / grain {
        0 => u64::from(bytes > 0),
        grains => (grains - 1).div_ceil((piece / grain).max(1)) + 1,
    }
}

/// The contiguous part of the file that a call writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileSpan {
    /// Number of bytes.
    pub bytes: u64,
    /// Number that divides both ends of the part, in every call.
    pub grain: u64,
}

/// Returns upper bounds of the number of ranks that send metadata to an aggregator, and of the number of ranks that
/// send data into one of its windows, in a call of `ranks` ranks that writes within `span`. `within(bytes, grain)`
/// bounds the number of ranks that write to any `bytes` contiguous bytes that begin and end at multiples of `grain`.
/// File domains are assumed to be whole file-system blocks no larger than a window, as all drivers make them.
pub(crate) fn fan_in(division: Division, span: FileSpan, ranks: u64, within: impl Fn(u64, u64) -> u64) -> FanInBounds {
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
    FanInBounds { metadata: metadata.min(ranks), data: data.min(ranks) }
}

/// Upper bounds of an aggregator's fan-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FanInBounds {
    /// Upper bound of the number of ranks that send metadata to an aggregator in a call.
    pub metadata: u64,
    /// Upper bound of the number of ranks that send data into one window.
    pub data: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the bound with all windows of all alignments over pieces of one length: no window exceeds the bound,
    /// and some reach it.
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
