//! Two disjoint groups of ranks, in any interleaving: compute ranks and I/O ranks, or the sides of an
//! inter-communicator.

use tributary::error::{Error, Result};
use tributary::topology::Rank;

/// Groups A and B of an intergroup operation, each in the order of its blocks. Either may be empty, and a rank may be
/// in neither.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwoGroups {
    a: Vec<Rank>,
    b: Vec<Rank>,
}

impl TwoGroups {
    /// Creates groups with these members. Local; O(members log members).
    ///
    /// # Errors
    /// A rank that is named twice.
    pub fn new(a: Vec<Rank>, b: Vec<Rank>) -> Result<Self> {
        let mut all: Vec<Rank> = a.iter().chain(&b).copied().collect();
        all.sort_unstable();
        if let Some(twice) = all.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::argument("rank in two places of two groups", twice[0], "every rank at most once"));
        }
        Ok(Self { a, b })
    }

    /// Returns the ranks of group A.
    pub fn a(&self) -> &[Rank] {
        &self.a
    }

    /// Returns the ranks of group B.
    pub fn b(&self) -> &[Rank] {
        &self.b
    }

    /// Checks that all members are below `ranks`. O(members).
    ///
    /// # Errors
    /// A member that is not a rank.
    pub fn check(&self, ranks: usize) -> Result<()> {
        match self.a.iter().chain(&self.b).find(|&&member| member >= ranks) {
            Some(member) => Err(Error::argument("rank in a group", member, format!("0 to {}", ranks - 1))),
            None => Ok(()),
        }
    }

    /// Returns the group of a rank, the rank's number in the group, and the other group; `None` if the rank is in
    /// neither. O(members).
    pub fn locate(&self, rank: Rank) -> Option<(&[Rank], usize, &[Rank])> {
        let number = |group: &[Rank]| group.iter().position(|&member| member == rank);
        let in_a = number(&self.a).map(|number| (self.a(), number, self.b()));
        in_a.or_else(|| number(&self.b).map(|number| (self.b(), number, self.a())))
    }
}
