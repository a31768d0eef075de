//! Walking a sequence of extents fast: whole runs and slices of lists at a time, and both sides of an access together.
//!
//! [`Batches`] gives a sequence in as few parts as it is held in: a run is one part whatever its number of extents. Inner
//! loops over a part know their step, so that what a node costs is paid once a part and not once an extent. [`Walk`] stops
//! where it is told and goes on from there.

use std::cell::RefCell;

use super::extent::Extent;
use super::extents::Extents;
use super::node::{Base, Group, Level, Node, Odometer};
use super::packed::PackedIter;
use super::pieces::{BufferLayout, Piece};
use super::plain::PlainIter;

/// Extents of a list that are decoded at a time.
const DECODED: usize = 512;

/// A part of a sequence.
#[derive(Debug, Clone, Copy)]
pub enum Batch<'a> {
    /// `count` extents, `stride` bytes from start to start.
    Run {
        /// The first.
        first: Extent,
        /// From start to start.
        stride: i64,
        /// How many.
        count: u64,
    },
    /// These, each moved by `shift` bytes.
    List {
        /// As they were given.
        extents: &'a [Extent],
        /// How far they are moved.
        shift: i64,
    },
}

impl Batch<'_> {
    /// Number of extents.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Self::Run { count, .. } => *count,
            Self::List { extents, .. } => extents.len() as u64,
        }
    }

    /// Whether it has no extents.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An extent by its place; `index` is below the length.
    #[inline]
    pub fn get(&self, index: u64) -> Extent {
        match self {
            Self::Run { first, stride, .. } => moved(*first, stride.wrapping_mul(index as i64)),
            Self::List { extents, shift } => moved(extents[index as usize], *shift),
        }
    }
}

/// The parts of a sequence, in sequence. O(parts), and for packed lists O(extents).
pub struct Batches<'a> {
    nodes: std::slice::Iter<'a, Node>,
    /// How far all nodes are moved.
    by: i64,
    state: State<'a>,
    /// The part reached, but for a group, which has it.
    current: Current,
    decoded: Decoded,
}

/// Extents of a list that were decoded last.
#[derive(Default)]
struct Decoded(Vec<Extent>);

thread_local! {
    /// Rooms of walks that have ended, for later ones: a repeated call allocates nothing.
    static ROOMS: RefCell<Vec<Vec<Extent>>> = const { RefCell::new(Vec::new()) };
}

impl Decoded {
    /// Decodes some.
    fn fill(&mut self, list: &mut ListIter<'_>) {
        if self.0.capacity() == 0 {
            self.0 = ROOMS.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(DECODED));
        }
        self.0.clear();
        match list {
            ListIter::Packed(list) => self.0.extend(list.take(DECODED)),
            ListIter::Plain(list) => self.0.extend(list.take(DECODED)),
        }
    }
}

impl Drop for Decoded {
    fn drop(&mut self) {
        if self.0.capacity() > 0 {
            // A thread that is at its end has no more use for it.
            let _ = ROOMS.try_with(|rooms| rooms.borrow_mut().push(std::mem::take(&mut self.0)));
        }
    }
}

