//! The contribution of one rank, or of several merged ranks, to the first agreement of a call: facts, footprint and
//! small data. Its encoding is the same in a slot of shared memory and in a message.

use smallvec::SmallVec;
use tributary_base::wire::frame::Encoder;
use tributary_base::wire::{self, Output, Wire};

use super::footprint::Footprint;
use super::small::{self, OwnData, block_len, data_of_blocks};
use crate::access::{Access, Direction, Extents, Source};
use crate::engine::facts::Facts;
use crate::engine::facts::Agreed;
use crate::engine::facts::overlap::RankRanges;
use crate::engine::facts::overlap::Tiling;
use crate::engine::policy::SMALL_OF_ALL;
use crate::engine::storage::{Storage, StorageFailure};
use crate::topology::Rank;

/// The contribution of one rank, or of several merged ranks, to the first agreement of a call.
#[derive(Clone)]
pub struct Contribution<'a> {
    /// Arguments, errors and amounts of the ranks.
    pub facts: Facts,
    ranges: RankRanges,
    /// The ranges of the file that the hosts of the ranks access.
    footprint: Footprint,
    /// This rank's small data, for the rank that decides; `None` if this rank keeps its data.
    data: Option<OwnData<'a>>,
    /// Number of bytes of the small data of all ranks, encoded.
    small: usize,
    /// Maximum number of bytes of the small data of all ranks, encoded.
    most_small: usize,
    /// Offset of the small data in each merged contribution, in their order.
    starts: SmallVec<[u32; 16]>,
}

/// The parts of an encoded contribution.
struct Decoded {
    facts: Facts,
    ranges: RankRanges,
    footprint: Footprint,
    /// Offset and number of bytes of the small data.
    blocks: (usize, usize),
}

impl<'a> Contribution<'a> {
    /// Returns the contribution of one rank without data; `footprint` is the ranges that the rank accesses.
    #[inline]
    pub fn new(facts: Facts, footprint: Footprint) -> Self {
        Self {
            facts,
            ranges: RankRanges::from_ranges(facts.range().into_iter()),
            footprint,
            data: None,
            small: 0,
            most_small: SMALL_OF_ALL,
            starts: SmallVec::new(),
        }
    }

    /// Adds the data of this rank, `rank`, if its access to `file` is small enough. `data` is `None` in a prediction, which
    /// needs only the length.
    pub fn bring(&mut self, rank: Rank, file: &Extents, data: Option<Access<'a, Source<'a>>>) {
        if let Some(len) = block_len(file) {
            (self.facts.comes_along, self.small) = (true, len);
            self.data = data.map(|access| OwnData { rank, access });
        }
    }

    /// Removes the limit of the small data: it stays in shared memory.
    pub fn stay_in_memory(&mut self) {
        self.most_small = usize::MAX;
    }

    /// Merges the contribution of other ranks into this one.
    pub fn merge(&mut self, other: &Self) {
        self.add(&other.facts, other.ranges.clone(), other.footprint.clone(), other.small);
    }

    /// Merges the encoded contribution of other ranks into this one. Returns false if it cannot be decoded.
    #[must_use]
    pub fn merge_encoded(&mut self, body: &[u8]) -> bool {
        let decoded = Decoded::from(body);
        self.starts.push(decoded.as_ref().map_or(body.len(), |decoded| decoded.blocks.0) as u32);
        let is_decoded = decoded.is_some();
        if let Some(Decoded { facts, ranges, footprint, blocks }) = decoded {
            self.add(&facts, ranges, footprint, blocks.1);
        }
        is_decoded
    }

    fn add(&mut self, facts: &Facts, ranges: RankRanges, footprint: Footprint, small: usize) {
        self.small += small;
        self.facts.merge(facts);
        self.facts.comes_along &= self.small <= self.most_small;
        self.ranges.merge(ranges);
        self.footprint.merge(footprint);
    }

    /// Returns what all ranks agree on. This must be the merged contribution of all ranks.
    pub fn agreed(&self, tiling: Tiling, direction: Direction) -> Agreed {
        Agreed::from_facts(&self.facts, &self.ranges, tiling, self.footprint.hosts_are_apart(), direction)
    }

    /// Returns the united footprint of the ranks.
    pub fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    /// Encodes the contribution, which has been merged with `others`. Leaves the footprint out if there is no room.
    pub fn encode(&self, others: &[&[u8]], out: &mut Encoder<'_>) {
        out.put(&self.facts);
        out.put(&self.ranges);
        let small = if self.facts.comes_along { self.small } else { 0 };
        self.footprint.encode(out, small);
        if self.facts.comes_along {
            self.data.iter().for_each(|own| own.encode(out));
            self.blocks_of(others).for_each(|blocks| out.bytes(blocks));
        }
    }

