//! Judges choices by measurements: what the simulator would choose among the cases that were measured, and what the
//! library chooses.

use super::Row;

/// Maximum measured time of a good choice, as a multiple of the best.
pub const GOOD: f64 = 1.1;

/// Cases of one pattern, direction and rate, and what was chosen.
pub struct HostsChoice<'a> {
    /// Measured cases with a fixed kernel, number of aggregators and window, and those that were advised.
    pub candidates: Vec<&'a Row>,
    /// Candidate with the least measured time.
    pub best: &'a Row,
    /// Candidate with the least simulated time.
    pub chosen: &'a Row,
    /// Case in which the library chooses everything, if it was measured.
    pub library: Option<&'a Row>,
}

impl<'a> HostsChoice<'a> {
    /// Returns the choice of each group of rows with at least two candidates, in the order of the rows. O(rows x groups).
    pub fn all(rows: impl Iterator<Item = &'a Row>) -> Vec<Self> {
        let key = |row: &Row| (row.case.pattern.clone(), row.direction, row.case.rate);
        let mut groups: Vec<Vec<&Row>> = Vec::new();
        for row in rows {
            match groups.iter_mut().find(|group| group.first().is_some_and(|first| key(first) == key(row))) {
                Some(group) => group.push(row),
                None => groups.push(vec![row]),
            }
        }
        groups.into_iter().filter_map(Self::new).collect()
    }

    fn new(rows: Vec<&'a Row>) -> Option<Self> {
        let (library, candidates): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.case.chosen.as_deref() == Some(""));
        let least = |time: fn(&Row) -> f64| candidates.iter().copied().min_by(|a, b| time(a).total_cmp(&time(b)));
        let (best, chosen) = (least(|row| row.measured)?, least(|row| row.simulated)?);
        (candidates.len() > 1).then_some(Self { best, chosen, library: library.first().copied(), candidates })
    }

    /// Returns the measured time of a row as a multiple of the best candidate's.
    pub fn ratio(&self, row: &Row) -> f64 {
        row.measured / self.best.measured
    }

    /// Returns the ratio of the slowest candidate.
    pub fn worst(&self) -> f64 {
        self.candidates.iter().map(|row| self.ratio(row)).fold(1.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::{HostsCase, RowDirection};
    use super::*;

    fn row(chosen: Option<&str>, direction: RowDirection, (measured, simulated): (f64, f64)) -> Row {
        let case = HostsCase {
            pattern: "ior".to_string(),
            kernel: "balanced".to_string(),
            aggregators: 4,
            window: 1 << 20,
            buffers: None,
            rate: 25_000_000,
            fits_write: false,
            fits_read: false,
            chosen: chosen.map(str::to_string),
        };
        Row { case, direction, measured, most: measured, simulated }
    }

    #[test]
    fn choices_are_compared_with_the_best_of_their_group() {
        use RowDirection::{Read, Write};
        let rows = [
            row(None, Write, (2.0, 1.0)),
            row(None, Read, (7.0, 7.0)),
            row(None, Write, (1.0, 1.5)),
            row(Some("cb_nodes=2"), Write, (4.0, 4.0)),
            row(Some(""), Write, (1.25, 0.5)),
        ];
        let choices = HostsChoice::all(rows.iter());
        assert_eq!(choices.len(), 1, "one read is no choice");
        let choice = &choices[0];
        assert_eq!((choice.candidates.len(), choice.worst()), (3, 4.0));
        assert_eq!((choice.best.measured, choice.ratio(choice.chosen)), (1.0, 2.0));
        assert_eq!(choice.library.map(|row| choice.ratio(row)), Some(1.25), "the library's own is no candidate");
    }
}
