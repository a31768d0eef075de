//! Defines which elements of an array each rank owns: sorted and merged as in the benchmark, or folded onto fewer
//! ranks.

use std::ops::Range;

/// Consecutive elements `offset..offset + length` of a row-major array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Number of the first element.
    pub offset: u64,
    /// Number of elements.
    pub length: u64,
}

/// The decompositions D1, D2, ... of a case over its ranks, numbered from 0. An implementation must ensure that entries lie
/// inside their array and inside one row, that no element has two owners, and that arrays have fewer than 2^63 elements.
pub trait Decompositions: Send + Sync {
    /// Returns the name of the decompositions in errors and reports: a file name, or how they were made.
    fn name(&self) -> &str;

    /// Returns the number of ranks that the decompositions were made for.
    fn ranks(&self) -> usize;

    /// Returns, for every decomposition, the lengths of its array's dimensions, slowest first.
    fn dims(&self) -> &[Vec<u64>];

    /// Calls `visitor` with every entry of `rank` in decomposition `which`, as recorded: neither sorted nor merged.
    /// Does nothing if either is out of range.
    fn visit(&self, which: usize, rank: usize, visitor: &mut dyn FnMut(Entry));

    /// Returns true if decomposition `which` is known to be `base` repeated on every one of its levels (its first dimension).
    fn is_levels_of(&self, which: usize, base: usize) -> bool;
}

/// Returns the entries of some ranks together as the benchmark requests them: sorted by offset, adjacent ones merged,
/// but never across the end of a row. O(n log n) for n entries.
pub fn merged(all: &dyn Decompositions, which: usize, ranks: Range<usize>) -> Vec<Entry> {
    let row = all.dims().get(which).and_then(|dims| dims.last()).map_or(1, |&row| row.max(1));
    let mut entries = Vec::new();
    for rank in ranks {
        all.visit(which, rank, &mut |entry| {
            if entry.length > 0 {
                entries.push(entry);
            }
        });
    }
    entries.sort_unstable();
    entries.dedup_by(|next, last| {
        let joins = last.offset + last.length == next.offset && next.offset % row != 0;
        if joins {
            last.length += next.length;
        }
        joins
    });
    entries
}

/// Returns the decomposition ranks, of `total`, that rank `rank` of `ranks` takes: consecutive ones, the first `total
/// % ranks` ranks one more; empty for ranks beyond `total`.
pub fn share(total: usize, rank: usize, ranks: usize) -> Range<usize> {
    if ranks == 0 {
        return 0..0;
    }
    let (each, more) = (total / ranks, total % ranks);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

/// Returns true if decomposition `which` is `base` repeated on each of its levels, rank by rank. O(entries).
pub fn compare_levels(all: &dyn Decompositions, which: usize, base: usize) -> bool {
    let (Some([levels, plane @ ..]), Some(dims)) = (all.dims().get(which).map(Vec::as_slice), all.dims().get(base))
    else {
        return false;
    };
    // A row that ends with the plane keeps levels apart: entries merge in both or in neither.
    let row: u64 = plane.iter().product();
    !dims.is_empty()
        && plane == &dims[..]
        && (0..all.ranks()).all(|rank| {
            let (one, many) = (merged(all, base, rank..rank + 1), merged(all, which, rank..rank + 1));
            if one.is_empty() {
                return many.is_empty();
            }
            let expected = (0..*levels)
                .flat_map(|level| one.iter().map(move |e| Entry { offset: e.offset + level * row, length: e.length }));
            // Counts are compared first: `levels` may be any number, but the entries are in memory.
            (one.len() as u64).checked_mul(*levels) == Some(many.len() as u64) && many.iter().copied().eq(expected)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_tile_the_ranks_in_order() {
        for total in 0..40 {
            for ranks in 1..50 {
                let mut next = 0;
                for rank in 0..ranks {
                    let mine = share(total, rank, ranks);
                    assert_eq!(mine.start, next);
                    assert!(mine.len() == total / ranks || (mine.len() == total / ranks + 1 && rank < total % ranks));
                    next = mine.end;
                }
                assert_eq!(next, total);
            }
        }
        assert_eq!(share(16, 3, 0), 0..0);
    }

    /// One decomposition with rows of 10 elements: a list of elements for each rank.
    struct Lists(Vec<Vec<u64>>, [Vec<u64>; 1]);

    impl Decompositions for Lists {
        fn name(&self) -> &str {
            "lists"
        }
        fn ranks(&self) -> usize {
            self.0.len()
        }
        fn dims(&self) -> &[Vec<u64>] {
            &self.1
        }
        fn visit(&self, _: usize, rank: usize, visitor: &mut dyn FnMut(Entry)) {
            self.0[rank].iter().for_each(|&offset| visitor(Entry { offset, length: 1 }));
        }
        fn is_levels_of(&self, _: usize, _: usize) -> bool {
            false
        }
    }

    #[test]
    fn adjacent_elements_merge_but_not_over_the_end_of_a_row() {
        let lists = Lists(vec![vec![11, 8, 9, 10], vec![7, 12, 3]], [vec![2, 10]]);
        let got = |ranks| merged(&lists, 0, ranks).iter().map(|e| (e.offset, e.length)).collect::<Vec<_>>();
        assert_eq!(got(0..1), [(8, 2), (10, 2)]);
        assert_eq!(got(1..2), [(3, 1), (7, 1), (12, 1)]);
        assert_eq!(got(0..2), [(3, 1), (7, 3), (10, 3)]);
        assert_eq!(got(1..1), []);
    }
}
