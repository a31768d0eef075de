//! Fits parameters of a machine to measurements: [`descend`] changes them one by one, up or down, as long as the
//! comparison improves; [`least_squares`] changes all of them together, with fewer comparisons.

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
    /// Logarithmic error of each row: ln(simulated / measured).
    factors: Vec<f64>,
}

impl Comparison {
    /// Compares simulated times with measured ones.
    pub fn of(seconds: Vec<f64>, measured: impl Iterator<Item = f64>) -> Self {
        let pairs: Vec<_> = seconds.iter().copied().zip(measured).collect();
        let errors = pairs.iter().map(|(simulated, measured)| (simulated - measured).abs() / measured).collect();
        let factors = pairs.iter().map(|(simulated, measured)| (simulated / measured).ln()).collect();
        Self { seconds, errors, factors }
    }

    /// Returns the mean relative error, with more weight on large errors.
    pub fn by_error(&self) -> f64 {
        self.errors.iter().map(|error| error + error * error).sum::<f64>() / self.errors.len() as f64
    }

    /// Returns the mean logarithmic error, which treats too small and too large alike: for errors that are not small.
    pub fn by_factor(&self) -> f64 {
        self.factors.iter().map(|factor| factor.abs()).sum::<f64>() / self.factors.len() as f64
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

/// Ratio by which a parameter is changed to find how the times depend on it.
const PROBE: f64 = 1.1;
/// Largest change of a parameter in one round, as a logarithm.
const LARGEST_STEP: f64 = 0.7;
/// Logarithmic error below which errors count by their square, and above by their size: a row that other programs
/// disturbed does not decide.
const USUAL_ERROR: f64 = 0.1;
/// Cost of the squared logarithm of a parameter's change: a factor of two from the start counts as much as 0.1 of
/// logarithmic error in one row. A parameter on which few rows depend stays near its start.
const STAYING: f64 = 2.0 * USUAL_ERROR / (std::f64::consts::LN_2 * std::f64::consts::LN_2);

/// Fits `parameters`, starting from `machine`, to minimise the sum of the rows' logarithmic errors and of [`STAYING`]:
/// Levenberg-Marquardt on the logarithms of parameters and times, with the weight of a row inverse to its error. Each
/// of `rounds` rounds takes a comparison per parameter and up to four more. Ends early if no step improves.
///
/// # Errors
/// Errors of `compare`.
pub fn least_squares<Machines: Clone>(
    mut machine: Machines,
    parameters: &[FittedParameter<Machines>],
    rounds: u32,
    compare: impl Fn(&Machines) -> Result<Comparison, Failure>,
) -> Result<Machines, Failure> {
    let changed = |machine: &Machines, parameter: &FittedParameter<Machines>, ratio: f64| {
        let mut other = machine.clone();
        (parameter.places)(&mut other).into_iter().for_each(|value| *value *= ratio);
        other
    };
    let score = |comparison: &Comparison, moved: &[f64]| {
        let errors: f64 = comparison.factors.iter().map(|factor| factor.abs()).sum();
        errors + STAYING / 2.0 * moved.iter().map(|moved| moved * moved).sum::<f64>()
    };
    // How far each parameter is from its start, as a logarithm.
    let mut moved = vec![0.0; parameters.len()];
    let mut comparison = compare(&machine)?;
    'rounds: for _ in 0..rounds {
        let now = &comparison.factors;
        let mut slopes = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let probed = compare(&changed(&machine, parameter, PROBE))?.factors;
            slopes.push(probed.iter().zip(now).map(|(then, now)| (then - now) / PROBE.ln()).collect::<Vec<_>>());
        }
        let weights: Vec<f64> = now.iter().map(|error| 1.0 / error.abs().max(USUAL_ERROR)).collect();
        let product = |one: &[f64], other: &[f64]| -> f64 {
            one.iter().zip(other).zip(&weights).map(|((one, other), weight)| one * other * weight).sum()
        };
        for damping in [0.0, 0.1, 1.0, 10.0] {
            let row = |at: usize| -> Vec<f64> {
                let mut row: Vec<f64> = slopes.iter().map(|other| product(&slopes[at], other)).collect();
                row[at] += damping * row[at] + STAYING;
                row.push(-product(&slopes[at], now) - STAYING * moved[at]);
                row
            };
            let mut steps = solved((0..slopes.len()).map(row).collect());
            steps.iter_mut().for_each(|step| *step = step.clamp(-LARGEST_STEP, LARGEST_STEP));
            let mut other = machine.clone();
            for (parameter, step) in parameters.iter().zip(&steps) {
                other = changed(&other, parameter, step.exp());
            }
            let found = compare(&other)?;
            let there: Vec<f64> = moved.iter().zip(&steps).map(|(moved, step)| moved + step).collect();
            if score(&found, &there) < score(&comparison, &moved) {
                (machine, comparison, moved) = (other, found, there);
                continue 'rounds;
            }
        }
        break;
    }
    Ok(machine)
}

/// Solves a system of linear equations with a positive definite matrix; the last number of a row is its right side.
fn solved(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    for pivot in 0..rows.len() {
        let chosen = rows[pivot].clone();
        for (at, row) in rows.iter_mut().enumerate() {
            let factor = row[pivot] / chosen[pivot];
            if at != pivot {
                row.iter_mut().zip(&chosen).for_each(|(value, chosen)| *value -= factor * chosen);
            }
        }
    }
    rows.iter().enumerate().map(|(at, row)| row[rows.len()] / row[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_find_two_parameters() {
        let parameters: [FittedParameter; 3] = [
            FittedParameter { name: "host.send", places: |machine| vec![&mut machine.host.send] },
            FittedParameter { name: "host.receive", places: |machine| vec![&mut machine.host.receive] },
            FittedParameter { name: "host.control", places: |machine| vec![&mut machine.host.control] },
        ];
        let measured = |row: usize, machine: &Machine| machine.host.send * row as f64 + machine.host.receive;
        let mut true_machine = Machine::free();
        (true_machine.host.send, true_machine.host.receive) = (3.0, 70.0);
        let compare = |machine: &Machine| {
            let seconds = (1..50).map(|row| measured(row, machine)).collect();
            // One row was disturbed.
            let of = |row| measured(row, &true_machine) * if row == 20 { 3.0 } else { 1.0 };
            Ok(Comparison::of(seconds, (1..50).map(of)))
        };
        let mut begin = true_machine.clone();
        (begin.host.send, begin.host.receive, begin.host.control) = (10.0, 10.0, 5.0);
        let (one, _) = descend(begin.clone(), &parameters, 60, 1.5, Comparison::by_factor, compare).unwrap();
        let other = least_squares(begin, &parameters, 8, compare).unwrap();
        for found in [one, other] {
            let comparison = compare(&found).unwrap();
            assert!((found.host.send / 3.0 - 1.0).abs() < 0.1, "{}", found.host.send);
            assert!((found.host.receive / 70.0 - 1.0).abs() < 0.1, "{}", found.host.receive);
            assert!((found.host.control - 5.0).abs() < 1e-3, "no row depends on it: {}", found.host.control);
            assert!(median(&comparison.errors) < 0.02 && worst(&comparison.errors) < 0.7);
        }
    }

    #[test]
    fn no_errors_and_the_worst() {
        assert_eq!((median(&[]), worst(&[]), worst(&[1.0, 3.0, 2.0])), (0.0, 0.0, 3.0));
    }
}
