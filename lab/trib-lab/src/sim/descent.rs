//! Coordinate descent: changes the parameters of a machine one by one, up or down, as long as the comparison with
//! measurements improves.

use trib::Failure;
use trib::compare::statistics;
use tributary_lab::sim::Machine;

/// Parameter of a machine, or of several machines, that is fitted.
pub struct FittedParameter<Machines = Machine> {
    /// Name of the parameter in machine files.
    pub name: &'static str,
    /// Function that returns the parameter's values in a machine: none, one, or several that are the same parameter.
    pub places: fn(&mut Machines) -> Vec<&mut f64>,
}

impl<Machines: Clone> FittedParameter<Machines> {
    /// Returns the parameter's value, if the machine has it.
    pub fn value(&self, machine: &Machines) -> Option<f64> {
        (self.places)(&mut machine.clone()).first().map(|value| **value)
    }
}

/// Simulated times of rows of measurements, and their errors.
pub struct Comparison {
    /// Simulated seconds of each row.
    pub seconds: Vec<f64>,
    /// Relative error of each row: |simulated - measured| / measured.
    pub errors: Vec<f64>,
    /// Logarithmic error of each row: |ln(simulated / measured)|.
    factors: Vec<f64>,
}

impl Comparison {
    /// Compares simulated times with measured ones.
    pub fn of(seconds: Vec<f64>, measured: impl Iterator<Item = f64>) -> Self {
        let pairs: Vec<_> = seconds.iter().copied().zip(measured).collect();
        let errors = pairs.iter().map(|(simulated, measured)| (simulated - measured).abs() / measured).collect();
        let factors = pairs.iter().map(|(simulated, measured)| (simulated / measured).ln().abs()).collect();
        Self { seconds, errors, factors }
    }

    /// Returns the mean relative error, with more weight on large errors.
    pub fn by_error(&self) -> f64 {
        self.errors.iter().map(|error| error + error * error).sum::<f64>() / self.errors.len() as f64
    }

    /// Returns the mean logarithmic error, which treats too small and too large alike: for errors that are not small.
    pub fn by_factor(&self) -> f64 {
        self.factors.iter().sum::<f64>() / self.factors.len() as f64
    }
}

/// Returns the median of errors; 0 if there are none.
pub fn median(errors: &[f64]) -> f64 {
    statistics::median(errors).unwrap_or(0.0)
}

/// Returns the largest error; 0 if there are none.
pub fn worst(errors: &[f64]) -> f64 {
    errors.iter().copied().fold(0.0, f64::max)
}

/// Fits `parameters`, starting from `machine`, to minimise `score`. Each of `rounds` rounds tries a step up and a step
/// down for every parameter; a round without improvement reduces the step, which begins at `step`. At most 2
/// comparisons per round and parameter.
///
/// # Errors
/// Errors of `compare`.
pub fn descend<Machines: Clone + PartialEq>(
    mut machine: Machines,
    parameters: &[FittedParameter<Machines>],
    rounds: u32,
    mut step: f64,
    score: fn(&Comparison) -> f64,
    compare: impl Fn(&Machines) -> Result<Comparison, Failure>,
) -> Result<(Machines, Comparison), Failure> {
    let mut comparison = compare(&machine)?;
    for _ in 0..rounds {
        let mut is_better = false;
        for parameter in parameters {
            for factor in [step, 1.0 / step] {
                let mut other = machine.clone();
                (parameter.places)(&mut other).into_iter().for_each(|value| *value *= factor);
                if other == machine {
                    continue;
                }
                let found = compare(&other)?;
                if score(&found) < score(&comparison) {
                    (machine, comparison) = (other, found);
                    is_better = true;
                    break;
                }
            }
        }
        if !is_better {
            step = 1.0 + (step - 1.0) / 1.5;
        }
    }
    Ok((machine, comparison))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_two_parameters() {
        let parameters = [
            FittedParameter { name: "host.send", places: |machine| vec![&mut machine.host.send] },
            FittedParameter { name: "host.receive", places: |machine| vec![&mut machine.host.receive] },
        ];
        let measured = |row: usize, machine: &Machine| machine.host.send * row as f64 + machine.host.receive;
        let mut true_machine = Machine::free();
        (true_machine.host.send, true_machine.host.receive) = (3.0, 70.0);
        let compare = |machine: &Machine| {
            let seconds = (1..50).map(|row| measured(row, machine)).collect();
            Ok(Comparison::of(seconds, (1..50).map(|row| measured(row, &true_machine))))
        };
        let mut begin = true_machine.clone();
        (begin.host.send, begin.host.receive) = (10.0, 10.0);
        let (found, comparison) = descend(begin, &parameters, 60, 1.5, Comparison::by_factor, compare).unwrap();
        assert!((found.host.send / 3.0 - 1.0).abs() < 0.1, "{}", found.host.send);
        assert!(median(&comparison.errors) < 0.02 && worst(&comparison.errors) < 0.1);
    }

    #[test]
    fn no_errors_and_the_worst() {
        assert_eq!((median(&[]), worst(&[]), worst(&[1.0, 3.0, 2.0])), (0.0, 0.0, 3.0));
    }
}
