//! The contribution of one rank, or of several merged ranks, to the first agreement of a call over hosts: facts,
//! footprint and small data.

use super::footprint::Footprint;
use super::small::{OF_ONE_RANK, SmallData};
use crate::collectives::combine::{MAX_BODY, words};
use crate::engine::direction::Direction;
use crate::engine::facts::Facts;
use crate::engine::facts::agreed::Agreed;
use crate::engine::facts::ranges::RankRanges;
use crate::engine::facts::tiling::Tiling;
use crate::engine::facts::words::Words;
use crate::engine::policy::SMALL_OF_ALL;
use crate::fabric::shared::MAX_CONTRIBUTION;

/// The contribution of one rank, or of several merged ranks, to the first agreement of a call over hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contribution {
    /// Arguments, errors and amounts of the ranks.
    pub facts: Facts,
    ranges: RankRanges,
    /// The ranges of the file that the hosts of the ranks access.
    footprint: Footprint,
    /// The small data of the ranks, for rank 0 to write; empty if the ranks keep their data.
    pub data: SmallData,
}

impl Contribution {
    /// Returns the contribution of one rank without data; `footprint` is the ranges that the rank accesses.
    pub fn new(facts: Facts, footprint: Footprint) -> Self {
        Self {
            facts,
            ranges: RankRanges::from_ranges(facts.range().into_iter()),
            footprint,
            data: SmallData::default(),
        }
    }

    /// Adds this rank's data, for rank 0 to write.
    pub fn bring(&mut self, data: SmallData) {
        (self.facts.comes_along, self.data) = (true, data);
    }

    /// Merges the contribution of other ranks into this one.
    pub fn merge(&mut self, other: Self) {
        self.facts.merge(&other.facts);
        self.facts.comes_along &= self.data.bytes().len() + other.data.bytes().len() <= SMALL_OF_ALL;
        match self.facts.comes_along {
            true => self.data.append(other.data),
            false => self.data = SmallData::default(),
        }
        self.ranges.merge(other.ranges);
        self.footprint.merge(other.footprint);
    }

    /// Returns what all ranks agree on. This must be the merged contribution of all ranks.
    pub fn agreed(&self, tiling: Tiling, direction: Direction) -> Agreed {
        Agreed::from_facts(&self.facts, &self.ranges, tiling, self.footprint.hosts_are_apart(), direction)
    }

    /// Encodes the contribution. Leaves the footprint out if the message would be too long.
    pub fn body(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(8 * (Facts::COUNT + 3));
        let mut next = |value: u64| body.extend_from_slice(&value.to_le_bytes());
        self.facts.encode(&mut next);
        self.ranges.encode(&mut next);
        let (fixed, data) = (body.len(), self.data.bytes());
        self.footprint.put(&mut body);
        if body.len() + data.len() > if data.len() <= OF_ONE_RANK { MAX_CONTRIBUTION } else { MAX_BODY } {
            body.truncate(fixed);
            Footprint::unknown(0).put(&mut body);
        }
        body.extend_from_slice(data);
        body
    }

    /// Decodes a contribution. Data that is not whole blocks of the announced length counts as not sent: the ranks
    /// still have their data.
    pub fn from(body: &[u8]) -> Self {
        let (mut words, mut at) = (words(body), 0);
        let mut next = || {
            at += 8;
            words.next().unwrap_or_default()
        };
        let (mut facts, ranges) = (Facts::decode(&mut next), RankRanges::decode(&mut next));
        let footprint = Footprint::get(body, &mut at);
        let blocks =
            body.get(at..).filter(|_| facts.comes_along).and_then(|bytes| SmallData::from(bytes, facts.left.bytes));
        facts.comes_along = blocks.is_some();
        Self { facts, ranges, footprint, data: blocks.unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{BufferLayout, Extents, Source};
    use crate::engine::facts::reuse::AccessShift;

    #[test]
    fn a_contribution_survives_encoding() {
        let file = Extents::strided(7, 10, 30, 9).unwrap();
        let of =
            |file: &Extents| Facts::from_access((file, file), (AccessShift::No, 0), None, Some(Tiling::from_key(5)));
        let mut one = Contribution::new(of(&file), Footprint::from_extents(3, &file, 1));
        assert_eq!(Contribution::from(&one.body()), one);
        let source = [7u8; 90];
        one.bring(SmallData::from_access(3, &file, &BufferLayout::Contiguous, Source::from(&source[..])).unwrap());
        assert_eq!(Contribution::from(&one.body()), one);
        let mut none = Contribution::new(of(&Extents::empty()), Footprint::unknown(3));
        assert_eq!(Contribution::from(&none.body()), none);
        none.merge(one.clone());
        assert_eq!((none.facts, &none.data), (Facts { tiles: none.facts.tiles, ..one.facts }, &one.data));
        none.merge(Contribution::new(of(&file), Footprint::unknown(3)));
        assert!(!none.facts.comes_along && none.data.bytes().is_empty(), "as one rank keeps its data");
    }
}
