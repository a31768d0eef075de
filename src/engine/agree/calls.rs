//! The collective call that each rank is in, as one integer of its facts. If ranks are in different calls (one reads
//! while others write), all ranks get an error that names both calls, before any rank uses data of another call.

use tributary_base::wire::{Output, Wire};

use crate::access::Direction;
use crate::topology::Rank;

/// A collective call on an open file. `Close` is the highest: the maximum over ranks shows whether a rank closes the
/// file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A collective write, such as `MPI_File_write_all`.
    Write = 1,
    /// A collective read, such as `MPI_File_read_all`.
    Read,
    /// A non-blocking collective write, such as `MPI_File_iwrite_all`.
    NonBlockingWrite,
    /// A non-blocking collective read, such as `MPI_File_iread_all`.
    NonBlockingRead,
    /// A split collective write, such as `MPI_File_write_all_begin`.
    SplitWrite,
    /// A split collective read, such as `MPI_File_read_all_begin`.
    SplitRead,
    /// A sync, such as `MPI_File_sync`.
    Sync,
    /// A change of the size, such as `MPI_File_set_size`.
    SetLen,
    /// A reservation of space in the file, such as `MPI_File_preallocate`.
    Preallocate,
    /// A change of the atomic mode, such as `MPI_File_set_atomicity`.
    SetAtomicity,
    /// A move of the shared file pointer, such as `MPI_File_seek_shared`.
    SeekShared,
    /// A write at the shared file pointer, in the order of ranks.
    Ordered,
    /// A query of the fan-in of all calls so far.
    FanIn,
    /// An agreement for the caller ([`File::agree`](crate::File::agree)).
    Agreement,
    /// A close of the file, such as `MPI_File_close`.
    Close,
}

impl CallKind {
    /// Returns the name of the call in messages, for callers without names of their own.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "a collective write",
            Self::Read => "a collective read",
            Self::NonBlockingWrite => "a non-blocking collective write",
            Self::NonBlockingRead => "a non-blocking collective read",
            Self::SplitWrite => "a split collective write",
            Self::SplitRead => "a split collective read",
            Self::Sync => "a sync",
            Self::SetLen => "a change of the size",
            Self::Preallocate => "a reservation of space",
            Self::SetAtomicity => "a change of the atomic mode",
            Self::SeekShared => "a move of the shared file pointer",
            Self::Ordered => "an ordered write",
            Self::FanIn => "a count of the fan-in",
            Self::Agreement => "an agreement",
            Self::Close => "the closing",
        }
    }
}

/// The form of a collective write or read. Calls of different forms do not match, as in MPI (MPI 4.1, sections 6.12 and
/// 14.4.5), if the caller names the form (`binding::call_as`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallForm {
    /// The call is complete when it returns; or the caller does not name the form.
    #[default]
    Blocking,
    /// The call returns a request, with which the program completes it.
    NonBlocking,
    /// A second call completes it (MPI's `_begin` and `_end`).
    Split,
}

impl From<(Direction, CallForm)> for CallKind {
    fn from(call: (Direction, CallForm)) -> Self {
        match call {
            (Direction::Write, CallForm::Blocking) => Self::Write,
            (Direction::Read, CallForm::Blocking) => Self::Read,
            (Direction::Write, CallForm::NonBlocking) => Self::NonBlockingWrite,
            (Direction::Read, CallForm::NonBlocking) => Self::NonBlockingRead,
            (Direction::Write, CallForm::Split) => Self::SplitWrite,
            (Direction::Read, CallForm::Split) => Self::SplitRead,
        }
    }
}

/// Number of bits of the rank in each half of [`CallKinds`]; the bits above hold the kind.
const RANK_BITS: u32 = 28;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;

/// The calls of one or more ranks, in one integer. Upper half: the lowest kind of call, and the lowest rank in such a
/// call. Lower half: the highest kind, and the lowest rank in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallKinds(u64);

impl CallKinds {
    /// The value of no rank: merging it changes nothing.
    pub const NONE: Self = Self((u32::MAX as u64) << 32);

    /// Returns the integer of one rank in a call of this kind.
    #[inline]
    pub fn new(kind: CallKind, rank: Rank) -> Self {
        let (kind, rank) = ((kind as u32) << RANK_BITS, rank as u32 & RANK_MASK);
        // The lower half merges by its maximum, so a lower rank is a higher number there.
        Self(u64::from(kind | rank) << 32 | u64::from(kind | (RANK_MASK - rank)))
    }

