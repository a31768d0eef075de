//! Binomial trees, and messages cut into blocks: the steps that the algorithms for long messages are made of.

use crate::schedule::Span;

/// The lowest set bit of member `me` of `size`; of member 0, which has none, the power of two that spans all: the
/// members `me..me + lowest_bit` are those below it in a binomial tree.
pub fn lowest_bit(me: usize, size: usize) -> usize {
    if me == 0 { size.next_power_of_two() } else { me & me.wrapping_neg() }
}

/// The children of a member in the binomial tree, the nearest first.
pub fn children(me: usize, size: usize) -> impl DoubleEndedIterator<Item = usize> {
    let steps = lowest_bit(me, size).trailing_zeros();
    (0..steps).map(move |step| me + (1 << step)).filter(move |&child| child < size)
}

/// A message cut into blocks of whole lanes of 8 bytes that differ by at most one lane; the last has what is no lane.
#[derive(Debug, Clone, Copy)]
pub struct Cut {
    message: Span,
    blocks: u64,
}

impl Cut {
    /// `message` in `blocks` blocks.
    pub fn new(message: Span, blocks: usize) -> Self {
        Self { message, blocks: blocks as u64 }
    }

    /// Where blocks `first..end` lie.
    pub fn span(&self, first: usize, end: usize) -> Span {
        let (from, to) = (self.begin(first as u64), self.begin(end as u64));
        Span::new(self.message.buffer, self.message.offset + from, to - from)
    }

    fn begin(&self, block: u64) -> u64 {
        let lanes = u128::from(self.message.len / 8);
        let lane = (lanes * u128::from(block) / u128::from(self.blocks)) as u64;
        if block == self.blocks { self.message.len } else { lane * 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Buffer;

    #[test]
    fn blocks_are_the_message() {
        for (len, blocks) in [(0, 3), (8, 5), (100, 4), (7, 2), (8000, 33), (u64::MAX - 7, 1000)] {
            let cut = Cut::new(Span::new(Buffer::Receive, 4, len), blocks);
            let mut at = 4;
            for block in 0..blocks {
                let span = cut.span(block, block + 1);
                assert_eq!(span.offset, at);
                assert!(block + 1 == blocks || span.len % 8 == 0);
                assert!(span.len.abs_diff(len / blocks as u64) < 16);
                at += span.len;
            }
            assert_eq!(at, 4u64.wrapping_add(len));
        }
    }

    #[test]
    fn a_binomial_tree_spans_all() {
        for size in 1..70 {
            let mut parents = vec![0; size];
            for me in 0..size {
                children(me, size).for_each(|child| parents[child] += 1);
                assert!(children(me, size).all(|child| child - lowest_bit(child, size) == me));
            }
            assert_eq!((parents[0], parents.iter().sum::<usize>()), (0, size - 1));
        }
    }
}
