//! Target: encoded lists of extents, as in metadata messages and in irregular accesses in memory.

use bytes::Bytes;
use tributary::access::{Packed, PackedCursor};
use tributary::{Extent, Extents};

use crate::{one_line, words};

/// Maximum number of extents that are walked: a few bytes may encode 2^60 extents.
const WALKED: u64 = 1_000;

pub fn check(bytes: &[u8]) {
    decoded(bytes);
    encoded(bytes);
}

/// Checks that bytes which are accepted match their summary, and that they are the same after encoding again.
fn decoded(bytes: &[u8]) {
    let mut rest = Bytes::copy_from_slice(bytes);
    let Some(packed) = one_line(Packed::read(&mut rest)) else { return };
    assert!(packed.wire_len() + rest.len() <= bytes.len(), "no more is read than is there");
    let summary = *packed.summary();
    assert!(summary.start <= summary.end && summary.end <= i64::MAX as u64);
    if summary.ascending {
        assert!(summary.bytes <= summary.end - summary.start, "ascending extents do not overlap: {summary:?}");
    }
    let mut wire = Vec::new();
    packed.write(&mut wire);
    assert_eq!(Packed::read(&mut Bytes::from(wire)).as_ref(), Ok(&packed));
    if summary.count > WALKED {
        return;
    }
    let all: Vec<Extent> = packed.iter().collect();
    assert_eq!(all.len() as u64, summary.count);
    assert_eq!(all.iter().map(|extent| extent.len).sum::<u64>(), summary.bytes);
    assert_eq!(all.iter().map(|extent| extent.offset).min().unwrap_or(0), summary.start);
    assert_eq!(all.iter().map(|extent| extent.end()).max().unwrap_or(0), summary.end);
    assert_eq!(all.windows(2).all(|pair| pair[0].end() <= pair[1].offset), summary.ascending);
    assert!(all.iter().all(|extent| extent.len > 0));
    let cursor = PackedCursor::new(packed);
    if summary.ascending {
        assert_eq!(cursor.bytes_before(u64::MAX), summary.bytes);
    }
    let again: Packed = all.iter().copied().collect();
    assert_eq!(*again.summary(), summary);
    assert!(again.iter().eq(all));
}

/// Checks that any list is the same after encoding and decoding, and as an access.
fn encoded(bytes: &[u8]) {
    let numbers: Vec<u64> = words(bytes).collect();
    let all: Vec<Extent> = numbers
        .chunks_exact(2)
        .map(|pair| Extent { offset: pair[0] >> (1 + pair[1] % 63), len: 1 + (pair[1] >> 32) })
        .filter(|extent| extent.end() <= i64::MAX as u64)
        .collect();
    let packed: Packed = all.iter().copied().collect();
    let mut wire = Vec::new();
    packed.write(&mut wire);
    assert_eq!(wire.len(), packed.wire_len());
    wire.extend_from_slice(b"behind");
    let mut wire = Bytes::from(wire);
    let back = Packed::read(&mut wire).expect("what was encoded");
    assert_eq!(&wire[..], b"behind");
    assert!(back.iter().eq(all.iter().copied()));
    assert_eq!(back, packed);
    if let Some(extents) = one_line(Extents::from_extents(all.iter().copied())) {
        assert_eq!((extents.count(), extents.bytes()), (extents.iter().count() as u64, packed.summary().bytes));
        assert!(joined(extents.iter()) == joined(all.into_iter()), "other bytes of the file");
    }
}

/// Joins adjacent extents, because an access may store them as one.
fn joined(extents: impl Iterator<Item = Extent>) -> Vec<Extent> {
    let mut all: Vec<Extent> = Vec::new();
    for extent in extents {
        match all.last_mut() {
            Some(last) if last.end() == extent.offset => last.len += extent.len,
            _ => all.push(extent),
        }
    }
    all
}

pub fn seeds() -> Vec<Vec<u8>> {
    let wire = |packed: Packed| {
        let mut wire = Vec::new();
        packed.write(&mut wire);
        wire
    };
    let strided = (0..500).map(|at| Extent { offset: at * 40, len: 8 });
    let back = (0..40).map(|at| Extent { offset: (40 - at) * 1000 + at % 3, len: 1 + at % 7 });
    vec![wire(strided.collect()), wire(back.clone().collect()), wire(Packed::from_iter([])), {
        back.flat_map(|extent| [extent.offset.to_le_bytes(), extent.len.to_le_bytes()]).flatten().collect()
    }]
}
