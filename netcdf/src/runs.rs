//! Converts parts of a variable to extents, row by row, without an allocation for each.

use tributary::access::Extent;

use crate::layout::Slot;

/// Iterator over the extents of parts of one variable. If a part includes all of the trailing dimensions, these make
/// one run of bytes.
pub(crate) struct Runs<'a> {
    slot: &'a Slot,
    /// Number of bytes from one element to the next along each dimension. The unlimited dimension, if there is one,
    /// comes first.
    pitch: Vec<u64>,
    /// Number of leading dimensions that are walked; the other dimensions make one run.
    outer: usize,
    count: Vec<u64>,
    at: Vec<u64>,
    /// Next extent; `None` at the end of the part.
    next: Option<Extent>,
}

impl<'a> Runs<'a> {
    /// Creates an iterator that has no part yet.
    pub fn new(slot: &'a Slot, record_size: u64) -> Self {
        let mut pitch = vec![slot.size; slot.shape.len()];
        for dimension in (1..slot.shape.len()).rev() {
            pitch[dimension - 1] = pitch[dimension] * slot.shape[dimension];
        }
        if slot.record {
            pitch.insert(0, record_size);
        }
        Self { slot, pitch, outer: 0, count: Vec::new(), at: Vec::new(), next: None }
    }

    /// Begins a part, which must lie inside the variable; `begin` is the offset of the first byte of the part's first
    /// record.
    pub fn start(&mut self, begin: u64, start: &[u64], count: &[u64]) {
        self.count.clear();
        self.count.extend(count);
        self.at.clear();
        self.at.resize(count.len(), 0);
        if count.contains(&0) {
            self.next = None;
            return;
        }
        let fixed = usize::from(self.slot.record);
        let mut len = self.slot.size;
        let mut dimension = count.len();
        // A dimension joins the run when everything behind it is whole.
        while dimension > 0 && len == self.pitch[dimension - 1] {
            dimension -= 1;
            len *= count[dimension];
        }
        self.outer = dimension;
        let moved = (fixed..start.len()).map(|d| start[d] * self.pitch[d]).sum::<u64>();
        self.next = Some(Extent { offset: begin + moved, len });
    }

    /// Returns the next extent of the part.
    pub fn next(&mut self) -> Option<Extent> {
        let extent = self.next?;
        let mut offset = extent.offset;
        self.next = None;
        for dimension in (0..self.outer).rev() {
            self.at[dimension] += 1;
            offset += self.pitch[dimension];
            if self.at[dimension] < self.count[dimension] {
                self.next = Some(Extent { offset, len: extent.len });
                break;
            }
            offset -= self.pitch[dimension] * self.count[dimension];
            self.at[dimension] = 0;
        }
        Some(extent)
    }
}
