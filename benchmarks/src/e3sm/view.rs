//! Computes one rank's extents in the whole file, in little memory.
//!
//! A variable of the F case is one row of columns, or a row for each level, and variables lie without gaps. If D3 is
//! D2 on every level, a sequence of such variables is therefore D2's list repeated at the distance of a row, whatever
//! their number. The same holds for the planes of the I case.

use tributary::access::{Extent, Extents};

use crate::error::PatternError;

use super::decomposition::{Decompositions, Entry, merged};
use super::layout::{LayoutVariable, VariableOwner};

/// The elements that a rank owns: a merged list for each decomposition, and its number of repetitions.
pub(super) struct RankLists {
    lists: Vec<Vec<Entry>>,
    /// List, number of levels, and number of elements in a level, of each decomposition.
    parts: Vec<LeveledList>,
}

/// A decomposition as a list that is repeated on levels.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeveledList {
    list: usize,
    levels: u64,
    row: u64,
}

impl RankLists {
    /// Returns the joined lists of the decomposition ranks `ranks`. O(their entries), without lists that repeat.
    pub fn from_decompositions(all: &dyn Decompositions, ranks: std::ops::Range<usize>) -> Self {
        let (mut lists, mut parts) = (Vec::new(), Vec::new());
        for (which, dims) in all.dims().iter().enumerate() {
            let base = (0..which).find(|&base| all.is_levels_of(which, base));
            if let (Some(base), [levels, plane @ ..]) = (base, &dims[..]) {
                parts.push(LeveledList { list: base, levels: *levels, row: plane.iter().product() });
                lists.push(Vec::new());
            } else {
                parts.push(LeveledList { list: which, levels: 1, row: dims.iter().product() });
                lists.push(merged(all, which, ranks.clone()));
            }
        }
        Self { lists, parts }
    }

    /// Returns the counts of one variable of each decomposition, without expanding any list.
    pub fn counts(&self) -> Vec<Counts> {
        let one = |part: &LeveledList| {
            let list = &self.lists[part.list];
            Counts {
                requests: list.len() as u64 * part.levels,
                elements: list.iter().map(|entry| entry.length).sum::<u64>() * part.levels,
                end: list.last().map_or(0, |last| last.offset + last.length + (part.levels - 1) * part.row),
            }
        };
        self.parts.iter().map(one).collect()
    }

    /// Returns the requests for one variable of decomposition `which`, in ascending order.
    pub fn entries(&self, which: usize) -> impl Iterator<Item = Entry> + '_ {
        let part = self.parts[which];
        (0..part.levels).flat_map(move |level| {
            let list = self.lists[part.list].iter();
            list.map(move |entry| Entry { offset: entry.offset + level * part.row, length: entry.length })
        })
    }
}

/// Number of requests and elements of one variable of a decomposition.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Number of requests.
    pub requests: u64,
    /// Number of elements in these requests.
    pub elements: u64,
    /// Number of the element behind the last one; 0 if there are none.
    pub end: u64,
}

impl Counts {
    /// Adds the counts of another rank.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.elements += other.elements;
        self.end = self.end.max(other.end);
    }
}

/// A list that is repeated at the distance of a row. It grows while variables continue it.
struct Rows {
    list: usize,
    size: u64,
    begin: u64,
    stride: u64,
    count: u64,
}

impl Rows {
    fn from_variable(variable: &LayoutVariable, begin: u64, part: LeveledList) -> Self {
        let stride = part.row * variable.size;
        Self { list: part.list, size: variable.size, begin, stride, count: part.levels }
    }

    /// Extends these rows by `next` if `next` continues them. Returns true in that case.
    fn continues(&mut self, next: &Self) -> bool {
        let same = (self.list, self.size, self.stride) == (next.list, next.size, next.stride);
        let joins = same && self.begin + self.stride * self.count == next.begin;
        if joins {
            self.count += next.count;
        }
        joins
    }
}

/// Returns the file extents of a rank in variables with their offsets in the file, in this order. With `root`, the
/// variables that rank 0 writes are included.
pub(super) fn extents<'a>(
    variables: impl Iterator<Item = (&'a LayoutVariable, u64)>,
    lists: &RankLists,
    root: bool,
) -> Result<Extents, PatternError> {
    let mut all = Extents::empty();
    let mut packed = Vec::new();
    let mut rows: Option<Rows> = None;
    for (variable, begin) in variables {
        match variable.owner {
            VariableOwner::Decomposed(which) => {
                let next = Rows::from_variable(variable, begin, lists.parts[which]);
                if !rows.as_mut().is_some_and(|rows| rows.continues(&next)) {
                    push(&mut all, rows.replace(next), lists, &mut packed)?;
                }
            }
            VariableOwner::Root if root => {
                push(&mut all, rows.take(), lists, &mut packed)?;
                all.push(&Extents::contiguous(begin, variable.elements * variable.size)?)?;
            }
            VariableOwner::Root => {}
        }
    }
    push(&mut all, rows, lists, &mut packed)?;
    Ok(all)
}

/// Lists as extents, by number of the list and size of an element: each is packed once and shared wherever it
/// repeats.
type PackedLists = Vec<((usize, u64), Extents)>;

fn push(
    all: &mut Extents,
    rows: Option<Rows>,
    lists: &RankLists,
    packed: &mut PackedLists,
) -> Result<(), PatternError> {
    let Some(rows) = rows else { return Ok(()) };
    let key = (rows.list, rows.size);
    let found = packed.iter().position(|(other, _)| *other == key);
    let index = match found {
        Some(index) => index,
        None => {
            let bytes = |e: &Entry| Extent { offset: e.offset * rows.size, len: e.length * rows.size };
            packed.push((key, Extents::from_list(lists.lists[rows.list].iter().map(bytes))?));
            packed.len() - 1
        }
    };
    let stride = i64::try_from(rows.stride).map_err(|_| PatternError::argument("row", rows.stride, "< 2^63 bytes"))?;
    all.push(&packed[index].1.repeat(stride, rows.count)?.shift(rows.begin)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::generator::{Generator, GeneratorOptions};
    use super::*;
    use crate::value::ValueKind;

    #[test]
    fn rows_end_where_another_variable_lies_between() {
        let options = GeneratorOptions { columns_per_rank: 2, groups: 1, seed: 0 };
        let source = Generator::new(2, options).unwrap();
        let lists = RankLists::from_decompositions(&source, 0..1);
        let variable = |begin, owner, elements| LayoutVariable {
            number: 0,
            name: "v".to_string(),
            owner,
            shape: vec![elements],
            elements,
            kind: ValueKind::Double,
            size: 8,
            begin,
            is_record: false,
        };
        let (d2, root) = (VariableOwner::Decomposed(1), VariableOwner::Root);
        let variables = [variable(0, d2, 4), variable(32, root, 1), variable(40, d2, 4), variable(72, d2, 4)];
        let first = lists.entries(1).next().unwrap().offset * 8;
        let offsets = |root| -> Vec<u64> {
            let placed = variables.iter().map(|variable| (variable, variable.begin));
            extents(placed, &lists, root).unwrap().iter().map(|e| e.offset).collect()
        };
        assert_eq!(offsets(false), [first, first + 40, first + 72]);
        assert_eq!(offsets(true), [first, 32, first + 40, first + 72]);
    }
}
