//! Parsers of option values.

use regex::Regex;
use tributary::Hints;

use crate::limits::{MOST_RANKS, MOST_THREADS, MOST_TIMES};

/// Parses a size in bytes, in the notation of hints (`16MiB`).
pub fn size(text: &str) -> Result<u64, String> {
    let mut hints = Hints::default();
    hints.set("trib_direct_min", text).map_err(|_| "allowed: 1 to 2^62 bytes, also with KiB, MiB, GiB".to_string())?;
    Ok(hints.direct_min)
}

/// Parses a whole number, at least 1.
pub fn positive(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|&count| count > 0).ok_or_else(|| "allowed: 1 or more".to_string())
}

/// Parses a whole number from `least` to `most`.
pub fn within(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("allowed: {least} to {most}"))
}

/// Parses a number of ranks to plan, simulate or list.
pub fn ranks(text: &str) -> Result<usize, String> {
    within(text, 1, MOST_RANKS as u64).map(|ranks| ranks as usize)
}

/// Parses a number of ranks that can run as threads.
pub fn threads(text: &str) -> Result<u64, String> {
    within(text, 1, MOST_THREADS as u64)
}

/// Parses a number of repetitions, at least 1.
pub fn times(text: &str) -> Result<u64, String> {
    within(text, 1, MOST_TIMES)
}

/// Parses a number of rounds, 0 or more.
pub fn rounds(text: &str) -> Result<u32, String> {
    within(text, 0, MOST_TIMES).map(|rounds| rounds as u32)
}

/// Parses a number of repetitions, at least 1, in 32 bits.
pub fn repetitions(text: &str) -> Result<u32, String> {
    within(text, 1, MOST_TIMES).map(|times| times as u32)
}

/// Parses a finite number, 0 or more.
pub fn amount(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "allowed: a finite number, 0 or more".to_string())
}

/// Parses a regular expression with a group.
pub fn timer(text: &str) -> Result<Regex, String> {
    let found = Regex::new(text).ok().filter(|regex| regex.captures_len() > 1);
    found.ok_or_else(|| "allowed: a regular expression with a group, such as 'write time: (\\S+)'".to_string())
}

/// Parses `N` lengths, separated by x.
pub fn lengths<const N: usize>(text: &str) -> Result<[u64; N], String> {
    let lengths: Result<Vec<u64>, _> = text.split('x').map(positive).collect();
    let lengths = lengths.ok().and_then(|lengths| <[u64; N]>::try_from(lengths).ok());
    lengths.ok_or_else(|| format!("allowed: {N} numbers of 1 or more, separated by x"))
}

/// Returns the help of an option that takes a kernel: `what`, and the names of all kernels.
pub fn kernels(what: &str) -> String {
    format!("{what}: {}", tributary::hints::KernelHint::allowed().replace('|', ", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_and_bad_values() {
        assert_eq!((size("1MiB"), positive("7")), (Ok(1 << 20), Ok(7)));
        assert_eq!(lengths::<3>("4x5x6"), Ok([4, 5, 6]));
        for bad in ["4x5", "4x5x6x7", "4x0x6", "4x-5x6", "x", "", "99999999999999999999x1x1"] {
            assert!(lengths::<3>(bad).unwrap_err().contains("3 numbers"), "{bad}");
        }
        assert_eq!((ranks("16777216"), threads("32768"), rounds("0")), (Ok(1 << 24), Ok(1 << 15), Ok(0)));
        for bad in ["0", "16777217", "-1", "18446744073709551616", "nan"] {
            assert_eq!(ranks(bad).unwrap_err(), "allowed: 1 to 16777216", "{bad}");
            assert!(threads(bad).is_err() && times(bad).is_err() && repetitions(bad).is_err(), "{bad}");
        }
        assert_eq!(amount("0.5"), Ok(0.5));
        assert!(["nan", "inf", "-1", ""].into_iter().all(|bad| amount(bad).is_err()));
        assert!(size("0").is_err() && positive("0").is_err() && size("12 parsecs").is_err());
    }
}
