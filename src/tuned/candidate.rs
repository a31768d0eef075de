//! A candidate: an algorithm in a number of groups, which is measured and which an entry of a table names.

use crate::collectives::{
    GATHERS, Gather, Groups, IN_PLACE, InPlace, Operation, Problem, Scheme, hierarchical, in_place::Part,
};
use crate::error::{Error, Result};
use crate::schedule::{Builder, Schedule};

/// The operations that can be tuned.
pub const OPERATIONS: [Operation; 5] =
    [Operation::Broadcast, Operation::Reduce, Operation::Allreduce, Operation::Gather, Operation::Scatter];

/// One of the two sorts of hierarchies.
#[derive(Debug)]
enum Sort {
    InPlace(Scheme),
    Gather(Scheme<Gather>),
}

/// See the module.
#[derive(Debug)]
pub struct Candidate {
    /// The operation.
    pub operation: Operation,
    /// Number of groups; with 1, the inner algorithm runs alone.
    pub groups: usize,
    /// The algorithm inside the groups.
    pub inner: &'static str,
    /// The algorithm among their leaders.
    pub outer: &'static str,
    sort: Sort,
}

impl Candidate {
    /// The candidate with the algorithms of these names.
    ///
    /// # Errors
    /// An operation that cannot be tuned, a name that is no algorithm of the operation, zero groups.
    pub fn new(operation: Operation, groups: usize, inner: &str, outer: &str) -> Result<Self> {
        let sort = match operation {
            Operation::Broadcast | Operation::Reduce | Operation::Allreduce => {
                let (inner, outer) = (in_place(operation, "inner", inner)?, in_place(operation, "outer", outer)?);
                Sort::InPlace(hierarchical(Groups::Count(groups), inner, outer)?)
            }
            Operation::Gather | Operation::Scatter => {
                let (inner, outer) = (gather("inner", inner)?, gather("outer", outer)?);
                Sort::Gather(hierarchical(Groups::Count(groups), inner, outer)?)
            }
            Operation::Allgather | Operation::IntergroupAllgather => {
                return Err(Error::argument("operation", operation, words(OPERATIONS)));
            }
        };
        // The names of the registry, which are static.
        let name = |name: &str| names(operation).find(|it| *it == name).unwrap_or_default();
        Ok(Self { operation, groups, inner: name(inner), outer: name(outer), sort })
    }

    /// All candidates for `ranks` ranks: each algorithm alone, and in f groups for each factor f of `ranks` other than 1 and
    /// `ranks`; if `quick`, only for the factor nearest to the square root.
    ///
    /// # Errors
    /// An operation that cannot be tuned.
    pub fn all(operation: Operation, ranks: usize, quick: bool) -> Result<Vec<Self>> {
        let factors: Vec<usize> = (2..ranks).filter(|&groups| ranks.is_multiple_of(groups)).collect();
        // The nearer a factor and its cofactor are to the square root, the smaller is the larger of the two.
        let nearest = factors.iter().copied().min_by_key(|&groups| groups.max(ranks / groups));
        let groups: Vec<usize> = if quick { nearest.into_iter().collect() } else { factors };
        let groups = || std::iter::once(1).chain(groups.iter().copied());
        names(operation).flat_map(|name| groups().map(move |groups| Self::new(operation, groups, name, name))).collect()
    }

    /// The schedule of one rank.
    ///
    /// # Errors
    /// A bad problem ([`Problem::check`]), more groups than ranks: the same error on all ranks.
    pub fn schedule(&self, problem: &Problem<'_>) -> Result<Schedule> {
        match &self.sort {
            Sort::InPlace(scheme) => scheme.schedule(problem),
            Sort::Gather(scheme) if self.operation == Operation::Scatter => scheme.scatter(problem),
            Sort::Gather(scheme) => scheme.gather(problem),
        }
    }

    /// The schedule of a part in place; `None` for gather and scatter. With more groups than ranks, each rank is a group.
    pub fn part(&self, part: &Part<'_>) -> Option<Schedule> {
        let Sort::InPlace(scheme) = &self.sort else { return None };
        let mut builder = Builder::default();
        scheme.append(part, &mut builder, &[]);
        Some(builder.finish())
    }
}

/// The algorithms of an operation that hierarchies can be built from.
fn names(operation: Operation) -> Box<dyn Iterator<Item = &'static str>> {
    match operation {
        Operation::Gather | Operation::Scatter => Box::new(GATHERS.iter().map(|it| it.gather.name)),
        _ => {
            let same = move |it: &&&InPlace| it.algorithm.operation == operation;
            Box::new(IN_PLACE.iter().filter(same).map(|it| it.algorithm.name))
        }
    }
}

fn in_place(operation: Operation, what: &str, name: &str) -> Result<&'static InPlace> {
    let same = |it: &&InPlace| it.algorithm.operation == operation && it.algorithm.name == name;
    IN_PLACE.iter().copied().find(same).ok_or_else(|| Error::argument(what, name, words(names(operation))))
}

fn gather(what: &str, name: &str) -> Result<&'static Gather> {
    let same = |it: &&Gather| it.gather.name == name;
    GATHERS.iter().copied().find(same).ok_or_else(|| Error::argument(what, name, words(names(Operation::Gather))))
}

fn words(words: impl IntoIterator<Item = impl ToString>) -> String {
    words.into_iter().map(|word| word.to_string()).collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_factor_with_every_algorithm() {
        let groups = |ranks, quick| {
            let all = Candidate::all(Operation::Scatter, ranks, quick).unwrap();
            assert_eq!(all.len() % GATHERS.len(), 0);
            all.iter().take(all.len() / GATHERS.len()).map(|it| it.groups).collect::<Vec<_>>()
        };
        assert_eq!((groups(12, false), groups(12, true)), (vec![1, 2, 3, 4, 6], vec![1, 3]));
        assert_eq!((groups(7, false), groups(1, true), groups(16, true)), (vec![1], vec![1], vec![1, 4]));
        for operation in OPERATIONS {
            assert!(!Candidate::all(operation, 4, true).unwrap().is_empty());
        }
    }

    #[test]
    fn errors_name_unknown_algorithms() {
        let text = |operation, inner, outer| Candidate::new(operation, 2, inner, outer).unwrap_err().to_string();
        assert!(text(Operation::Reduce, "flat", "ring").starts_with("outer: ring; allowed: flat|"));
        assert!(text(Operation::Gather, "chain", "linear").starts_with("inner: chain; allowed: linear|"));
        assert!(text(Operation::Allgather, "ring", "ring").starts_with("operation: allgather; allowed: broadcast|"));
    }
}
