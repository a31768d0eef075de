//! Collective reads of files that the conformance suite has written: the same access, and accesses that only reads
//! may make, in which every rank reads the whole file, backwards, some of it twice, and beyond its end.

use std::os::unix::fs::FileExt;
use std::path::Path;

use tributary::drivers::{OpenStorage, SystemFiles};
use tributary::{BufferLayout, Endpoint, Extent, Extents, File, Hints, Mode};

use crate::suite::Case;

/// Value of bytes in a buffer before a read.
const UNTOUCHED: u8 = 0xa4;

/// Opens a file such that this host sees its current contents, also if hosts cache by themselves and this host has
/// read the file before.
pub fn seen_anew(path: &Path) -> std::fs::File {
    SystemFiles.open(path, Mode::Read).unwrap().control().see_other_hosts().unwrap();
    std::fs::File::open(path).unwrap()
}

/// Reads the bytes that this rank has written, and checks that gaps of the buffer are unchanged. Collective.
pub fn read_back(file: &mut File, case: &Case, written: &[u8]) {
    let rank = file.endpoint().rank();
    let (extents, layout) = (&case.file[rank], &case.layout[rank]);
    for again in [false, true] {
        let mut buffer = vec![UNTOUCHED; written.len() + 3];
        let report = file.read_all(extents, layout, &mut buffer).unwrap();
        assert_eq!(report.bytes, extents.bytes(), "{}", case.name);
        assert_eq!(report.call.bytes_read, report.call.bytes, "{}", case.name);
        let mut expected = vec![UNTOUCHED; written.len() + 3];
        let whole = Extents::contiguous(0, written.len() as u64).unwrap();
        let held = match layout {
            BufferLayout::Contiguous => &whole,
            BufferLayout::Extents(held) => held,
        };
        for place in held.iter() {
            let place = place.offset as usize..place.end() as usize;
            expected[place.clone()].copy_from_slice(&written[place]);
        }
        assert!(buffer == expected, "{}: rank {rank} reads other bytes than it has written", case.name);
        assert!(!again || report.call.bytes == 0 || report.call.metadata_messages == 0, "a plan is used again");
    }
}

/// Reads the file from `base` to behind its end on every rank, in parts that go back and overlap. Collective.
pub fn read_everything(endpoint: Endpoint, case: &Case, hints: &Hints, path: &Path, base: u64) -> Endpoint {
    let rank = endpoint.rank() as u64;
    let mut file = File::open(endpoint, path, Mode::Read, hints.clone()).unwrap();
    let plain = seen_anew(path);
    let size = plain.metadata().unwrap().len();
    let len = (size - base).min(9000);
    let mut image = vec![0; len as usize];
    plain.read_exact_at(&mut image, base).unwrap();
    let from = base + len - (rank * 7 + 1).min(len);
    let parts = [(from, 700), (base + rank, 1200), (base + 300, 1000), (base, len), (from, 13)];
    let list = || parts.iter().map(|&(offset, len)| Extent { offset, len });
    let extents = Extents::from_list(list()).unwrap();
    let mut buffer = vec![UNTOUCHED; extents.bytes() as usize];
    let report = file.read_all(&extents, &BufferLayout::Contiguous, &mut buffer).unwrap();
    let (mut at, mut there) = (0, 0);
    for offset in list().flat_map(|part| part.offset..part.end()) {
        let expected = match image.get((offset - base) as usize) {
            Some(&byte) => Some(byte),
            None if offset >= size => Some(UNTOUCHED),
            None => None,
        };
        there += u64::from(offset < size);
        let got = buffer[at];
        let name = case.name;
        assert!(expected.is_none_or(|byte| got == byte), "{name}: rank {rank} reads {got} at {offset}: {expected:?}");
        at += 1;
    }
    assert_eq!(report.bytes, there, "{}: rank {rank}", case.name);
    let refused = file.write_all(&extents, &BufferLayout::Contiguous, &buffer).unwrap_err().to_string();
    assert!(refused.contains("opened for reading only"), "{refused}");
    file.close().unwrap()
}
