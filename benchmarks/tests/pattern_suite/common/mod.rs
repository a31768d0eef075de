//! Shared code of several test programs. Each uses a part of it.

pub mod every;

use std::io::Read;
use std::path::PathBuf;

use tributary::access::BufferLayout;
use tributary_benchmarks::Pattern;
use tributary_benchmarks::e3sm::{Decompositions, Entry};

/// Decompositions given entry by entry: `entries[which][rank]`.
#[derive(Debug, Clone)]
pub struct Listed {
    pub dims: Vec<Vec<u64>>,
    pub entries: Vec<Vec<Vec<Entry>>>,
}

impl Decompositions for Listed {
    fn name(&self) -> &str {
        "listed"
    }
    fn ranks(&self) -> usize {
        self.entries[0].len()
    }
    fn dims(&self) -> &[Vec<u64>] {
        &self.dims
    }
    fn visit(&self, which: usize, rank: usize, visitor: &mut dyn FnMut(Entry)) {
        self.entries[which][rank].iter().for_each(|&entry| visitor(entry));
    }
    fn is_levels_of(&self, _: usize, _: usize) -> bool {
        false
    }
}

/// Builds the file from every rank's extents and buffer, step by step; panics if a byte is written twice. Also
/// returns the number of bytes written.
pub fn place_all(pattern: &dyn Pattern) -> (Vec<u8>, u64) {
    let size = pattern.totals().file_size as usize;
    let (mut file, mut written) = (vec![0u8; size], vec![false; size]);
    let mut bytes = 0;
    for (step, rank) in (0..pattern.steps()).flat_map(|step| (0..pattern.ranks()).map(move |rank| (step, rank))) {
        let access = pattern.rank_access(rank, step).unwrap();
        assert!(access.file.is_ascending(), "rank {rank}");
        assert_eq!(access.layout, BufferLayout::Contiguous);
        let mut buffer = vec![0u8; access.file.bytes() as usize];
        pattern.fill(rank, step, &mut buffer).unwrap();
        let mut rest = &buffer[..];
        for extent in access.file.iter() {
            let (piece, behind) = rest.split_at(extent.len as usize);
            rest = behind;
            let place = extent.offset as usize..extent.end() as usize;
            assert!(written[place.clone()].iter().all(|w| !w), "rank {rank}: {extent:?} is written twice");
            written[place.clone()].fill(true);
            file[place].copy_from_slice(piece);
            bytes += extent.len;
        }
        assert!(rest.is_empty());
    }
    (file, bytes)
}

/// Returns the file as the serial writer writes it.
pub fn serial(pattern: &dyn Pattern) -> Vec<u8> {
    let mut file = tempfile::tempfile().unwrap();
    pattern.write_serially(&file).unwrap();
    let mut bytes = Vec::new();
    std::io::Seek::rewind(&mut file).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Returns the path of the real map of 16 ranks: `TRIB_E3SM_MAP`, or a file beside the checkout. Without it returns
/// `None`, and prints a line that says so.
pub fn real_map() -> Option<PathBuf> {
    at_hand("TRIB_E3SM_MAP", "e3sm/map_f_case_16p.nc")
}

/// Returns the path of a file that does not come with the project: the value of `variable`, or a file beside the
/// checkout. Without it returns `None`, and prints a line that says so.
pub fn at_hand(variable: &str, beside: &str) -> Option<PathBuf> {
    let path = match std::env::var_os(variable) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data").join(beside),
    };
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there; set {variable} to check the real numbers", path.display());
    None
}
