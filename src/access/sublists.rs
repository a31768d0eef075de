//! Splits a sequence of extents into sublists. A strided run is one sublist, whatever its number of extents. An inner
//! loop over a sublist has a fixed step, so the cost of decoding a node is paid once a sublist and not once an
//! extent.

use std::cell::RefCell;

use super::Extent;
use super::extents::{Base, Extents, Level, ListNode, NodeGroup, Odometer};
use super::packed::PackedIter;
use super::plain::PlainIter;
use crate::world::process::per_thread;

/// Number of extents of a packed list that are decoded at a time.
const DECODED_EXTENTS: usize = 512;

/// Some consecutive extents of a sequence: a strided run, or a slice of a list.
#[derive(Debug, Clone, Copy)]
pub enum Sublist<'a> {
    /// `count` extents, `stride` bytes from start to start.
    Run {
        /// First extent of the run.
        first: Extent,
        /// Number of bytes from the start of an extent to the start of the next.
        stride: i64,
        /// Number of extents.
        count: u64,
    },
    /// A list of extents, each shifted by `shift` bytes.
    List {
        /// Extents of the list, before the shift.
        extents: &'a [Extent],
        /// Number of bytes to add to every offset.
        shift: i64,
    },
}

impl Sublist<'_> {
    /// Returns the number of extents.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Self::Run { count, .. } => *count,
            Self::List { extents, .. } => extents.len() as u64,
        }
    }

    /// Returns true if the sublist has no extents; [`Sublists::advance`] skips such sublists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the extent with number `index`, which must be below [`Sublist::len`].
    #[inline]
    pub fn get(&self, index: u64) -> Extent {
        match self {
            Self::Run { first, stride, .. } => shifted(*first, stride.wrapping_mul(index as i64)),
            Self::List { extents, shift } => shifted(extents[index as usize], *shift),
        }
    }
}

/// Walk over a sequence of extents, sublist by sublist. O(sublists) in all, and O(extents) where a list is packed.
pub struct Sublists<'a> {
    nodes: std::slice::Iter<'a, ListNode>,
    /// Number of bytes by which all nodes are shifted.
    by: i64,
    state: CursorState<'a>,
    /// Current sublist. Not used inside a group, where the walk over the group has the current sublist.
    current: Current,
    decoded: Decoded,
}

/// Buffer of the extents that were decoded last.
#[derive(Default)]
struct Decoded(Vec<Extent>);

per_thread! {
    /// Buffers of finished walks, for later ones: a repeated call allocates nothing.
    static FREE_BUFFERS: RefCell<Vec<Vec<Extent>>> = const { RefCell::new(Vec::new()) };
}

impl Decoded {
    /// Decodes the next extents of `list`, at most [`DECODED_EXTENTS`].
    fn fill(&mut self, list: &mut ListIter<'_>) {
        if self.0.capacity() == 0 {
            self.0 = FREE_BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(DECODED_EXTENTS));
        }
        self.0.clear();
        match list {
            ListIter::Packed(list) => self.0.extend(list.take(DECODED_EXTENTS)),
            ListIter::Plain(list) => list.take_into(DECODED_EXTENTS, &mut self.0),
        }
    }
}

impl Drop for Decoded {
    fn drop(&mut self) {
        if self.0.capacity() > 0 {
            // In a thread that ends, this fails, and the buffer is freed.
            let _ = FREE_BUFFERS.try_with(|rooms| rooms.borrow_mut().push(std::mem::take(&mut self.0)));
        }
    }
}

