//! A collective write while it runs: where its ranks write, and which of its bytes another rank must wait for.

use std::ops::Range;

/// Names a collective write on a file.
#[derive(Debug, Clone, Copy)]
pub struct CallOnFile {
    /// The name that the caller gave the call, such as the MPI function.
    pub name: &'static str,
    /// Its number among the collective writes on the file, from 1.
    pub number: u64,
}

/// The facts that ranks have agreed on about a collective write.
#[derive(Debug, Clone, Copy)]
pub struct AgreedWrite {
    /// Start and end of what the ranks write in the file.
    pub range: (u64, u64),
    /// True if some ranks have written their bytes before the agreement.
    pub has_early: bool,
    /// True if the ranks repeat what some have written before the agreement, because ranks overlap.
    pub is_repeated: bool,
    /// True if several ranks may write the same byte, each by itself.
    pub may_overlap: bool,
}

/// A collective write that runs.
#[derive(Debug, Clone, Copy)]
pub struct RunningCall {
    /// The call.
    pub name: CallOnFile,
    agreed: AgreedWrite,
    is_agreed: bool,
}

impl RunningCall {
    /// Returns a call about which the ranks have agreed on nothing: it may write anywhere.
    pub fn new(name: CallOnFile) -> Self {
        let agreed = AgreedWrite { range: (0, u64::MAX), has_early: true, is_repeated: false, may_overlap: false };
        Self { name, agreed, is_agreed: false }
    }

    /// Adds what the ranks have agreed on; the ranks of a host agree on a part of the call later.
    pub fn agree(&mut self, agreed: AgreedWrite) {
        if !self.is_agreed {
            (self.agreed, self.is_agreed) = (agreed, true);
            return;
        }
        self.agreed.has_early |= agreed.has_early;
        self.agreed.is_repeated |= agreed.is_repeated;
        self.agreed.may_overlap |= agreed.may_overlap;
    }

    /// Notes that the ranks repeat the writes of the call.
    pub fn repeat(&mut self) {
        self.agreed.is_repeated = true;
    }

    /// Returns true if only this rank has written what it writes in the call.
    pub fn owns_bytes(&self) -> bool {
        !self.agreed.may_overlap
    }

    /// Returns the range that the ranks write.
    pub fn range(&self) -> Range<u64> {
        self.agreed.range.0..self.agreed.range.1
    }

    /// Returns the range in which other ranks may have written in this call before an access of this rank, in the same
    /// call. A write of bytes that only this rank has waits for them only if the call repeats its writes; a read, and a
    /// write with filled holes, touches bytes of others, too.
    pub fn written_before(&self, is_own_write: bool) -> Option<Range<u64>> {
        let AgreedWrite { has_early, is_repeated, .. } = self.agreed;
        (is_repeated || has_early && !is_own_write).then(|| self.range())
    }
}
