//! All registered collective algorithms and exchange kernels, as rows of one type.

use trib::Failure;
use tributary::exchange::{KERNELS, Kernel, two_layer};
use tributary_lab::collectives::{ALGORITHMS, Algorithm};

use super::notes;

/// Name of the operation of exchange kernels, beside the operations of collectives.
pub const EXCHANGE: &str = "exchange";

/// Text for a missing paper or a missing section.
const NONE: &str = "none";

/// Source of an algorithm's schedules.
#[derive(Clone, Copy)]
pub enum What {
    /// The schedules come from a row of [`ALGORITHMS`], the collective algorithms.
    Collective(&'static Algorithm),
    /// The schedules come from a row of [`KERNELS`], the exchange kernels.
    Flat(&'static Kernel),
    /// The schedules are those of the two-layer exchange, over the balanced kernel.
    TwoLayer,
}

/// Algorithm or kernel as a row of the catalogue.
pub struct Entry {
    /// Name of the operation in hints: `allgather`, ...
    pub operation: &'static str,
    /// Name of the algorithm in hints and reports.
    pub name: &'static str,
    /// Description of the algorithm in one line.
    pub about: &'static str,
    /// Paper, section and equation that describe the algorithm; `none` if it is in no paper.
    pub source: &'static str,
    /// Cost of the algorithm in words, t_s and t_w.
    pub cost: &'static str,
    /// Advice when to use the algorithm.
    pub when: &'static str,
    /// True if the algorithm allows blocks of different sizes.
    pub irregular: bool,
    /// Source of the algorithm's schedules.
    pub what: What,
}

impl From<&'static Algorithm> for Entry {
    fn from(algorithm: &'static Algorithm) -> Self {
        let Algorithm { name, about, source, cost, irregular, .. } = *algorithm;
        let operation = algorithm.operation.name();
        let when = notes::when(operation, name);
        Self { operation, name, about, source, cost, when, irregular, what: What::Collective(algorithm) }
    }
}

impl From<&'static Kernel> for Entry {
    fn from(kernel: &'static Kernel) -> Self {
        let Kernel { name, about, source, cost, when, .. } = *kernel;
        let source = source.unwrap_or(NONE);
        Self { operation: EXCHANGE, name, about, source, cost, when, irregular: true, what: What::Flat(kernel) }
    }
}

impl Entry {
    /// Returns true if the operation has one message that is whole on every rank, and no blocks.
    pub fn is_of_one_message(&self) -> bool {
        ["broadcast", "reduce", "allreduce"].contains(&self.operation)
    }

    /// Returns the paper, and the section in it: the source is split before the first section, equation and so on. A
    /// missing part is `none`.
    pub fn paper(&self) -> (String, String) {
        let first = self.source.split("; ").next().unwrap_or_default();
        let clauses: Vec<&str> = first.split(", ").collect();
        let place = clauses.iter().position(|clause| is_place(clause)).unwrap_or(clauses.len());
        let words = |clauses: &[&str]| if clauses.is_empty() { NONE.to_string() } else { clauses.join(", ") };
        (words(&clauses[..place]), words(&clauses[place..]))
    }
}

/// Returns true if this clause of a source names a section, equation or the like.
fn is_place(clause: &str) -> bool {
    let words = ["section", "Algorithm", "equation", "Lemma", "Theorem", "chapter", "figure"];
    clause.starts_with(|first: char| first.is_ascii_digit()) || words.iter().any(|word| clause.starts_with(word))
}

/// Returns all algorithms and kernels, by operation.
pub fn all() -> Vec<Entry> {
    let mut all: Vec<Entry> = ALGORITHMS.iter().map(|&algorithm| algorithm.into()).collect();
    all.extend(KERNELS.iter().map(|&kernel| Entry::from(kernel)));
    all.push(Entry {
        operation: EXCHANGE,
        name: two_layer::NAME,
        about: two_layer::ABOUT,
        source: two_layer::SOURCE,
        cost: two_layer::COST,
        when: two_layer::WHEN,
        irregular: true,
        what: What::TwoLayer,
    });
    all
}

/// Returns all operations, in the order of their first algorithms.
pub fn operations() -> Vec<&'static str> {
    let mut operations = Vec::new();
    for entry in all() {
        if !operations.contains(&entry.operation) {
            operations.push(entry.operation);
        }
    }
    operations
}

/// Returns the algorithm called `name`; `operation` is needed if several operations have one.
///
/// # Errors
/// An unknown operation; an unknown name, or one that several operations have.
pub fn find(name: &str, operation: Option<&str>) -> Result<Entry, Failure> {
    let refuse = |what: &str, value: &str, allowed: Vec<&str>| {
        Err(Failure::new(format!("{what}: {value}; allowed: {}", allowed.join(", "))))
    };
    if let Some(operation) = operation.filter(|operation| !operations().contains(operation)) {
        return refuse("operation", operation, operations());
    }
    let of_operation = |entry: &Entry| operation.is_none_or(|operation| entry.operation == operation);
    let (mut named, others): (Vec<_>, Vec<_>) =
        all().into_iter().filter(of_operation).partition(|entry| entry.name == name);
    match named.len() {
        0 => {
            let mut known: Vec<_> = others.into_iter().map(|entry| entry.name).collect();
            known.sort_unstable();
            known.dedup();
            refuse("algorithm", name, known)
        }
        1 => Ok(named.remove(0)),
        _ => {
            let operations = named.into_iter().map(|entry| entry.operation).collect();
            refuse("operation", &format!("none given, and several have {name}"), operations)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_name_a_paper_and_a_place() {
        let split = |source| Entry { source, ..all().swap_remove(0) }.paper();
        let both = |paper: &str, place: &str| (paper.to_string(), place.to_string());
        assert_eq!(split("Hasanov, thesis, 2.3.1.2, equation 2.2"), both("Hasanov, thesis", "2.3.1.2, equation 2.2"));
        assert_eq!(
            split("Bienz et al. 2022, Algorithm 1, equation 3; Bruck et al. 1997"),
            both("Bienz et al. 2022", "Algorithm 1, equation 3")
        );
        for entry in all() {
            let (paper, place) = entry.paper();
            assert!(!paper.is_empty() && !place.is_empty(), "{} {}: {}", entry.operation, entry.name, entry.source);
        }
    }

    #[test]
    fn names_are_found_and_others_refused() {
        assert_eq!(find("bruck", None).unwrap().operation, "allgather");
        assert_eq!(find("binomial", Some("reduce")).unwrap().operation, "reduce");
        assert!(
            find("binomial", None)
                .is_err_and(|why| why.to_string().contains("allowed: gather, scatter, broadcast, reduce"))
        );
        assert!(find("brick", Some("allgather")).is_err_and(|why| why.to_string().contains("allowed: bruck, ")));
        assert!(find("bruck", Some("gahter")).is_err_and(|why| why.to_string().contains("gather, scatter")));
    }
}
