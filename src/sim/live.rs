//! Which entries of a queue are still there, and how many stand before one: a bit an entry.

const WORDS: usize = 64;

/// Entries by number, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct Live {
    words: Vec<u64>,
    /// Entries of every `WORDS` words.
    blocks: Vec<u32>,
    /// All blocks before this one are empty.
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
            self.words.push(0);
            if word.is_multiple_of(WORDS) {
                self.blocks.push(0);
            }
        }
        self.words[word] |= 1 << (number % 64);
        self.blocks[word / WORDS] += 1;
        self.next += 1;
        self.count += 1;
        number
    }

    /// Removes an entry; returns how many stood before it. O(1 + entries / 4096).
    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> usize {
        let word = number as usize / 64;
        let block = word / WORDS;
        let bit = 1u64 << (number % 64);
        let mut before: u32 = self.blocks[self.first..block].iter().sum();
        before += self.words[block * WORDS..word].iter().map(|word| word.count_ones()).sum::<u32>();
        before += (self.words[word] & (bit - 1)).count_ones();
        self.words[word] &= !bit;
        self.blocks[block] -= 1;
        self.count -= 1;
        while self.count > 0 && self.blocks[self.first] == 0 {
            self.first += 1;
        }
        before as usize
    }

    pub(super) fn len(&self) -> usize {
        self.count as usize
    }

    fn clear(&mut self) {
        self.words.clear();
        self.blocks.clear();
        (self.first, self.next) = (0, 0);
    }
}
