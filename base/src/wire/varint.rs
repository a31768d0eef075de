//! Encodes integers in a variable number of bytes: 7 bits a byte, lowest bits first; signed integers in zigzag form.

use super::{Output, Wire};

/// Integers in a variable number of bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Varints<const N: usize>(pub [u64; N]);

impl<const N: usize> Wire for Varints<N> {
    const SIZE: Option<usize> = None;

    fn encode(&self, to: &mut impl Output) {
        self.0.iter().for_each(|&value| put(to, value));
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let (mut values, mut at) = ([0; N], 0);
        for value in &mut values {
            *value = get(from, &mut at)?;
        }
        *from = &from[at..];
        Some(Self(values))
    }
}

/// Appends the encoded `value` to `out`.
#[inline]
pub fn put(out: &mut impl Output, mut value: u64) {
    while value >= 0x80 {
        out.byte(value as u8 | 0x80);
        value >>= 7;
    }
    out.byte(value as u8);
}

/// Returns the number of bytes that [`put`] appends.
#[inline]
pub fn len(value: u64) -> usize {
    (64 - value.leading_zeros()).max(1).div_ceil(7) as usize
}

/// Reads the integer at `*at` and advances `*at` past it; `None` if the bytes end first or the value has over 64 bits.
#[inline]
pub fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Maps a signed number to an unsigned one such that small negative and small positive numbers become small.
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Returns the signed number that [`zigzag`] has mapped to `value`.
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{from_bytes, to_bytes};

    #[test]
    fn extreme_values_survive() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put(&mut out, value);
            assert_eq!(len(value), out.len());
            let mut at = 0;
            assert_eq!(get(&out, &mut at), Some(value));
            assert_eq!(at, out.len());
            assert_eq!(get(&out[..out.len() - 1], &mut 0), None, "a cut integer is no integer");
        }
        let several = Varints([0, 300, u64::MAX]);
        let bytes = to_bytes(&several);
        assert_eq!((bytes.len(), from_bytes(&bytes)), (13, Some(several)));
        assert_eq!(from_bytes::<Varints<4>>(&bytes), None, "cut");
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    #[test]
    fn over_long_integers_are_refused() {
        assert_eq!(get(&[0xff; 11], &mut 0), None);
        assert_eq!(get(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], &mut 0), None);
    }
}
