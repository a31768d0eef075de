//! Values of options that are more than a number.

use tributary::Hints;

/// A size, in the words that hints take.
pub fn size(text: &str) -> Result<u64, String> {
    let mut hints = Hints::default();
    hints.set("cb_buffer_size", text).map_err(|_| "allowed: 1 to 2^62 bytes, also with KiB, MiB, GiB".to_string())?;
    Ok(hints.cb_buffer_size)
}

/// How many, at least one.
pub fn positive(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|&count| count > 0).ok_or_else(|| "allowed: 1 or more".to_string())
}

/// The lengths of `N` dimensions, with an x between them.
pub fn lengths<const N: usize>(text: &str) -> Result<[u64; N], String> {
    let lengths: Result<Vec<u64>, _> = text.split('x').map(positive).collect();
    let lengths = lengths.ok().and_then(|lengths| <[u64; N]>::try_from(lengths).ok());
    lengths.ok_or_else(|| format!("allowed: {N} numbers, 1 or more, with an x between them"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_what_is_none() {
        assert_eq!((size("1MiB"), positive("7")), (Ok(1 << 20), Ok(7)));
        assert_eq!(lengths::<3>("4x5x6"), Ok([4, 5, 6]));
        for bad in ["4x5", "4x5x6x7", "4x0x6", "4x-5x6", "x", "", "99999999999999999999x1x1"] {
            assert!(lengths::<3>(bad).unwrap_err().contains("3 numbers"), "{bad}");
        }
        assert!(size("0").is_err() && positive("0").is_err() && size("12 parsecs").is_err());
    }
}
