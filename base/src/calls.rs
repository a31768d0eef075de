//! The collective calls that ranks are in, if not all ranks are in the same call.

use std::fmt::{Display, Formatter};

use crate::{Rank, wire};

/// Maximum number of ranks that a message lists by number.
const MOST_NAMED: usize = 8;

/// A list of ranks for a message: the first ranks by number, and the number of all ranks in the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankList {
    first: Vec<Rank>,
    count: usize,
}

impl RankList {
    /// Counts a rank, and keeps its number if the list still has fewer than 8.
    pub fn add(&mut self, rank: Rank) {
        self.count += 1;
        if self.first.len() < MOST_NAMED {
            self.first.push(rank);
        }
    }

    /// Returns `one` if the list has one rank, otherwise `several`.
    pub fn verb<'a>(&self, one: &'a str, several: &'a str) -> &'a str {
        if self.count == 1 { one } else { several }
    }
}

impl FromIterator<Rank> for RankList {
    fn from_iter<I: IntoIterator<Item = Rank>>(ranks: I) -> Self {
        let mut list = Self::default();
        ranks.into_iter().for_each(|rank| list.add(rank));
        list
    }
}

/// Prints "rank 1", "ranks 1, 3 and 7", or the first ranks and the number of the others.
impl Display for RankList {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (last, before) = match (self.first.split_last(), self.count.saturating_sub(self.first.len())) {
            (None, _) => return f.write_str("no rank"),
            (Some((one, [])), 0) => return write!(f, "rank {one}"),
            (Some((last, before)), 0) => (last.to_string(), before),
            (Some(_), more) => (format!("{more} more"), &self.first[..]),
        };
        let before: Vec<_> = before.iter().map(ToString::to_string).collect();
        write!(f, "ranks {} and {last}", before.join(", "))
    }
}

/// The ranks that are in one collective call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallGroup {
    /// Name of the call, such as the MPI function.
    pub call: String,
    /// The ranks that are in this call.
    pub ranks: RankList,
}

/// The ranks of a file by the collective call that they are in. The groups are in the order of their lowest ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallGroups {
    groups: Vec<CallGroup>,
}

wire::fields!(struct RankList { first, count });
wire::fields!(struct CallGroup { call, ranks });
wire::fields!(struct CallGroups { groups });

impl CallGroups {
    /// Returns the groups of ranks, given the kind and the name of each rank's call, in rank order.
    pub fn from_calls<'a>(calls: impl IntoIterator<Item = (u8, &'a str)>) -> Self {
        let mut groups: Vec<(u8, CallGroup)> = Vec::new();
        for (rank, (kind, call)) in calls.into_iter().enumerate() {
            match groups.iter_mut().find(|(other, group)| *other == kind && group.call == call) {
                Some((_, group)) => group.ranks.add(rank),
                None => groups.push((kind, CallGroup { call: call.to_string(), ranks: [rank].into_iter().collect() })),
            }
        }
        Self { groups: groups.into_iter().map(|(_, group)| group).collect() }
    }

    /// Returns text about the ranks after the call has failed, for a rank that is still in the call `own`: "rank 1 is in
    /// MPI_File_close; ranks 0 and 2 were in MPI_File_write_all, which failed".
    pub fn after_failure(&self, own: &str) -> String {
        let (here, others): (Vec<_>, Vec<_>) = self.groups.iter().partition(|group| group.call == own);
        let here =
            here.iter().map(|CallGroup { call, ranks }| format!("{ranks} {} in {call}", ranks.verb("is", "are")));
        let were = |CallGroup { call, ranks }: &CallGroup| format!("{ranks} {} in {call}", ranks.verb("was", "were"));
        let others = others.into_iter().map(|group| were(group) + ", which failed");
        here.chain(others).collect::<Vec<_>>().join("; ")
    }
}

/// Prints the lowest ranks of two calls: "rank 1 is in MPI_File_close, rank 0 in MPI_File_write_all".
impl Display for CallGroups {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let name =
            |CallGroup { call, ranks }: &CallGroup| (ranks.first.first().copied().unwrap_or_default(), call.clone());
        match self.groups.iter().take(2).map(name).collect::<Vec<_>>().as_slice() {
            [(lower, its), (higher, other)] => write!(f, "rank {higher} is in {other}, rank {lower} in {its}"),
            _ => f.write_str("ranks are in different calls"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_named_up_to_a_number() {
        let named = |ranks: std::ops::Range<usize>| ranks.collect::<RankList>().to_string();
        assert_eq!(named(3..4), "rank 3");
        assert_eq!(named(1..3), "ranks 1 and 2");
        assert_eq!(named(1..9), "ranks 1, 2, 3, 4, 5, 6, 7 and 8");
        assert_eq!(named(0..1000), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 992 more");
    }

    #[test]
    fn groups_name_each_call_and_its_ranks() {
        let groups = CallGroups::from_calls([(1, "write"), (9, "close"), (1, "write"), (1, "write_at")]);
        assert_eq!(groups.to_string(), "rank 1 is in close, rank 0 in write");
        let after =
            "rank 1 is in close; ranks 0 and 2 were in write, which failed; rank 3 was in write_at, which failed";
        assert_eq!(groups.after_failure("close"), after);
        assert_eq!(wire::from_bytes::<CallGroups>(&wire::to_bytes(&groups)), Some(groups));
        let same_name = CallGroups::from_calls([(1, "a call"), (2, "a call")]);
        assert_eq!(same_name.to_string(), "rank 1 is in a call, rank 0 in a call");
    }
}
