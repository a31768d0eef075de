//! Queues of linked blocks in one pool, which reuses the blocks.

use std::ops::Range;

/// Number of items in a block.
const BLOCK: usize = 16;
/// Number of blocks that are allocated together.
const TOGETHER: usize = 64;
const NONE: u32 = u32::MAX;

/// Memory of all queues of one kind. It is never returned to the system.
#[derive(Debug)]
pub(super) struct Pool<T> {
    /// Items of all blocks, block after block.
    pub(super) items: Vec<T>,
    /// For each block: the next block of its queue, or the next free block.
    next: Vec<u32>,
    /// First of the free blocks.
    free: u32,
}

/// Queue whose items are in a [`Pool`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    /// First block of the queue.
    first: u32,
    len: u32,
    /// Position of the next item in the pool; a multiple of `BLOCK` if the last block is full.
    end: usize,
}

impl Queue {
    pub(super) const EMPTY: Self = Self { first: NONE, len: 0, end: 0 };

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }
}

impl<T: Copy> Pool<T> {
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), next: Vec::new(), free: NONE }
    }

    /// Adds an item at the end of a queue.
    #[inline]
    pub(super) fn push(&mut self, queue: &mut Queue, item: T) {
        if queue.end.is_multiple_of(BLOCK) {
            self.lengthen(queue, item);
        }
        self.items[queue.end] = item;
        queue.end += 1;
        queue.len += 1;
    }

    /// Removes the first block of a queue; returns the positions of its items, valid until the block is given back.
    #[inline]
    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<Range<usize>> {
        if queue.len == 0 {
            return None;
        }
        let (block, len) = (queue.first as usize, (queue.len as usize).min(BLOCK));
        queue.first = self.next[block];
        queue.len -= len as u32;
        Some(block * BLOCK..block * BLOCK + len)
    }

    /// Gives a removed block back to the pool.
    #[inline]
    pub(super) fn give_back(&mut self, items: Range<usize>) {
        let block = items.start / BLOCK;
        self.next[block] = self.free;
        self.free = block as u32;
    }

    /// Adds a block to a queue. `item` fills new memory.
    fn lengthen(&mut self, queue: &mut Queue, item: T) {
        if self.free == NONE {
            let begin = self.next.len() as u32;
            self.items.resize(self.items.len() + TOGETHER * BLOCK, item);
            self.next.extend((1..TOGETHER as u32).map(|index| begin + index));
            self.next.push(NONE);
            self.free = begin;
        }
        let block = self.free;
        self.free = std::mem::replace(&mut self.next[block as usize], NONE);
        match queue.len {
            0 => queue.first = block,
            _ => self.next[(queue.end - 1) / BLOCK] = block,
        }
        queue.end = block as usize * BLOCK;
    }
}
