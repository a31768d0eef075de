//! Estimates the remaining time of work: the key `left` of a progress bar.

use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::style::ProgressTracker;
use indicatif::{HumanDuration, ProgressState, ProgressStyle};

/// Returns a style whose template may have `{left}`: "2 minutes left", after the first step.
pub fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("left", Rest::default())
}

/// Number of steps done, and the time when the last of them ended. The estimate divides this time by the number
/// of steps: with the current time instead, the estimate would grow while a step goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Rest {
    done: u64,
    after: Duration,
}

impl Rest {
    /// Returns the remaining time, if steps take as long as they did on average. None before the first step is done.
    fn remaining(self, all: u64, now: Duration) -> Option<Duration> {
        let rate = (self.done > 0).then(|| self.after.as_secs_f64() / self.done as f64)?;
        let rest = Duration::try_from_secs_f64(rate * all.saturating_sub(self.done) as f64).ok()?;
        Some(rest.saturating_sub(now.saturating_sub(self.after)))
    }
}

impl ProgressTracker for Rest {
    fn clone_box(&self) -> Box<dyn ProgressTracker> {
        Box::new(*self)
    }

    fn tick(&mut self, state: &ProgressState, _: Instant) {
        if state.pos() != self.done {
            *self = Self { done: state.pos(), after: state.elapsed() };
        }
    }

    fn reset(&mut self, _: &ProgressState, _: Instant) {
        *self = Self::default();
    }

    fn write(&self, state: &ProgressState, text: &mut dyn Write) {
        if let Some(rest) = state.len().and_then(|all| self.remaining(all, state.elapsed())) {
            let _ = write!(text, "{} left", HumanDuration(rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_shrinks_while_a_step_goes_on() {
        let seconds = Duration::from_secs;
        assert_eq!(Rest::default().remaining(100, seconds(9)), None);
        let third = Rest { done: 30, after: seconds(60) };
        assert_eq!(third.remaining(100, seconds(60)), Some(seconds(140)));
        assert_eq!(third.remaining(100, seconds(100)), Some(seconds(100)));
        assert_eq!(third.remaining(100, seconds(1000)), Some(seconds(0)));
        assert_eq!(third.remaining(30, seconds(60)), Some(seconds(0)));
    }
}