enum CursorState<'a> {
    /// The walk is between two nodes.
    Between,
    /// The walk is in one extent that is repeated along the innermost level, with the repetitions of the outer
    /// levels.
    One(Extent, Level, Odometer<'a>),
    /// The walk is in a list: the list, its shift, its repetitions, and the repetition that is being decoded.
    List(&'a Base, i64, Odometer<'a>, Option<(ListIter<'a>, i64)>),
    /// The walk is in a group: the group, its shift, its repetitions, and the repetition whose copies are being
    /// walked.
    Group(&'a NodeGroup, i64, Odometer<'a>, Option<Copies<'a>>),
}

enum ListIter<'a> {
    Packed(PackedIter<'a>),
    Plain(PlainIter<'a>),
}

impl<'a> ListIter<'a> {
    fn from_base(base: &'a Base) -> Option<Self> {
        match base {
            Base::List(packed, _) => Some(Self::Packed(packed.iter())),
            Base::Plain(plain, _) => Some(Self::Plain(plain.iter())),
            Base::One(_) | Base::Group(..) => None,
        }
    }
}

struct Copies<'a> {
    places: Box<dyn Iterator<Item = i64> + 'a>,
    inside: Option<Box<Sublists<'a>>>,
}

#[derive(Clone, Copy)]
enum Current {
    Run(Extent, Level),
    /// The extents that were decoded last, shifted by this number of bytes.
    Decoded(i64),
}

impl<'a> Sublists<'a> {
    /// Creates a walk over all of `extents`, before its first sublist. O(1).
    pub fn new(extents: &'a Extents) -> Self {
        Self::from_nodes(&extents.nodes, 0)
    }

    fn from_nodes(nodes: &'a [ListNode], by: i64) -> Self {
        Self {
            nodes: nodes.iter(),
            by,
            state: CursorState::Between,
            current: Current::Decoded(0),
            decoded: Decoded::default(),
        }
    }

    /// Moves to the next sublist, which is not empty. Returns false at the end.
    pub fn advance(&mut self) -> bool {
        loop {
            let (next, by) = (&mut self.state, self.by);
            match next {
                CursorState::Between => match self.nodes.next() {
                    Some(node) => *next = enter(node),
                    None => return false,
                },
                CursorState::One(extent, inner, outer) => {
                    if let Some(at) = outer.next() {
                        self.current = Current::Run(shifted(*extent, at.wrapping_add(by)), *inner);
                        return true;
                    }
                    *next = CursorState::Between;
                }
                CursorState::List(base, shift, levels, open) => {
                    if open.is_none() {
                        let at = levels.next().map(|at| at.wrapping_add(*shift).wrapping_add(by));
                        *open = ListIter::from_base(base).zip(at);
                    }
                    let Some((list, shift)) = open else {
                        *next = CursorState::Between;
                        continue;
                    };
                    self.decoded.fill(list);
                    if !self.decoded.0.is_empty() {
                        self.current = Current::Decoded(*shift);
                        return true;
                    }
                    *open = None;
                }
                CursorState::Group(group, shift, levels, open) => {
                    if open.is_none() {
                        let copies = |at: i64| group.copies(at.wrapping_add(*shift).wrapping_add(by));
                        *open = levels.next().map(|at| Copies { places: Box::new(copies(at)), inside: None });
                    }
                    let Some(copies) = open else {
                        *next = CursorState::Between;
                        continue;
                    };
                    if copies.inside.as_mut().is_some_and(|inside| inside.advance()) {
                        return true;
                    }
                    match copies.places.next() {
                        Some(by) => copies.inside = Some(Box::new(Sublists::from_nodes(&group.nodes, by))),
                        None => *open = None,
                    }
                }
            }
        }
    }

    /// Returns the sublist that the last [`Sublists::advance`] reached. That call must have returned true.
    #[inline]
    pub fn current(&self) -> Sublist<'_> {
        if let CursorState::Group(_, _, _, Some(Copies { inside: Some(inside), .. })) = &self.state {
            return inside.current();
        }
        match self.current {
            Current::Run(first, Level { stride, count }) => Sublist::Run { first, stride, count },
            Current::Decoded(shift) => Sublist::List { extents: &self.decoded.0, shift },
        }
    }
}

/// Iterator over the extents of a sequence, one by one.
pub struct Each<'a> {
    sublists: Sublists<'a>,
    /// Number of extents in the current sublist; `index` of them have been taken.
    len: u64,
    index: u64,
}

impl<'a> Each<'a> {
    /// Creates an iterator that stands before the first extent. O(1).
    pub fn new(extents: &'a Extents) -> Self {
        Self { sublists: Sublists::new(extents), len: 0, index: 0 }
    }
}

impl Iterator for Each<'_> {
    type Item = Extent;

    #[inline]
    fn next(&mut self) -> Option<Extent> {
        if self.index == self.len {
            if !self.sublists.advance() {
                return None;
            }
            (self.len, self.index) = (self.sublists.current().len(), 0);
        }
        self.index += 1;
        Some(self.sublists.current().get(self.index - 1))
    }

    #[inline]
    fn fold<B, F: FnMut(B, Extent) -> B>(mut self, mut all: B, mut add: F) -> B {
        for index in self.index..self.len {
            all = add(all, self.sublists.current().get(index));
        }
        while self.sublists.advance() {
            all = match self.sublists.current() {
                Sublist::Run { first, stride, count } => {
                    (0..count as i64).fold(all, |all, at| add(all, shifted(first, stride.wrapping_mul(at))))
                }
                Sublist::List { extents, shift } => {
                    extents.iter().fold(all, |all, extent| add(all, shifted(*extent, shift)))
                }
            };
        }
        all
    }
}

fn enter(node: &ListNode) -> CursorState<'_> {
    match &node.base {
        Base::One(extent) => match node.levels.split_last() {
            Some((inner, outer)) => CursorState::One(*extent, *inner, Odometer::new(outer)),
            None => CursorState::One(*extent, Level { stride: 0, count: 1 }, Odometer::new(&[])),
        },
        Base::List(_, shift) | Base::Plain(_, shift) => {
            CursorState::List(&node.base, *shift, Odometer::new(&node.levels), None)
        }
        Base::Group(group, shift) => CursorState::Group(group, *shift, Odometer::new(&node.levels), None),
    }
}

#[inline]
fn shifted(extent: Extent, by: i64) -> Extent {
    Extent { offset: extent.offset.wrapping_add(by as u64), len: extent.len }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expanded(extents: &Extents) -> Vec<Extent> {
        let (mut sublists, mut all) = (Sublists::new(extents), Vec::new());
        while sublists.advance() {
            let sublist = sublists.current();
            assert!(!sublist.is_empty());
            all.extend((0..sublist.len()).map(|index| sublist.get(index)));
        }
        all
    }

    /// Returns the extents of the nodes without using sublists, for comparison.
    fn reference(nodes: &[ListNode], by: i64) -> Vec<Extent> {
        let repeated = |node: &ListNode, by: i64| match &node.base {
            Base::One(extent) => vec![shifted(*extent, by)],
            Base::List(list, shift) => list.iter().map(|extent| shifted(extent, by + shift)).collect(),
            Base::Plain(list, shift) => list.iter().map(|extent| shifted(extent, by + shift)).collect(),
            Base::Group(group, shift) => {
                group.copies(by + shift).flat_map(|by| reference(&group.nodes, by)).collect::<Vec<_>>()
            }
        };
        nodes.iter().flat_map(|node| Odometer::new(&node.levels).flat_map(move |at| repeated(node, by + at))).collect()
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
        fn batches_are_the_extents(extents in any_extents(), taken in 0usize..600) {
            let all = reference(&extents.nodes, 0);
            prop_assert_eq!(&expanded(&extents), &all);
            let mut each = extents.iter();
            let mut got: Vec<_> = each.by_ref().take(taken).collect();
            each.for_each(|extent| got.push(extent));
            prop_assert_eq!(got, all);
        }
    }
}
