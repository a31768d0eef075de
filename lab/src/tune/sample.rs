//! Statistics of repeated measurements: the mean, and its error.

/// Statistics of the times measured so far: count, mean and sum of squared differences from the mean (Welford).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// Number of values.
    pub count: u32,
    /// Mean of the values.
    pub mean: f64,
    squares: f64,
}

impl Sample {
    /// Adds a measured value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / f64::from(self.count);
        self.squares += before * (value - self.mean);
    }

    /// Returns the estimated standard deviation of the mean; infinite for fewer than 2 values.
    pub fn deviation_of_mean(&self) -> f64 {
        match self.count {
            0 | 1 => f64::INFINITY,
            count => (self.squares / f64::from(count - 1) / f64::from(count)).sqrt(),
        }
    }
}

/// Student's t for 95 % with 1, 2, ... degrees of freedom: half the width of the mean's confidence interval, in units
/// of [`Sample::deviation_of_mean`].
pub const STUDENT: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
