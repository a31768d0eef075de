//! A bit set of the live entries of a queue, which counts the live entries before one.

/// Counts are kept for every 4, 16, 64 and 256 words, as four counts of 16 bits in a number.
const LEVELS: usize = 4;
/// Words of a group: its count has 32 bits.
const GROUP: usize = 256;

/// Entries by number, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Live {
    words: Vec<u64>,
    /// Of level l: entries of 4^l words each, four of them a number.
    counts: [Vec<u64>; LEVELS],
    /// Entries of every `GROUP` words.
    groups: Vec<u32>,
    /// All groups before this one are empty.
    first: usize,
    next: u32,
    count: u32,
}

impl Live {
    /// Adds an entry at the end; returns its number. Numbers begin again whenever nothing is left.
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

    /// Removes an entry; returns how many stood before it. O(1 + entries / 16,384).
    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> usize {
        let word = number as usize / 64;
        let group = word / GROUP;
        let bit = 1u64 << (number % 64);
        let mut before: u32 = self.groups[self.first..group].iter().sum();
        for (level, counts) in self.counts.iter_mut().enumerate() {
            let at = word >> (2 * level);
            let (counts, one) = (&mut counts[at / 4], 1u64 << (16 * (at % 4)));
            // The counts below, added up in the highest 16 bits.
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

    /// Adds a group.
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
