//! A map from senders to numbers with O(1) look-up. Neighbouring senders are near each other in memory.

/// Number of senders in a page, which is one cache line.
const PAGE: usize = 16;

/// Map from a sender to a number.
#[derive(Debug, Default)]
pub(super) struct Senders {
    /// For every `PAGE` senders: the index of their page; 0 is none.
    directory: Vec<u32>,
    pages: Vec<[u32; PAGE]>,
}

impl Senders {
    /// Value of a sender without a number.
    pub(super) const NONE: u32 = u32::MAX;

    /// Returns a reference to the number of a sender, to be set.
    #[inline]
    pub(super) fn of(&mut self, sender: u32) -> &mut u32 {
        let (at, within) = (sender as usize / PAGE, sender as usize % PAGE);
        if at >= self.directory.len() {
            self.directory.resize(at + 1, 0);
        }
        let page = &mut self.directory[at];
        if *page == 0 {
            self.pages.push([Self::NONE; PAGE]);
            *page = self.pages.len() as u32;
        }
        &mut self.pages[*page as usize - 1][within]
    }

    /// Returns a reference to the number of a sender, if it has one.
    #[inline]
    pub(super) fn get(&mut self, sender: u32) -> Option<&mut u32> {
        let page = *self.directory.get(sender as usize / PAGE)?;
        let number = &mut self.pages.get_mut((page as usize).wrapping_sub(1))?[sender as usize % PAGE];
        (*number != Self::NONE).then_some(number)
    }
}