    /// Merges the calls of other ranks.
    #[inline]
    pub fn merge(&mut self, other: Self) {
        let (lowest, highest) = (self.0.min(other.0) >> 32, (self.0 as u32).max(other.0 as u32));
        self.0 = lowest << 32 | u64::from(highest);
    }

    /// Returns true if ranks are in different calls.
    #[inline]
    pub fn are_mixed(self) -> bool {
        let (lowest, highest) = ((self.0 >> 32) as u32, self.0 as u32);
        lowest >> RANK_BITS != highest >> RANK_BITS && self != Self::NONE
    }

    /// Returns the lowest rank that closes the file while other ranks are in other calls; `None` if no rank does.
    pub fn closed_by(self) -> Option<Rank> {
        let highest = self.0 as u32;
        let closes = self.are_mixed() && highest >> RANK_BITS == CallKind::Close as u32;
        closes.then_some((RANK_MASK - (highest & RANK_MASK)) as Rank)
    }
}

impl Wire for CallKinds {
    const SIZE: Option<usize> = u64::SIZE;

    #[inline(always)]
    fn encode(&self, to: &mut impl Output) {
        self.0.encode(to);
    }

    #[inline(always)]
    fn decode(from: &mut &[u8]) -> Option<Self> {
        u64::decode(from).map(Self)
    }
}

/// Reason why a first agreement fails, in one integer: a rank has an error, or ranks are in different calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFault {
    /// The lowest rank that has an error.
    OfRank(Rank),
    /// Ranks are in different calls.
    Mixed(CallKinds),
}

impl CallFault {
    /// Returns the rank that closes the file while other ranks make other calls; `None` if no rank does.
    pub fn closed_by(self) -> Option<Rank> {
        match self {
            Self::Mixed(calls) => calls.closed_by(),
            Self::OfRank(_) => None,
        }
    }
}

impl Default for CallFault {
    fn default() -> Self {
        Self::OfRank(0)
    }
}

impl Wire for CallFault {
    const SIZE: Option<usize> = u64::SIZE;

    #[inline(always)]
    fn encode(&self, to: &mut impl Output) {
        let word = match *self {
            Self::OfRank(rank) => rank as u64,
            Self::Mixed(CallKinds(word)) => word,
        };
        word.encode(to);
    }

    /// Decodes the integer. The kind of a call is in the highest bits, which a rank never uses.
    #[inline(always)]
    fn decode(from: &mut &[u8]) -> Option<Self> {
        Some(match u64::decode(from)? {
            rank if rank >> 60 == 0 => Self::OfRank(rank as Rank),
            word => Self::Mixed(CallKinds(word)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::CallKind::{Close, NonBlockingWrite, Read, Sync, Write};
    use super::*;
    use tributary_base::wire::{from_bytes, to_bytes};

    fn merged(calls: &[(CallKind, Rank)]) -> CallKinds {
        calls.iter().fold(CallKinds::NONE, |mut all, &(kind, rank)| {
            all.merge(CallKinds::new(kind, rank));
            all
        })
    }

    #[test]
    fn a_fault_survives_encoding() {
        for fault in [
            CallFault::OfRank(0),
            CallFault::OfRank(RANK_MASK as Rank),
            CallFault::Mixed(merged(&[(Write, 3), (Close, 0)])),
        ] {
            assert_eq!(from_bytes(&to_bytes(&fault)), Some(fault));
        }
    }

    #[test]
    fn calls_of_different_kinds_are_mixed() {
        assert!(!CallKinds::NONE.are_mixed());
        for alike in [&[(Write, 0)][..], &[(Read, 5), (Read, 0), (Read, 7)]] {
            assert_eq!((merged(alike).are_mixed(), merged(alike).closed_by()), (false, None));
        }
        for (calls, closes) in [
            (&[(Write, 0), (Read, 1), (Write, 2)][..], None),
            (&[(Write, 9), (NonBlockingWrite, 3), (Write, 7)], None),
            (&[(Sync, 0), (Write, 2), (Close, 1), (Close, 3)], Some(1)),
            (&[(Write, 0), (Close, (1 << 28) - 1)], Some((1 << 28) - 1)),
        ] {
            let mut reversed = calls.to_vec();
            reversed.reverse();
            for all in [merged(calls), merged(&reversed)] {
                assert_eq!((all.are_mixed(), all.closed_by()), (true, closes), "{calls:?}");
            }
        }
    }
}
