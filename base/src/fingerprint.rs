//! A hash of bytes that is the same in every build. (The hashes of the standard library may differ between versions.)

/// Mixes the bits of a number, so that each bit changes half of the result (the mixer of SplitMix64).
#[inline]
pub fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Returns a number that almost certainly differs if the parts differ, or their division into parts. O(bytes).
pub fn fingerprint<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> u64 {
    parts.into_iter().fold(0, |all, part| {
        let bytes = part.as_ref();
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        std::iter::once(bytes.len() as u64).chain(words).fold(all, |all, word| {
            // The odd number (2^64 by the golden ratio) keeps zeros from vanishing.
            mixed(all.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ word)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_their_division_count() {
        let all = [
            fingerprint::<&str>([]),
            fingerprint([""]),
            fingerprint(["", ""]),
            fingerprint(["a"]),
            fingerprint(["a\0"]),
            fingerprint(["", "a"]),
            fingerprint(["ab", "c"]),
            fingerprint(["a", "bc"]),
            fingerprint(["abcdefgh", "i"]),
            fingerprint(["abcdefghi"]),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    /// Ranks of different builds compare these numbers, so the definition must not change.
    #[test]
    fn the_definition_stays() {
        assert_eq!(fingerprint(["Tributary", "a file"]), 11_523_180_051_927_311_267);
    }
}
