//! Compares two files.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use tributary::Extent;

/// Number of bytes that are compared at a time.
const CHUNK: u64 = 1 << 20;

/// Returns true if `a` and `b` have the same bytes.
///
/// # Errors
/// Errors of the operating system.
pub fn same_bytes(a: &Path, b: &Path) -> std::io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    loop {
        of_a.clear();
        of_b.clear();
        (&mut a).take(CHUNK).read_to_end(&mut of_a)?;
        (&mut b).take(CHUNK).read_to_end(&mut of_b)?;
        if of_a != of_b || of_a.is_empty() {
            return Ok(of_a == of_b);
        }
    }
}

/// Returns true if `a` and `b` have the same size and the same bytes in `extents`, which must ascend.
///
/// # Errors
/// Errors of the operating system; an extent behind the end.
pub fn same_extents(a: &Path, b: &Path, extents: &[Extent]) -> std::io::Result<bool> {
    let (a, b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    let mut compared = 0;
    for extent in extents {
        let (mut at, end) = (extent.offset.max(compared), extent.end());
        while at < end {
            let len = (end - at).min(CHUNK) as usize;
            of_a.resize(len, 0);
            of_b.resize(len, 0);
            a.read_exact_at(&mut of_a, at)?;
            b.read_exact_at(&mut of_b, at)?;
            if of_a != of_b {
                return Ok(false);
            }
            at += len as u64;
        }
        compared = compared.max(end);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_make_no_difference_to_extents() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let extents = [(2, 5), (5, 4), (20, CHUNK + 5)].map(|(offset, len)| Extent { offset, len });
        let bytes = vec![7; CHUNK as usize + 40];
        std::fs::write(&a, &bytes).unwrap();
        for (at, is_same) in
            [(1, true), (2, false), (8, false), (9, true), (19, true), (20, false), (bytes.len() - 1, true)]
        {
            let mut other = bytes.clone();
            other[at] ^= 1;
            std::fs::write(&b, &other).unwrap();
            assert_eq!(same_extents(&a, &b, &extents).unwrap(), is_same, "byte {at}");
        }
        std::fs::write(&b, &bytes[1..]).unwrap();
        assert!(!same_extents(&a, &b, &extents).unwrap());
    }

    #[test]
    fn a_byte_makes_a_difference_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        let mut bytes = vec![7; 2 * CHUNK as usize + 3];
        std::fs::write(&a, &bytes).unwrap();
        std::fs::write(&b, &bytes).unwrap();
        assert!(same_bytes(&a, &b).unwrap());
        for at in [0, CHUNK as usize, bytes.len() - 1] {
            bytes[at] ^= 1;
            std::fs::write(&b, &bytes).unwrap();
            assert!(!same_bytes(&a, &b).unwrap());
            bytes[at] ^= 1;
        }
        std::fs::write(&b, &bytes[1..]).unwrap();
        assert!(!same_bytes(&a, &b).unwrap());
    }
}
