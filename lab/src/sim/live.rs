//! Bit set of the entries of a queue that are not removed, which counts the entries before a given one.

/// Number of levels of counts: a count covers 4, 16, 64 or 256 words; four counts of 16 bits share a number.
const LEVELS: usize = 4;
/// Number of words in a group; the count of a group has 32 bits.
const GROUP: usize = 256;

/// Bit set of the entries of a queue by number, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Live {
    words: Vec<u64>,
    /// Counts of level l: the number of entries in 4^l words; four counts share a number.
    counts: [Vec<u64>; LEVELS],
    /// Number of entries in every `GROUP` words.
    groups: Vec<u32>,
    /// Index of a group before which all groups are empty.
    first: usize,
    next: u32,
    count: u32,
}

impl Live {
    /// Adds an entry at the end; returns the number of the entry. Numbers restart at 0 whenever the set is empty.
    #[inline]
    pub(super) fn push(&mut self) -> u32 {
        if self.count == 0 {
            self.clear();
        }
        let (number, word) = (self.next, self.next as usize / 64);
        if word == self.words.len() {
            self.lengthen();
        }
        self.words[word] |= 1 << (number % 64);
        for (level, counts) in self.counts.iter_mut().enumerate() {
            let at = word >> (2 * level);
            counts[at / 4] += 1 << (16 * (at % 4));
        }
        self.groups[word / GROUP] += 1;
        self.next += 1;
        self.count += 1;
        number
    }

    /// Removes an entry; returns the number of entries before it. O(1 + entries / 16,384).
    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> usize {
        let word = number as usize / 64;
        let group = word / GROUP;
        let bit = 1u64 << (number % 64);
        let mut before: u32 = self.groups[self.first..group].iter().sum();
        for (level, counts) in self.counts.iter_mut().enumerate() {
            let at = word >> (2 * level);
            let (counts, one) = (&mut counts[at / 4], 1u64 << (16 * (at % 4)));
            // Adds up the earlier counts in the same number, in the highest 16 bits.
            before += ((*counts & (one - 1)).wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32;
            *counts -= one;
        }
        before += (self.words[word] & (bit - 1)).count_ones();
        self.words[word] &= !bit;
        self.groups[group] -= 1;
        self.count -= 1;
        while self.count > 0 && self.groups[self.first] == 0 {
            self.first += 1;
        }
        before as usize
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    /// Adds space for another group of words.
    fn lengthen(&mut self) {
        let groups = self.groups.len() + 1;
        self.groups.resize(groups, 0);
        self.words.resize(groups * GROUP, 0);
        for (level, counts) in self.counts.iter_mut().enumerate() {
            counts.resize(groups * (GROUP >> (2 * level)) / 4, 0);
        }
    }

    fn clear(&mut self) {
        self.words.clear();
        self.counts.iter_mut().for_each(Vec::clear);
        self.groups.clear();
        (self.first, self.next) = (0, 0);
    }
}