enum State<'a> {
    /// The next node is to be taken.
    Between,
    /// One extent along its innermost level, at every outer one.
    One(Extent, Level, Odometer<'a>),
    /// A list, at every level, and where its decoding stands.
    List(&'a Base, i64, Odometer<'a>, Option<(ListIter<'a>, i64)>),
    /// A group, at every level, and where its copies stand.
    Group(&'a Group, i64, Odometer<'a>, Option<Copies<'a>>),
}

enum ListIter<'a> {
    Packed(PackedIter<'a>),
    Plain(PlainIter<'a>),
}

impl<'a> ListIter<'a> {
    fn of(base: &'a Base) -> Option<Self> {
        match base {
            Base::List(packed, _) => Some(Self::Packed(packed.iter())),
            Base::Plain(plain, _) => Some(Self::Plain(plain.iter())),
            Base::One(_) | Base::Group(..) => None,
        }
    }
}

struct Copies<'a> {
    places: Box<dyn Iterator<Item = i64> + 'a>,
    inside: Option<Box<Batches<'a>>>,
}

#[derive(Clone, Copy)]
enum Current {
    Run(Extent, Level),
    /// What was decoded last, moved.
    Decoded(i64),
}

impl<'a> Batches<'a> {
    /// All of `extents`, before its first part.
    pub fn new(extents: &'a Extents) -> Self {
        Self::of(&extents.nodes, 0)
    }

    fn of(nodes: &'a [Node], by: i64) -> Self {
        Self {
            nodes: nodes.iter(),
            by,
            state: State::Between,
            current: Current::Decoded(0),
            decoded: Decoded::default(),
        }
    }

    /// Goes on to the next part, which is not empty; false at the end.
    pub fn advance(&mut self) -> bool {
        loop {
            let (next, by) = (&mut self.state, self.by);
            match next {
                State::Between => match self.nodes.next() {
                    Some(node) => *next = enter(node),
                    None => return false,
                },
                State::One(extent, inner, outer) => {
                    if let Some(at) = outer.next() {
                        self.current = Current::Run(moved(*extent, at.wrapping_add(by)), *inner);
                        return true;
                    }
                    *next = State::Between;
                }
                State::List(base, shift, levels, open) => {
                    if open.is_none() {
                        let at = levels.next().map(|at| at.wrapping_add(*shift).wrapping_add(by));
                        *open = ListIter::of(base).zip(at);
                    }
                    let Some((list, shift)) = open else {
                        *next = State::Between;
                        continue;
                    };
                    self.decoded.fill(list);
                    if !self.decoded.0.is_empty() {
                        self.current = Current::Decoded(*shift);
                        return true;
                    }
                    *open = None;
                }
                State::Group(group, shift, levels, open) => {
                    if open.is_none() {
                        let copies = |at: i64| group.copies(at.wrapping_add(*shift).wrapping_add(by));
                        *open = levels.next().map(|at| Copies { places: Box::new(copies(at)), inside: None });
                    }
                    let Some(copies) = open else {
                        *next = State::Between;
                        continue;
                    };
                    if copies.inside.as_mut().is_some_and(|inside| inside.advance()) {
                        return true;
                    }
                    match copies.places.next() {
                        Some(by) => copies.inside = Some(Box::new(Batches::of(&group.nodes, by))),
                        None => *open = None,
                    }
                }
            }
        }
    }

    /// The part reached by the last [`Batches::advance`] that was true.
    #[inline]
    pub fn current(&self) -> Batch<'_> {
        if let State::Group(_, _, _, Some(Copies { inside: Some(inside), .. })) = &self.state {
            return inside.current();
        }
        match self.current {
            Current::Run(first, Level { stride, count }) => Batch::Run { first, stride, count },
            Current::Decoded(shift) => Batch::List { extents: &self.decoded.0, shift },
        }
    }
}

fn enter(node: &Node) -> State<'_> {
    match &node.base {
        Base::One(extent) => match node.levels.split_last() {
            Some((inner, outer)) => State::One(*extent, *inner, Odometer::new(outer)),
            None => State::One(*extent, Level { stride: 0, count: 1 }, Odometer::new(&[])),
        },
        Base::List(_, shift) | Base::Plain(_, shift) => {
            State::List(&node.base, *shift, Odometer::new(&node.levels), None)
        }
        Base::Group(group, shift) => State::Group(group, *shift, Odometer::new(&node.levels), None),
    }
}

#[inline]
fn moved(extent: Extent, by: i64) -> Extent {
    Extent { offset: extent.offset.wrapping_add(by as u64), len: extent.len }
}

/// One side of an access: where in its sequence a walk stands.
struct Side<'a> {
    batches: Batches<'a>,
    /// Extents in the part reached, and the one reached of them.
    len: u64,
    index: u64,
    /// Bytes of that extent that are done.
    done: u64,
}

impl<'a> Side<'a> {
    fn new(extents: &'a Extents) -> Self {
        Self { batches: Batches::new(extents), len: 0, index: 0, done: 0 }
    }

