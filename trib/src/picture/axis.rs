//! Axes of drawings: coordinates of values, and the values at ticks.

/// Axis of a drawing: the values at its two ends, and their coordinates.
pub struct Axis {
    values: (f64, f64),
    places: (f64, f64),
    log: bool,
}

impl Axis {
    /// Creates a linear axis from the values at its two ends and their coordinates.
    pub fn linear(values: (f64, f64), places: (f64, f64)) -> Self {
        Self { values, places, log: false }
    }

    /// Creates an axis with a margin around all values; a linear axis begins at 0. None without values, or if values on
    /// a logarithmic axis are 0 or less.
    pub fn around(all: impl Iterator<Item = f64>, log: bool, places: (f64, f64)) -> Option<Self> {
        let (least, most) =
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
        let wrong = !(least.is_finite() && most.is_finite()) || (log && least <= 0.0);
        let values = if log { (least / 1.2, most * 1.2) } else { (least.min(0.0), most * 1.05 + f64::MIN_POSITIVE) };
        (!wrong).then_some(Self { values, places, log })
    }

    /// Returns the coordinate of a value; for a value beyond an end, the coordinate of the end.
    pub fn at(&self, value: f64) -> f64 {
        let of = |value: f64| if self.log { value.ln() } else { value };
        let (from, to) = (of(self.values.0), of(self.values.1));
        let share = (of(value) - from) / (to - from).max(f64::MIN_POSITIVE);
        self.places.0 + (self.places.1 - self.places.0) * share.clamp(0.0, 1.0)
    }

    /// Returns four to ten round values for ticks.
    pub fn ticks(&self) -> Vec<f64> {
        let (from, to) = self.values;
        if self.log {
            let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
            let parts: &[f64] = if to / from > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let apart = 1 + (last - first) as usize / 10;
            let all =
                (first..last).step_by(apart).flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
            return all.filter(|value| (from..=to).contains(value)).collect();
        }
        let unit = 10f64.powf(((to - from) / 4.0).log10().floor());
        let step = [5.0, 2.0, 1.0].into_iter().map(|many| many * unit).find(|step| (to - from) / step >= 4.0);
        let Some(step) = step.filter(|step| step.is_normal()) else { return vec![from] };
        (0..12).map(|index| ((from / step).ceil() + f64::from(index)) * step).take_while(|value| *value <= to).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_places_and_ticks_are_round() {
        let axis = Axis::linear((2.0, 10.0), (0.0, 80.0));
        assert_eq!([1.0, 2.0, 6.0, 11.0].map(|value| axis.at(value)), [0.0, 0.0, 40.0, 80.0]);
        assert_eq!(axis.ticks(), [2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Axis::linear((3.0, 3.0), (0.0, 1.0)).ticks(), [3.0]);
        let axis = Axis::around([1.0, 100.0].into_iter(), true, (100.0, 0.0)).unwrap();
        assert_eq!((axis.at(10.0).round(), axis.ticks()), (50.0, vec![1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]));
        assert_eq!(Axis::around([1.0, 1e6].into_iter(), true, (0.0, 1.0)).unwrap().ticks().len(), 7);
        assert!(Axis::around([0.0, 1.0].into_iter(), true, (0.0, 1.0)).is_none());
        assert!(Axis::around(std::iter::empty(), false, (0.0, 1.0)).is_none());
    }
}
