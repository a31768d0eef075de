//! Makes the payload of patterns: the value of an element is a hash of its variable and its position, so that a
//! misplaced byte is found. It is also a valid value of the element's type, so that the usual NetCDF tools can read
//! and compare the file.

/// The type of an element in NetCDF's classic formats; all are big-endian in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// A character of text, 1 byte.
    Char,
    /// A signed integer of 1 byte.
    Byte,
    /// A signed integer of 2 bytes.
    Short,
    /// A signed integer of 4 bytes.
    Int,
    /// A signed integer of 8 bytes.
    Int64,
    /// An IEEE number of 4 bytes.
    Float,
    /// An IEEE number of 8 bytes.
    Double,
}

impl ValueKind {
    /// Returns the size of an element, in bytes.
    #[inline]
    pub fn size(self) -> usize {
        match self {
            Self::Char | Self::Byte => 1,
            Self::Short => 2,
            Self::Int | Self::Float => 4,
            Self::Int64 | Self::Double => 8,
        }
    }
}

/// Does one step of the splitmix64 generator: a bijection of 64-bit words that leaves no visible structure.
#[inline]
pub fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns the hash of element `element` of variable `variable`, from which the value is made.
#[inline]
pub fn element_hash(variable: usize, element: u64) -> u64 {
    splitmix64(element ^ splitmix64(variable as u64))
}

/// Returns the value of element `element` of variable `variable`, big-endian in the first [`ValueKind::size`] bytes, with
/// zeros behind: small letters, any integers, or numbers from -1 to below 1.
#[inline]
pub fn element_bytes(kind: ValueKind, variable: usize, element: u64) -> [u8; 8] {
    let hash = element_hash(variable, element);
    match kind {
        ValueKind::Char => [b'a' + (hash % 26) as u8, 0, 0, 0, 0, 0, 0, 0],
        ValueKind::Byte => (hash & 0xff << 56).to_be_bytes(),
        ValueKind::Short => (hash & 0xffff << 48).to_be_bytes(),
        ValueKind::Int => (hash & 0xffff_ffff << 32).to_be_bytes(),
        ValueKind::Int64 => hash.to_be_bytes(),
        // As many bits as the type keeps, so that the division is exact.
        ValueKind::Float => {
            let number = (hash >> 40) as f32 / (1u32 << 23) as f32 - 1.0;
            (u64::from(number.to_bits()) << 32).to_be_bytes()
        }
        ValueKind::Double => ((hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0).to_be_bytes(),
    }
}

/// Fills `bytes` with the elements of `variable` from number `first` on. A last element that does not fit is cut.
pub fn fill_elements(kind: ValueKind, variable: usize, first: u64, bytes: &mut [u8]) {
    for (place, element) in bytes.chunks_mut(kind.size()).zip(first..) {
        place.copy_from_slice(&element_bytes(kind, variable, element)[..place.len()]);
    }
}

/// Fills `bytes` with the payload of a file without types, from byte `offset` of the file on. The byte at an offset
/// is a hash of the offset and of `seed` (for example the rank that writes), whatever range the caller asks for.
pub fn fill_bytes(seed: usize, offset: u64, bytes: &mut [u8]) {
    let start = (offset % 8) as usize;
    let (front, rest) = bytes.split_at_mut(((8 - start) % 8).min(bytes.len()));
    front.copy_from_slice(&element_bytes(ValueKind::Int64, seed, offset / 8)[start..][..front.len()]);
    fill_elements(ValueKind::Int64, seed, offset.div_ceil(8), rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ValueKind; 7] = [
        ValueKind::Char,
        ValueKind::Byte,
        ValueKind::Short,
        ValueKind::Int,
        ValueKind::Int64,
        ValueKind::Float,
        ValueKind::Double,
    ];

    #[test]
    fn the_published_sequence_of_seed_0() {
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn neighbours_differ() {
        for kind in [ValueKind::Int64, ValueKind::Double] {
            let mut seen = std::collections::HashSet::new();
            for variable in 0..414 {
                for element in 0..100 {
                    let bytes = element_bytes(kind, variable, element);
                    assert!(seen.insert(bytes), "{kind:?}, variable {variable}, element {element}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_finite_and_spread_over_their_range() {
        let (mut least, mut most) = (1f64, -1f64);
        for element in 0..100_000 {
            let bytes = element_bytes(ValueKind::Float, 3, element);
            let float = f32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let double = f64::from_be_bytes(element_bytes(ValueKind::Double, 3, element));
            assert!((-1.0..1.0).contains(&float) && (-1.0..1.0).contains(&double), "{float} {double}");
            // The same hash, kept to as many bits as there are.
            assert!((f64::from(float) - double).abs() <= f64::from(f32::EPSILON), "{float} {double}");
            (least, most) = (least.min(double), most.max(double));
            assert!(element_bytes(ValueKind::Char, 3, element)[0].is_ascii_lowercase());
        }
        assert!(least < -0.999 && most > 0.999, "{least} {most}");
    }

    #[test]
    fn what_lies_behind_an_element_is_zero() {
        for kind in KINDS {
            let any = (0..64).fold([0u8; 8], |any, element| {
                let bytes = element_bytes(kind, 1, element);
                std::array::from_fn(|at| any[at] | bytes[at])
            });
            assert!(any[..kind.size()].iter().all(|&byte| byte != 0), "{kind:?}: {any:?}");
            assert!(any[kind.size()..].iter().all(|&byte| byte == 0), "{kind:?}: {any:?}");
        }
    }

    #[test]
    fn a_range_is_its_elements_in_turn() {
        for kind in KINDS {
            let mut range = vec![0xee; kind.size() * 9];
            fill_elements(kind, 7, 100, &mut range);
            let single: Vec<u8> = (100..109).flat_map(|e| element_bytes(kind, 7, e)[..kind.size()].to_vec()).collect();
            assert_eq!(range, single, "{kind:?}");
        }
    }

    #[test]
    fn bytes_depend_on_offset_and_seed_alone() {
        let mut whole = [0; 64];
        fill_bytes(5, 0, &mut whole);
        for (offset, len) in (0..64).flat_map(|offset| (0..=64 - offset).map(move |len| (offset, len))) {
            let mut part = vec![0; len];
            fill_bytes(5, offset as u64, &mut part);
            assert_eq!(part, whole[offset..offset + len], "{len} bytes at {offset}");
        }
        let mut other = [0; 64];
        fill_bytes(6, 0, &mut other);
        assert!(whole.iter().zip(&other).filter(|(a, b)| a == b).count() < 4);
    }
}