    /// Makes sure that an extent is reached; false at the end.
    #[inline]
    fn is_at_one(&mut self) -> bool {
        while self.index == self.len {
            if !self.batches.advance() {
                return false;
            }
            (self.len, self.index, self.done) = (self.batches.current().len(), 0, 0);
        }
        true
    }

    /// What is left of the extent reached.
    #[inline]
    fn rest(&self) -> Extent {
        let Extent { offset, len } = self.batches.current().get(self.index);
        Extent { offset: offset + self.done, len: len - self.done }
    }

    /// Leaves `len` bytes of it behind.
    #[inline]
    fn leave(&mut self, rest: Extent, len: u64) {
        if len == rest.len {
            (self.index, self.done) = (self.index + 1, 0);
        } else {
            self.done += len;
        }
    }
}

/// The pieces of an access whose file side ascends, from where the walk stands.
pub struct Walk<'a> {
    file: Side<'a>,
    /// The memory side, or the place in a contiguous buffer.
    memory: Option<Side<'a>>,
    at: u64,
}

impl<'a> Walk<'a> {
    /// At the first piece of the access.
    pub fn new(file: &'a Extents, layout: &'a BufferLayout) -> Self {
        let memory = match layout {
            BufferLayout::Contiguous => None,
            BufferLayout::Extents(extents) => Some(Side::new(extents)),
        };
        Self { file: Side::new(file), memory, at: 0 }
    }

    /// The first byte in the file of what is left; `None` at the end.
    pub fn position(&mut self) -> Option<u64> {
        self.file.is_at_one().then(|| self.file.rest().offset)
    }

    /// Gives `visit` every piece that lies before `limit` in the file, cut there.
    #[inline]
    pub fn until(&mut self, limit: u64, mut visit: impl FnMut(Piece)) {
        if self.memory.is_some() {
            return self.both_until(limit, visit);
        }
        while self.file.is_at_one() {
            // What is left of an extent that was begun, by itself; then whole extents.
            if self.file.done > 0 {
                let rest = self.file.rest();
                let len = rest.len.min(limit.saturating_sub(rest.offset));
                if len == 0 {
                    return;
                }
                visit(Piece { offset: rest.offset, memory: self.at, len });
                self.at += len;
                self.file.leave(rest, len);
                continue;
            }
            let (index, at) = whole_until(self.file.batches.current(), self.file.index, self.at, limit, &mut visit);
            (self.file.index, self.at) = (index, at);
            if index < self.file.len {
                let rest = self.file.rest();
                if rest.offset >= limit {
                    return;
                }
                let len = limit - rest.offset;
                visit(Piece { offset: rest.offset, memory: self.at, len });
                self.at += len;
                self.file.leave(rest, len);
                return;
            }
        }
    }

    fn both_until(&mut self, limit: u64, mut visit: impl FnMut(Piece)) {
        let Some(memory) = &mut self.memory else { return };
        while self.file.is_at_one() && memory.is_at_one() {
            let (to, from) = (self.file.rest(), memory.rest());
            let len = to.len.min(from.len).min(limit.saturating_sub(to.offset));
            if len == 0 {
                return;
            }
            visit(Piece { offset: to.offset, memory: from.offset, len });
            self.file.leave(to, len);
            memory.leave(from, len);
        }
    }
}

