//! When to stop repeating a measurement: MPIBlib's rule.
//!
//! A measurement is repeated at least `least` and at most `most` times. In between it ends when the half-width of the mean's
//! confidence interval, relative to the mean, is at most `error` (Lastovetsky and others, MPIBlib; Hasanov, thesis, 3.1.3).
//! The interval is that of Student's t, for few repetitions of normally distributed times.

use statrs::distribution::{ContinuousCDF, StudentsT};

use tributary::error::{Error, Result};
pub use tributary::sample::Sample;

/// The stopping rule of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Repetitions at least; 2 or more.
    pub least: u32,
    /// Repetitions at most.
    pub most: u32,
    /// The confidence level, between 0 and 1.
    pub confidence: f64,
    /// The relative error of the mean at which repetition ends.
    pub error: f64,
}

impl Default for Rule {
    /// MPIBlib's: 5 to 100 repetitions, confidence 0.95, error 0.025.
    fn default() -> Self {
        Self { least: 5, most: 100, confidence: 0.95, error: 0.025 }
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
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(Error::argument("confidence", self.confidence, "between 0 and 1"));
        }
        if !(self.error > 0.0 && self.error.is_finite()) {
            return Err(Error::argument("relative error", self.error, "above 0"));
        }
        Ok(())
    }

    /// Whether a sample needs no more repetitions.
    pub fn is_met(&self, sample: &Sample) -> bool {
        let enough = || half_width(sample, self.confidence) <= self.error * sample.mean;
        sample.count >= self.most || (sample.count >= self.least && enough())
    }
}

/// Half the width of the mean's confidence interval; infinite for fewer than 2 values.
pub fn half_width(sample: &Sample, confidence: f64) -> f64 {
    let freedom = f64::from(sample.count) - 1.0;
    match StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| freedom > 0.0) {
        Some(student) => student.inverse_cdf(0.5 + confidence / 2.0) * sample.deviation_of_mean(),
        None => f64::INFINITY,
    }
}

/// The half-width relative to the mean.
pub fn relative_error(sample: &Sample, confidence: f64) -> f64 {
    if sample.mean > 0.0 { half_width(sample, confidence) / sample.mean } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(values: &[f64]) -> Sample {
        let mut sample = Sample::default();
        values.iter().for_each(|&value| sample.add(value));
        sample
    }

    /// Mean 5, standard deviation 2, 10 values: 2.262 is Student's t for 9 degrees of freedom and 0.95.
    #[test]
    fn the_interval_of_ten_values() {
        let spread = 2.0 * 0.9f64.sqrt();
        let values: Vec<f64> = (0..10).map(|i| if i % 2 == 0 { 5.0 - spread } else { 5.0 + spread }).collect();
        let sample = sample(&values);
        assert!((sample.mean - 5.0).abs() < 1e-12);
        assert!((half_width(&sample, 0.95) - 2.262 * 2.0 / 10f64.sqrt()).abs() < 1e-3, "{}", half_width(&sample, 0.95));
    }

    /// The library, which links no statistics, has the numbers in a table.
    #[test]
    fn the_table_of_the_library_is_students() {
        for (freedom, t) in (1..).map(f64::from).zip(tributary::sample::STUDENT) {
            let exact = StudentsT::new(0.0, 1.0, freedom).unwrap().inverse_cdf(0.975);
            assert!((t - exact).abs() < 1e-3, "{freedom}: {t}, not {exact}");
        }
    }

    #[test]
    fn it_stops_between_the_least_and_the_most() {
        let rule = Rule { least: 3, most: 6, ..Rule::default() };
        assert!(!rule.is_met(&sample(&[1.0, 1.0])) && rule.is_met(&sample(&[1.0; 3])));
        let wild = [1.0, 9.0, 1.0, 9.0, 1.0, 9.0];
        assert!((2..6).all(|count| !rule.is_met(&sample(&wild[..count]))));
        assert!(rule.is_met(&sample(&wild)));
        assert_eq!(half_width(&sample(&[1.0]), 0.95), f64::INFINITY);
    }

    #[test]
    fn bad_rules_are_refused() {
        let rule = Rule::default();
        for (bad, what) in [
            (Rule { least: 1, ..rule }, "minimum repetitions: 1"),
            (Rule { most: 4, ..rule }, "maximum repetitions: 4; allowed: 5 or more"),
            (Rule { confidence: 1.0, ..rule }, "confidence: 1"),
            (Rule { error: f64::NAN, ..rule }, "relative error: NaN"),
        ] {
            assert!(bad.check().unwrap_err().to_string().starts_with(what));
        }
    }
}
