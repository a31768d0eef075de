//! The payload: the bytes of an element are a hash of its variable and its place, so that a misplaced byte is found.

/// One step of the splitmix64 generator: a bijection of 64-bit words that leaves no visible structure.
#[inline]
pub fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The bytes of element `element` of variable `variable`; an element of `n` bytes is the first `n` of them.
#[inline]
pub fn element_bytes(variable: usize, element: u64) -> [u8; 8] {
    splitmix64(element ^ splitmix64(variable as u64)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence_of_seed_0() {
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn neighbours_differ() {
        let mut seen = std::collections::HashSet::new();
        for variable in 0..414 {
            for element in 0..100 {
                assert!(seen.insert(element_bytes(variable, element)), "variable {variable}, element {element}");
            }
        }
    }
}
