//! The rank list of the balanced kernel: any ordering of all ranks (main paper, Algorithm 2, line 4).

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::topology::{Rank, Topology};

/// An ordering of all ranks. The identity takes no memory, any other takes O(ranks), which clones share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankList {
    /// 0, 1, 2, ...: the paper's default.
    Identity,
    /// Any other ordering.
    Listed(Arc<Listed>),
}

/// A listed ordering.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    position: Vec<u32>,
}

impl RankList {
    /// The first rank of every node, then the second of every node, and so on: consecutive entries are on different nodes.
    /// O(ranks).
    pub fn node_round_robin(topology: &Topology) -> Self {
        Self::from_permutation(&topology.round_robin())
    }

    /// The ordering `list`. O(ranks).
    ///
    /// # Errors
    /// `list` is not a permutation of 0 to its length - 1.
    pub fn explicit(list: Vec<Rank>) -> Result<Self> {
        let mut seen = vec![false; list.len()];
        for &rank in &list {
            if rank >= list.len() || std::mem::replace(&mut seen[rank], true) {
                let allowed = format!("each rank from 0 to {} once", list.len().saturating_sub(1));
                return Err(Error::hint("trib_rank_list", format!("{list:?}"), allowed));
            }
        }
        Ok(Self::from_permutation(&list))
    }

    fn from_permutation(list: &[Rank]) -> Self {
        let mut position = vec![0; list.len()];
        list.iter().enumerate().for_each(|(at, &rank)| position[rank] = at as u32);
        Self::Listed(Arc::new(Listed { position }))
    }

    /// The position of `rank` in the list. O(1).
    #[inline]
    pub fn position(&self, rank: Rank) -> usize {
        match self {
            Self::Identity => rank,
            Self::Listed(listed) => listed.position[rank] as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_interleaves_nodes() {
        let list = RankList::node_round_robin(&Topology::blocks(8, 4).unwrap());
        let by_position: Vec<_> = (0..8).map(|at| (0..8).find(|&r| list.position(r) == at).unwrap()).collect();
        assert_eq!(by_position, [0, 4, 1, 5, 2, 6, 3, 7], "the list of figure 1 (b)");
    }

    #[test]
    fn lists_that_are_no_permutation_are_refused() {
        assert!(RankList::explicit(vec![2, 0, 1]).is_ok());
        assert!(RankList::explicit(vec![0, 0, 1]).is_err());
        assert!(RankList::explicit(vec![0, 3, 1]).is_err());
    }
}