/// Visits the extents of a part from `index` on that end before `limit`; returns the first that does not, and the place in
/// the buffer.
#[inline]
fn whole_until(batch: Batch<'_>, index: u64, mut at: u64, limit: u64, visit: &mut impl FnMut(Piece)) -> (u64, u64) {
    match batch {
        Batch::Run { first: Extent { mut offset, len }, stride, count } => {
            offset = offset.wrapping_add((stride.wrapping_mul(index as i64)) as u64);
            let mut index = index;
            while index < count && offset + len <= limit {
                visit(Piece { offset, memory: at, len });
                at += len;
                offset = offset.wrapping_add(stride as u64);
                index += 1;
            }
            (index, at)
        }
        Batch::List { extents, shift } => {
            let mut index = index as usize;
            for extent in &extents[index..] {
                let offset = extent.offset.wrapping_add(shift as u64);
                if offset + extent.len > limit {
                    break;
                }
                visit(Piece { offset, memory: at, len: extent.len });
                at += extent.len;
                index += 1;
            }
            (index as u64, at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::pieces::pieces;
    use proptest::prelude::*;

    fn expanded(extents: &Extents) -> Vec<Extent> {
        let (mut batches, mut all) = (Batches::new(extents), Vec::new());
        while batches.advance() {
            let batch = batches.current();
            assert!(!batch.is_empty());
            all.extend((0..batch.len()).map(|index| batch.get(index)));
        }
        all
    }

    fn any_extents() -> impl Strategy<Value = Extents> {
        let list = prop::collection::vec((0u64..300, 1u64..20), 1..900)
            .prop_map(|list| Extents::from_list(list.into_iter().map(|(offset, len)| Extent { offset, len })).unwrap());
        let plain = prop::collection::vec((0u64..30, 1u64..20), 1..40).prop_map(|list| {
            let mut end = 0;
            let extents = list.into_iter().map(|(gap, len)| {
                let offset = end + gap;
                end = offset + len;
                Extent { offset, len }
            });
            Extents::from_extents(extents).unwrap()
        });
        let run = (0u64..99, 1u64..9, 9i64..20, 1u64..9).prop_map(|(o, l, s, c)| Extents::strided(o, l, s, c).unwrap());
        let leaf = prop_oneof![list, plain, run];
        leaf.prop_recursive(3, 8, 4, |inner| {
            let repeated = (inner.clone(), 0i64..5000, 1u64..4).prop_map(|(e, s, c)| e.repeat(s, c).unwrap());
            let scattered = (inner.clone(), prop::collection::vec((0u64..9000, 1u64..3), 1..5))
                .prop_map(|(e, places)| e.scatter(7000, places.into_iter()).unwrap());
            let both = (inner.clone(), inner).prop_map(|(mut a, b)| {
                a.push(&b).unwrap();
                a
            });
            prop_oneof![repeated, scattered, both]
        })
    }

    proptest! {
        #[test]
        fn batches_are_the_extents(extents in any_extents()) {
            prop_assert_eq!(expanded(&extents), extents.iter().collect::<Vec<_>>());
        }

        #[test]
        fn a_walk_in_steps_gives_the_pieces(
            gaps in prop::collection::vec((0u64..40, 1u64..40), 1..60), run in (1u64..9, 0i64..9, 1u64..50),
            cut in prop::collection::vec(1u64..30, 1..40), plain: bool, gap in 0u64..3
        ) {
            let mut end = 0;
            let list: Vec<_> = gaps.iter().map(|&(gap, len)| { let e = Extent { offset: end + gap, len }; end = e.end(); e }).collect();
            let mut file = if plain { Extents::from_extents(list).unwrap() } else { Extents::from_list(list).unwrap() };
            let (len, apart, count) = run;
            file.push(&Extents::strided(end, len, len as i64 + apart, count).unwrap()).unwrap();
            let layout = match gap {
                0 => BufferLayout::Contiguous,
                _ => {
                    let count = file.bytes().div_ceil(5);
                    let all = Extents::strided(3, 5, 5 + gap as i64, count).unwrap();
                    BufferLayout::Extents(all.slice(0, file.bytes()))
                }
            };
            let bytes = |pieces: &[Piece]| pieces.iter()
                .flat_map(|p| (0..p.len).map(move |i| (p.offset + i, p.memory + i))).collect::<Vec<_>>();
            let expected: Vec<Piece> = pieces(&file, &layout).collect();
            let (mut walk, mut got, mut limit) = (Walk::new(&file, &layout), Vec::new(), 0);
            for step in cut.into_iter().cycle() {
                if walk.position().is_none() { break; }
                limit += step;
                let before = got.len();
                walk.until(limit, |piece| got.push(piece));
                prop_assert!(got[before..].iter().all(|p| p.offset + p.len <= limit));
                prop_assert!(walk.position().is_none_or(|at| at >= limit));
            }
            prop_assert_eq!(bytes(&got), bytes(&expected));
        }
    }
}