    /// Returns the small data in merged contributions.
    fn blocks_of<'o>(&self, others: &[&'o [u8]]) -> impl Iterator<Item = &'o [u8]> {
        others.iter().zip(&self.starts).map(|(body, start)| body.get(*start as usize..).unwrap_or_default())
    }

    /// Writes the small data of all ranks, on the rank that decides; adds to `written`, in bytes.
    ///
    /// # Errors
    /// The first write that fails.
    pub fn write(
        &self,
        others: &[&[u8]],
        storage: &dyn Storage,
        written: &mut u64,
    ) -> std::result::Result<(), StorageFailure> {
        small::write(storage, self.data, (others, &self.starts), written)
    }
}

impl Decoded {
    /// Decodes a contribution; `None` if its facts or ranges are damaged. Data that is not whole blocks of the announced
    /// length counts as not brought: the ranks still have their data.
    fn from(body: &[u8]) -> Option<Self> {
        let mut rest = body;
        let mut facts: Facts = wire::take(&mut rest)?;
        let ranges = RankRanges::decode(&mut rest)?;
        let footprint = Footprint::decode(&mut rest);
        facts.comes_along &= data_of_blocks(rest) == Some(facts.left.bytes);
        let len = if facts.comes_along { rest.len() } else { 0 };
        Some(Self { facts, ranges, footprint, blocks: (body.len() - rest.len(), len) })
    }
}

impl Contribution<'_> {
    /// Returns a contribution from its encoding; `None` if it is damaged.
    pub fn from_encoded(body: &[u8]) -> Option<Self> {
        let Decoded { facts, ranges, footprint, blocks } = Decoded::from(body)?;
        let starts = SmallVec::from_slice(&[blocks.0 as u32]);
        Some(Self { ranges, small: blocks.1, starts, ..Self::new(facts, footprint) })
    }

    /// Returns the small data in `body`, the encoding of this contribution; nothing if the ranks keep their data.
    pub fn small_data<'b>(&self, body: &'b [u8]) -> &'b [u8] {
        if self.facts.comes_along { &body[self.starts[0] as usize..] } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use tributary_base::wire::frame;

    use super::*;
    use crate::access::{BufferLayout, Source};
    use crate::engine::facts::AccessShift;

    fn encoded(one: &Contribution<'_>, others: &[&[u8]]) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 16];
        frame::put(&mut bytes, |out| one.encode(others, out));
        frame::get(&bytes).to_vec()
    }

    #[test]
    fn a_contribution_survives_encoding() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let of =
            |file: &Extents| Facts::from_access((file, file), (AccessShift::No, 0), None, Some(Tiling::from_key(5)));
        let check = |one: &Contribution<'_>| {
            let decoded = Decoded::from(&encoded(one, &[])).unwrap();
            assert_eq!((decoded.facts, &decoded.ranges, &decoded.footprint), (one.facts, &one.ranges, &one.footprint));
            assert_eq!(decoded.blocks.1, if one.facts.comes_along { one.small } else { 0 });
        };
        let mut one = Contribution::new(of(&file), Footprint::from_extents(3, &file, 1));
        check(&one);
        let source = [7u8; 90];
        let access = Access { file: &file, layout: &BufferLayout::Contiguous, memory: Source::from(&source[..]) };
        one.bring(3, access.file, Some(access));
        check(&one);
        let mut none = Contribution::new(of(&Extents::empty()), Footprint::unknown(0));
        let empty = Extents::empty();
        none.bring(1, &empty, Some(Access { file: &empty, ..access }));
        check(&none);
        let body = encoded(&one, &[]);
        assert!(none.merge_encoded(&body));
        assert_eq!((none.facts, none.small), (Facts { tiles: none.facts.tiles, ..one.facts }, one.small));
        assert!(encoded(&none, &[&body]).ends_with(&source));
        assert!(none.merge_encoded(&encoded(&Contribution::new(of(&file), Footprint::unknown(3)), &[])));
        assert!(!none.facts.comes_along, "as one rank keeps its data");
        let mut damaged = body;
        damaged[8] = 2;
        assert!(!none.merge_encoded(&damaged) && !none.merge_encoded(&[]), "a flag is 0 or 1");
    }
}
