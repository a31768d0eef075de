//! Bounds on measured values, as a paper's claims state them.

use serde::{Deserialize, Serialize};

use super::measure::Values;

/// Bound on values. A bound on numbers applies to each of them.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Bound {
    /// Every value equals a number, up to a relative difference.
    Equals {
        /// Number in the paper.
        equals: f64,
        /// Maximum relative difference from the paper's number.
        within: f64,
    },
    /// No value is below a minimum.
    AtLeast {
        /// Minimum of the values.
        at_least: f64,
    },
    /// No value is above a maximum.
    AtMost {
        /// Maximum of the values.
        at_most: f64,
    },
    /// Every value is between a minimum and a maximum.
    Between {
        /// Minimum and maximum of the values.
        between: (f64, f64),
    },
    /// The named values ascend in this order.
    Order {
        /// Names of the values, the smallest first.
        order: Vec<String>,
    },
    /// The named value is smaller than all others.
    Least {
        /// Name of the smallest value.
        least: String,
    },
    /// The named value is greater than all others.
    Most {
        /// Name of the greatest value.
        most: String,
    },
    /// The last value is greater than the first by at least a ratio.
    Rises {
        /// Minimum ratio of the last value to the first.
        rises: f64,
    },
    /// The greatest value is above the least by at most a ratio.
    Flat {
        /// Maximum ratio of the greatest value to the least.
        flat: f64,
    },
}

impl Bound {
    /// Returns true if `values` keep the bound. No values, a missing name and NaN keep no bound.
    pub fn holds(&self, values: &Values) -> bool {
        if values.is_empty() || values.iter().any(|(_, value)| value.is_nan()) {
            return false;
        }
        let all = |holds: &dyn Fn(f64) -> bool| values.iter().all(|(_, value)| holds(*value));
        let named = |name: &String| values.iter().find(|(other, _)| other == name).map(|(_, value)| *value);
        let against = |name: &String, holds: fn(&f64, &f64) -> bool| {
            named(name).is_some_and(|value| values.iter().all(|(other, rest)| other == name || holds(&value, rest)))
        };
        match self {
            Self::Equals { equals, within } => all(&|value| (value - equals).abs() <= within * equals.abs()),
            Self::AtLeast { at_least } => all(&|value| value >= *at_least),
            Self::AtMost { at_most } => all(&|value| value <= *at_most),
            Self::Between { between: (least, most) } => all(&|value| (*least..=*most).contains(&value)),
            Self::Order { order } => {
                let found: Option<Vec<f64>> = order.iter().map(named).collect();
                found.is_some_and(|found| found.windows(2).all(|pair| pair[0] < pair[1]))
            }
            Self::Least { least } => against(least, f64::lt),
            Self::Most { most } => against(most, f64::gt),
            Self::Rises { rises } => values[values.len() - 1].1 >= rises * values[0].1,
            Self::Flat { flat } => {
                let (least, most) =
                    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), (_, value)| {
                        (least.min(*value), most.max(*value))
                    });
                most <= flat * least
            }
        }
    }
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Equals { equals, within: 0.0 } => write!(f, "= {equals}"),
            Self::Equals { equals, within } => write!(f, "{equals} within {:.3} %", within * 100.0),
            Self::AtLeast { at_least } => write!(f, "at least {at_least}"),
            Self::AtMost { at_most } => write!(f, "at most {at_most}"),
            Self::Between { between: (least, most) } => write!(f, "{least} to {most}"),
            Self::Order { order } => write!(f, "{}", order.join(" < ")),
            Self::Least { least } => write!(f, "{least} is the least"),
            Self::Most { most } => write!(f, "{most} is the most"),
            Self::Rises { rises } => write!(f, "the last at least {rises} times the first"),
            Self::Flat { flat } => write!(f, "the greatest at most {flat} times the least"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(text: &str) -> Bound {
        #[derive(Deserialize)]
        struct Line {
            expect: Bound,
        }
        toml::from_str::<Line>(&format!("expect = {{ {text} }}")).unwrap().expect
    }

    fn values(list: &[(&str, f64)]) -> Values {
        list.iter().map(|(name, value)| (name.to_string(), *value)).collect()
    }

    #[test]
    fn bounds_hold_for_the_right_values() {
        let three = values(&[("a", 1.0), ("b", 2.0), ("c", 4.0)]);
        for (text, holds) in [
            ("between = [1, 4]", true),
            ("between = [1, 3.9]", false),
            ("at_least = 1", true),
            ("at_least = 1.5", false),
            ("at_most = 4", true),
            ("at_most = 3", false),
            ("order = ['a', 'c']", true),
            ("order = ['c', 'b']", false),
            ("order = ['a', 'x']", false),
            ("least = 'a'", true),
            ("least = 'b'", false),
            ("least = 'x'", false),
            ("most = 'c'", true),
            ("most = 'a'", false),
            ("rises = 4", true),
            ("rises = 4.1", false),
            ("flat = 4", true),
            ("flat = 3", false),
        ] {
            assert_eq!(bound(text).holds(&three), holds, "{text}");
        }
    }

    #[test]
    fn equality_is_relative() {
        let one = values(&[("a", 1.1)]);
        assert!(bound("equals = 1.0, within = 0.11").holds(&one));
        assert!(!bound("equals = 1.0, within = 0.05").holds(&one));
        assert!(bound("equals = 1.1, within = 0").holds(&one));
    }

    #[test]
    fn no_values_and_nan_keep_no_bound() {
        for text in ["at_most = 4", "flat = 2", "rises = 0", "equals = 1, within = 1"] {
            assert!(!bound(text).holds(&Values::new()), "{text}");
            assert!(!bound(text).holds(&values(&[("a", f64::NAN)])), "{text}");
        }
    }
}
