//! Compares two files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes that are compared at a time.
const CHUNK: u64 = 1 << 20;

/// Whether `a` and `b` have the same bytes.
///
/// # Errors
/// Those of the operating system.
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

#[cfg(test)]
mod tests {
    use super::*;

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
