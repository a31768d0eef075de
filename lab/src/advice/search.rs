//! Searches for the hints with which a simulated write is fastest, stage after stage.

use tributary::Hints;
use tributary::error::Error;
use tributary::hints::DriverName;

use super::candidates::{Setting, Stage, with};
use crate::sim::Machine;

/// Setting that the search tried, and its simulated time.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Stage in which the setting was tried; none for the default hints.
    pub stage: Option<Stage>,
    /// Hints that the trial sets.
    pub setting: Setting,
    /// Simulated time of the write in seconds; none if the hints do not fit (more aggregators than ranks, for example).
    pub seconds: Option<f64>,
}

/// Result of a search for hints.
#[derive(Debug, Clone)]
pub struct Advice {
    /// Hints to set: those with which the simulated write got faster.
    pub setting: Setting,
    /// Simulated time in seconds with the hints that the caller gave.
    pub before: f64,
    /// Simulated time in seconds with the advised hints.
    pub after: f64,
    /// All settings that were tried, in the order of the search.
    pub trials: Vec<Trial>,
}

/// Minimum part of the time that a setting must save to be advised. A smaller gain is within the simulator's error.
pub const WORTH: f64 = 0.01;

/// Searches for the hints with which a write is fastest. `seconds` simulates a write with each of several sets of
/// hints, and returns none for hints that do not fit. `tried` is called with each trial, in the order of the search.
///
/// # Errors
/// An error of `seconds`; hints of the caller that do not fit.
pub fn advise<E: From<Error>>(
    machine: &Machine,
    hints: &Hints,
    (driver, nodes): (DriverName, usize),
    mut seconds: impl FnMut(&[Hints]) -> Result<Vec<Option<f64>>, E>,
    mut tried: impl FnMut(&Trial),
) -> Result<Advice, E> {
    let before = seconds(std::slice::from_ref(hints))?.first().copied().flatten();
    let before =
        before.ok_or_else(|| Error::argument("hints", "do not fit", "those of a write that can be simulated"))?;
    let mut advice = Advice { setting: Setting::new(), before, after: before, trials: Vec::new() };
    let first = Trial { stage: None, setting: Setting::new(), seconds: Some(before) };
    tried(&first);
    advice.trials.push(first);
    let mut best = hints.clone();
    for stage in Stage::ALL {
        let settings = stage.candidates(machine, driver, nodes);
        let candidates = settings.iter().map(|setting| with(&best, setting)).collect::<tributary::Result<Vec<_>>>()?;
        let took = seconds(&candidates)?;
        let mut found = None;
        for ((setting, candidate), seconds) in settings.into_iter().zip(candidates).zip(took) {
            let least = found.as_ref().map_or(advice.after * (1.0 - WORTH), |(_, _, least)| *least);
            if let Some(took) = seconds.filter(|took| *took < least) {
                found = Some((setting.clone(), candidate, took));
            }
            let trial = Trial { stage: Some(stage), setting, seconds };
            tried(&trial);
            advice.trials.push(trial);
        }
        if let Some((setting, candidate, took)) = found {
            best = candidate;
            // If two stages set the same hint, the later value is in force.
            advice.setting.retain(|(key, _)| setting.iter().all(|(newer, _)| newer != key));
            advice.setting.extend(setting);
            advice.after = took;
        }
    }
    Ok(advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::named;
    use tributary::hints::KernelHint;

    #[test]
    fn the_best_of_every_stage_is_found() {
        let machine = named("summit").unwrap();
        let cost = |hints: &Hints| {
            let aggregators = hints.cb_nodes.map_or(9.0, |count| (count as f64 - 32.0).abs());
            let kernel = if hints.data_kernel() == KernelHint::TwoLayer { 0.0 } else { 5.0 };
            let window = (hints.for_driver().cb_buffer_size as f64 / f64::from(4 << 20)).log2().abs();
            Some(100.0 + aggregators + kernel + window)
        };
        let cost = |all: &[Hints]| Ok::<_, Error>(all.iter().map(cost).collect());
        let mut tried = 0;
        let advice = advise(&machine, &Hints::default(), (DriverName::Gpfs, 64), cost, |_| tried += 1).unwrap();
        assert_eq!(tried, advice.trials.len());
        let has = |key: &str, value: &str| advice.setting.iter().any(|(k, v)| k == key && v == value);
        assert!(has("cb_nodes", "32") && has("trib_kernel_data", "two_layer"), "{:?}", advice.setting);
        assert!(has("cb_buffer_size", "4194304"), "{:?}", advice.setting);
        assert!(advice.setting.iter().all(|(key, _)| key != "trib_kernel_meta"), "nothing is set that gains nothing");
        assert_eq!((advice.before, advice.after), (116.0, 100.0));
    }

    #[test]
    fn what_gains_nothing_is_not_advised() {
        let machine = named("cori-knl").unwrap();
        let advice = advise(
            &machine,
            &Hints::default(),
            (DriverName::Lustre, 8),
            |all: &[Hints]| Ok::<_, Error>(vec![Some(1.0); all.len()]),
            |_| {},
        )
        .unwrap();
        assert!(advice.setting.is_empty());
    }
}
