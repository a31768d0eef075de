//! Formats numbers as text, for tables, sentences and drawings.

/// Returns a number as text with separated thousands.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let group = |(at, digit): (usize, char)| {
        let comma = at > 0 && (digits.len() - at).is_multiple_of(3);
        [comma.then_some(','), Some(digit)].into_iter().flatten()
    };
    digits.char_indices().flat_map(group).collect()
}

/// Returns a number of bytes as text, followed by the same number in a larger unit: `52,428,800 (50.00 MiB)`.
pub fn sized(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let power = (0..units.len() - 1).find(|&p| bytes >> (10 * (p + 1)) == 0).unwrap_or(units.len() - 1);
    match power {
        0 => format!("{bytes} B"),
        _ => format!("{} ({:.2} {})", grouped(bytes), bytes as f64 / (1u64 << (10 * power)) as f64, units[power]),
    }
}

/// Returns a count with its noun: `1 node`, `2 nodes`.
pub fn counted(count: u64, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{} {thing}s", grouped(count)) }
}

/// Returns a time in seconds as text, in the unit that fits.
pub fn time(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_string(),
        at if at >= 1.0 => format!("{at:.3} s"),
        at if at >= 1e-3 => format!("{:.3} ms", at * 1e3),
        at => format!("{:.1} us", at * 1e6),
    }
}

/// Returns a time in seconds as text, in the unit that fits, with at most three digits: `5 ms`, `35.9 ms`, `1.5 s`.
pub fn brief(seconds: f64) -> String {
    let (value, unit) = match seconds {
        at if at >= 0.9995 => (at, "s"),
        at if at >= 0.9995e-3 => (at * 1e3, "ms"),
        at if at > 0.0 => (at * 1e6, "us"),
        _ => (0.0, "s"),
    };
    let digits = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// Returns the speed of `bytes` bytes in `seconds` seconds as text, in MiB/s.
pub fn speed(bytes: u64, seconds: f64) -> String {
    if seconds > 0.0 { format!("{:.0} MiB/s", bytes as f64 / f64::from(1 << 20) / seconds) } else { "-".to_string() }
}

/// Returns a part of a whole as text, in percent.
pub fn percent(part: f64, whole: f64) -> String {
    if whole <= 0.0 { "0 %".to_string() } else { format!("{:.0} %", 100.0 * part / whole) }
}

/// Returns `one` divided by `other` as text.
pub fn ratio(one: f64, other: f64) -> String {
    if other > 0.0 { format!("{:.2}", one / other) } else { "-".to_string() }
}

/// Returns the text at a tick of an axis.
pub fn tick(value: f64) -> String {
    match value {
        value if value != 0.0 && (value.abs() < 1e-3 || value.abs() >= 1e6) => format!("{value:.0e}"),
        // Ticks are multiples of their distance, and 9 * 0.002 is 0.018000000000000002.
        value => ((value * 1e9).round() / 1e9).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits_and_ticks_no_noise() {
        let times = [0.0, 2.26e-6, 0.0123, 1.5].map(time);
        assert_eq!(times, ["0 s", "2.3 us", "12.300 ms", "1.500 s"]);
        let brief = [0.0, 2.26e-6, 5e-3, 0.035_912, 0.123_4, 0.9999, 1.5, 1234.5].map(brief);
        assert_eq!(brief, ["0 s", "2.26 us", "5 ms", "35.9 ms", "123 ms", "1 s", "1.5 s", "1234 s"]);
        let ticks = [9.0 * 0.002, 0.0, 1e-4, 2e6, 12.5].map(tick);
        assert_eq!(ticks, ["0.018", "0", "1e-4", "2e6", "12.5"]);
    }
}
