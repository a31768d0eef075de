//! Damages inputs of any kind: cuts, flips bits, overwrites with extreme numbers, extends.

use proptest::prelude::*;

/// One change of an input. Positions are fractions of the input's length.
#[derive(Debug, Clone)]
pub enum Damage {
    /// The input is cut at this position.
    Cut(prop::sample::Index),
    /// One bit is flipped: position and number of the bit.
    Flip(prop::sample::Index, u8),
    /// An extreme number overwrites 4 or 8 bytes, in either byte order.
    Number(prop::sample::Index, u64, bool, bool),
    /// An extreme number as text replaces existing digits.
    Digits(prop::sample::Index, &'static str),
    /// A part of the input is repeated.
    Again(prop::sample::Index, prop::sample::Index),
    /// Bytes are appended.
    Extend(Vec<u8>),
}

const NUMBERS: [u64; 7] = [0, 1, i32::MAX as u64, u32::MAX as u64, 1 << 62, i64::MAX as u64, u64::MAX];
const DIGITS: [&str; 9] = [
    "0",
    "-1",
    "2147483648",
    "4611686018427387904",
    "9223372036854775807",
    "18446744073709551615",
    "1e999",
    "nan",
    "inf",
];

pub fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        index().prop_map(Damage::Cut),
        (index(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        (index(), prop::sample::select(&NUMBERS[..]), any::<bool>(), any::<bool>())
            .prop_map(|(at, number, long, little)| Damage::Number(at, number, long, little)),
        (index(), prop::sample::select(&DIGITS[..])).prop_map(|(at, digits)| Damage::Digits(at, digits)),
        (index(), index()).prop_map(|(from, to)| Damage::Again(from, to)),
        prop::collection::vec(any::<u8>(), 1..40).prop_map(Damage::Extend),
    ]
}

pub fn damaged(good: &[u8], all: &[Damage]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for damage in all.iter().filter(|_| !good.is_empty()) {
        if bytes.is_empty() {
            break;
        }
        let length = bytes.len();
        match damage {
            Damage::Cut(at) => bytes.truncate(at.index(length)),
            Damage::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
            Damage::Number(at, number, long, little) => {
                let width = if *long { 8 } else { 4 };
                let ends = if *little {
                    number.to_le_bytes()[..width].to_vec()
                } else {
                    number.to_be_bytes()[8 - width..].to_vec()
                };
                // On a boundary of words, where numbers are.
                let at = at.index(length) / 4 * 4;
                bytes.splice(at..length.min(at + width), ends);
            }
            Damage::Digits(at, digits) => {
                let begin = (at.index(length)..length).find(|&at| bytes[at].is_ascii_digit()).unwrap_or(0);
                let end = (begin..length).find(|&at| !bytes[at].is_ascii_digit()).unwrap_or(length);
                bytes.splice(begin..end, digits.bytes());
            }
            Damage::Again(from, to) => {
                let (from, to) = (from.index(length), to.index(length));
                let part = bytes[from.min(to)..from.max(to)].to_vec();
                bytes.extend(part);
            }
            Damage::Extend(more) => bytes.extend(more),
        }
    }
    bytes
}

/// # Panics
/// Panics if an error is not one line.
pub fn one_line<T>(outcome: Result<T, impl std::fmt::Display>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) => {
            let said = error.to_string();
            assert!(!said.is_empty() && !said.trim_end().contains('\n'), "{said}");
            None
        }
    }
}
