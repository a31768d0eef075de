//! Parses and prints values of hints, with one [`Codec`] for each kind of value.

use crate::topology::Rank;

/// Parses and prints one kind of value. `parse(print(v)) == Some(v)` for every `v`.
pub(super) struct Codec<T> {
    /// Function that parses a value; `None` if the text is not allowed.
    pub(super) parse: fn(&str) -> Option<T>,
    pub(super) print: fn(&T) -> String,
    /// Description of the values that `parse` accepts, for messages.
    pub(super) allowed: fn() -> &'static str,
}

/// Word for a value that the library chooses.
const AUTO: &str = "auto";

/// Maximum size, in bytes: sums of a few such sizes still fit in 64 bits.
const LARGEST: u64 = 1 << 62;

pub(crate) const SIZES: &str = "1 to 2^62 bytes, also with k, M, G, T or KiB, MiB, GiB, TiB (powers of 1024)";

/// Codec of a number of bytes above 0.
pub(super) const SIZE: Codec<u64> = Codec { parse: size, print: u64::to_string, allowed: || SIZES };

/// Codec of a number of bytes; 0 has a meaning of its own.
pub(super) const SIZE_OR_ZERO: Codec<u64> = Codec {
    parse: |text| if text == "0" { Some(0) } else { size(text) },
    print: u64::to_string,
    allowed: || "0 to 2^62 bytes, also with k, M, G, T or KiB, MiB, GiB, TiB (powers of 1024)",
};

/// Codec of a number of bytes, or `auto`.
pub(super) const SIZE_OR_AUTO: Codec<Option<u64>> = Codec {
    parse: |text| auto_or(text, size),
    print: print_auto,
    allowed: || "auto|1 to 2^62 bytes, also with k, M, G, T or KiB, MiB, GiB, TiB (powers of 1024)",
};

/// Codec of a number of bytes, of which 0 has a meaning of its own, or `auto`.
pub(super) const SIZE_OR_ZERO_OR_AUTO: Codec<Option<u64>> = Codec {
    parse: |text| auto_or(text, SIZE_OR_ZERO.parse),
    print: print_auto,
    allowed: || "auto|0 to 2^62 bytes, also with k, M, G, T or KiB, MiB, GiB, TiB (powers of 1024)",
};

/// Codec of a number above 0, or `auto`.
pub(super) const COUNT_OR_AUTO: Codec<Option<usize>> =
    Codec { parse: |text| auto_or(text, positive), print: print_auto, allowed: || "auto|1 or more" };

/// Codec of a number of stripes, or `auto`. Lustre's numbers have 16 bits.
pub(super) const STRIPES_OR_AUTO: Codec<Option<u32>> = Codec {
    parse: |text| auto_or(text, |text| text.parse().ok().filter(|count| (1..=65_532).contains(count))),
    print: print_auto,
    allowed: || "auto|1 to 65532",
};

/// Codec of the number of a Lustre server (OST), or `auto`. ROMIO writes -1 for any server.
pub(super) const SERVER_OR_AUTO: Codec<Option<u16>> = Codec {
    parse: |text| match text {
        "-1" => Some(None),
        _ => auto_or(text, |text| text.parse().ok().filter(|server| *server < u16::MAX)),
    },
    print: print_auto,
    allowed: || "auto|0 to 65534|-1 (as auto)",
};

/// Codec of a number of stripes on a server.
pub(super) const RATIO: Codec<u16> = Codec {
    parse: |text| text.parse().ok().filter(|ratio| (1..=65_532).contains(ratio)),
    print: u16::to_string,
    allowed: || "1 to 65532",
};

/// Codec of a number; 0 has a meaning of its own.
pub(super) const COUNT_OR_ZERO: Codec<usize> =
    Codec { parse: |text| text.parse().ok(), print: usize::to_string, allowed: || "0 or more" };

/// Codec of `true` or `false`.
pub(super) const TRUTH: Codec<bool> =
    Codec { parse: |text| text.to_ascii_lowercase().parse().ok(), print: bool::to_string, allowed: || "true|false" };

/// Codec of the path of a file, which may be empty.
pub(super) const PATH: Codec<String> = Codec {
    parse: |text| (!text.contains([';', '#', '\n', '\r'])).then(|| text.to_string()),
    print: String::clone,
    allowed: || "a path without ; # and line breaks, or nothing",
};

/// Codec of ROMIO's list of hosts, of which only the wildcard is supported: `*:N` is the maximum number of
/// aggregators on a node.
pub(super) const PER_NODE: Codec<Option<usize>> = Codec {
    parse: |text| match text {
        "*" => Some(Some(1)),
        "*:*" => Some(None),
        _ => text.strip_prefix("*:").and_then(positive).map(Some),
    },
    print: |most| most.map_or("*:*".into(), |most| format!("*:{most}")),
    allowed: || {
        "*:* (no limit)|*:N with N >= 1 (at most N on every node)|* (as *:1); lists of host names are not \
              supported, use trib_placement=list:R,R,..."
    },
};

/// Parses one or more ranks, separated by commas.
pub(super) fn list(text: &str) -> Option<Vec<Rank>> {
    text.split(',').map(|rank| rank.trim().parse().ok()).collect()
}

fn positive(text: &str) -> Option<usize> {
    text.parse().ok().filter(|&count| count > 0)
}

/// Parses a number of bytes; None if the text is not one of [`SIZES`].
pub(crate) fn size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let shift = match suffix.trim_start().to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| (1..=LARGEST).contains(bytes))
}

fn auto_or<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.eq_ignore_ascii_case(AUTO) { Some(None) } else { parse(text).map(Some) }
}

fn print_auto<T: ToString>(value: &Option<T>) -> String {
    value.as_ref().map_or(AUTO.into(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("16777216", 16 << 20),
            ("16MiB", 16 << 20),
            ("16M", 16 << 20),
            ("16 m", 16 << 20),
            ("16MB", 16 << 20),
            ("16k", 16 << 10),
            ("3G", 3 << 30),
            ("2TiB", 2 << 40),
            ("1", 1),
            ("4611686018427387904", 1 << 62),
        ] {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "0", "0M", "k", "-1", "+", "1.5M", "16Mbit", "16 M B", "4611686018427387905", "4194305T", "９"]
        {
            assert_eq!(size(text), None, "{text}");
        }
        // Multiplies past 64 bits.
        assert_eq!(size("18446744073709551615T"), None);
    }

    #[test]
    fn host_lists() {
        assert_eq!((PER_NODE.parse)("*:*"), Some(None));
        assert_eq!((PER_NODE.parse)("*:4"), Some(Some(4)));
        assert_eq!((PER_NODE.parse)("*"), Some(Some(1)));
        for text in ["", "*:0", "*:", "node1:2", "*:1,node2:*", "node1"] {
            assert_eq!((PER_NODE.parse)(text), None, "{text}");
        }
    }

    #[test]
    fn rank_lists() {
        assert_eq!(list("0, 4,8"), Some(vec![0, 4, 8]));
        for text in ["", ",", "1,", "1;2", "-1", "a"] {
            assert_eq!(list(text), None, "{text}");
        }
    }
}
