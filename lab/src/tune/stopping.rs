//! Decides when to stop repeating a measurement, by MPIBlib's rule.
//!
//! A measurement is repeated at least `least` and at most `most` times. In between it ends when the half-width of the
//! mean's 95 % confidence interval, relative to the mean, is at most `error` (Lastovetsky and others, MPIBlib; Hasanov,
//! thesis, 3.1.3). The interval is that of Student's t, for few repetitions of normally distributed times.

use tributary::error::{Error, Result};

use super::sample::STUDENT;
pub use super::sample::Sample;

/// Rule that says when a measurement is repeated often enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Minimum number of repetitions; 2 or more.
    pub least: u32,
    /// Maximum number of repetitions.
    pub most: u32,
    /// Relative error of the mean at which repetition ends.
    pub error: f64,
}

impl Default for Rule {
    /// Returns MPIBlib's rule: 5 to 100 repetitions, error 0.025.
    fn default() -> Self {
        Self { least: 5, most: 100, error: 0.025 }
    }
}

impl Rule {
    /// Checks the rule.
    ///
    /// # Errors
    /// The first number that is not allowed.
    pub fn check(&self) -> Result<()> {
        if self.least < 2 {
            return Err(Error::argument("minimum repetitions", self.least, "2 or more"));
        }
        if self.most < self.least {
            return Err(Error::argument("maximum repetitions", self.most, format!("{} or more", self.least)));
        }
        if !(self.error > 0.0 && self.error.is_finite()) {
            return Err(Error::argument("relative error", self.error, "above 0"));
        }
        Ok(())
    }

    /// Returns true if a sample needs no more repetitions.
    pub fn is_met(&self, sample: &Sample) -> bool {
        let enough = || half_width(sample) <= self.error * sample.mean;
        sample.count >= self.most || (sample.count >= self.least && enough())
    }
}

/// Returns half the width of the mean's confidence interval; infinite for fewer than 2 values.
pub fn half_width(sample: &Sample) -> f64 {
    student(sample.count.saturating_sub(1)) * sample.deviation_of_mean()
}

/// Returns Student's t for 95 %, to a thousandth: for few degrees of freedom from a table, for more by the expansion of
/// Cornish and Fisher.
fn student(freedom: u32) -> f64 {
    match STUDENT.get((freedom as usize).saturating_sub(1)) {
        Some(t) => *t,
        None => {
            let less = 1.0 / f64::from(freedom);
            1.959_964 + less * (2.372_271 + less * (2.822_499 + less * 2.555_850))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        let mut sample = Sample::default();
        values.iter().for_each(|&value| sample.add(value));
        sample
    }

    /// Checks the interval of 10 values with mean 5 and standard deviation 2; 2.262 is Student's t for 9 degrees of
    /// freedom and 0.95.
    #[test]
    fn the_interval_of_ten_values() {
        let spread = 2.0 * 0.9f64.sqrt();
        let values: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 5.0 - spread } else { 5.0 + spread }).collect();
        let sample = sample(&values);
        assert!((sample.mean - 5.0).abs() < 1e-12);
        assert!((half_width(&sample) - 2.262 * 2.0 / 10f64.sqrt()).abs() < 1e-3, "{}", half_width(&sample));
    }

    #[test]
    fn more_degrees_of_freedom_than_the_table_has() {
        for (freedom, t) in [(1, 12.706), (9, 2.262), (10, 2.228), (15, 2.131), (30, 2.042), (99, 1.984)] {
            assert!((student(freedom) - t).abs() < 1e-3, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn it_stops_between_the_least_and_the_most() {
        let rule = Rule { least: 3, most: 6, ..Rule::default() };
        assert!(!rule.is_met(&sample(&[1.0, 1.0])) && rule.is_met(&sample(&[1.0; 3])));
        let wild = [1.0, 9.0, 1.0, 9.0, 1.0, 9.0];
        assert!((2..6).all(|count| !rule.is_met(&sample(&wild[..count]))));
        assert!(rule.is_met(&sample(&wild)));
        assert_eq!(half_width(&sample(&[1.0])), f64::INFINITY);
    }

    #[test]
    fn bad_rules_are_refused() {
        let rule = Rule::default();
        for (bad, what) in [
            (Rule { least: 1, ..rule }, "minimum repetitions: 1"),
            (Rule { most: 4, ..rule }, "maximum repetitions: 4; allowed: 5 or more"),
            (Rule { error: f64::NAN, ..rule }, "relative error: NaN"),
        ] {
            assert!(bad.check().unwrap_err().to_string().starts_with(what));
        }
    }
}
