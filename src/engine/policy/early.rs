//! Decides whether ranks may write pieces before the first agreement, when other ranks may not be in the call yet.
//!
//! Another library may write the file between collective calls by data sieving: it reads a range, replaces its pieces
//! and writes the range back (ROMIO, in independent writes; under a lock that this library does not take). A rank that
//! has not arrived may be doing that, and would overwrite what others have written early. So where a caller names such
//! [writers](WritersBeside), ranks write early only after they have agreed on it, and from then on every rank keeps
//! its other library from sieving ([`EarlyWrites::are_agreed_on`]).

use crate::engine::facts::agreed::Agreed;

/// Facts that a rank knows about another library that may write the file between collective calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WritersBeside {
    /// True if all ranks are known to be in this call: none of them is in a call of the other library.
    pub all_are_here: bool,
    /// True if the other library has written a strided access for this rank, with data sieving if nobody keeps it
    /// from that. Then ranks stop writing early, so that it may sieve.
    pub have_sieved: bool,
}

/// The decision if a rank may write before the first agreement.
#[derive(Debug, Default)]
pub struct EarlyWrites {
    beside: Option<WritersBeside>,
    are_agreed_on: bool,
}

impl EarlyWrites {
    /// Sets what this rank knows of writers beside this library, for the next call. Without it there are none.
    pub fn set(&mut self, beside: WritersBeside) {
        self.beside = Some(beside);
    }

    /// Returns true if this rank may write before the first agreement of the next call.
    pub fn are_allowed(&self) -> bool {
        match self.beside {
            None => true,
            Some(beside) => beside.all_are_here || self.are_agreed_on,
        }
    }

    /// Returns true if another library has sieved for this rank.
    pub fn have_sieved(&self) -> bool {
        self.beside.is_some_and(|beside| beside.have_sieved)
    }

    /// Returns true if a rank of the file may write before other ranks are in the next call; the same on all ranks.
    pub fn are_agreed_on(&self) -> bool {
        self.beside.is_some() && self.are_agreed_on
    }

    /// Learns from the first agreement of all ranks in a call.
    pub fn learn(&mut self, agreed: &Agreed) {
        self.are_agreed_on = !agreed.have_sieved && (agreed.wants_early || self.are_agreed_on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_early_after_an_agreement_until_another_library_sieves() {
        let mut early = EarlyWrites::default();
        assert!(early.are_allowed() && !early.are_agreed_on(), "no other library");
        early.set(WritersBeside { all_are_here: true, ..WritersBeside::default() });
        assert!(early.are_allowed(), "the call that opens the file");
        early.set(WritersBeside::default());
        early.learn(&Agreed::default());
        assert!(!early.are_allowed(), "no rank wanted it");
        early.learn(&Agreed { wants_early: true, ..Agreed::default() });
        early.learn(&Agreed::default());
        assert!(early.are_allowed() && early.are_agreed_on());
        early.learn(&Agreed { wants_early: true, have_sieved: true, ..Agreed::default() });
        assert!(!early.are_allowed() && !early.are_agreed_on());
    }
}
