//! Checks what must be true of every pattern against plain references: its ranks' bytes together are the file that
//! one process writes, its sums are sums, and its closed forms are upper bounds.

use std::collections::{BTreeMap, BTreeSet};

use tributary::access::walk::pieces;
use tributary::drivers::Domains;
use tributary_benchmarks::{Division, Pattern, RankAccess, Totals};

/// Numbers of ranks for patterns that accept any number.
pub const RANKS: [usize; 7] = [1, 2, 3, 5, 8, 13, 16];

/// Returns divisions of a file among aggregators, in sizes that suit small files.
pub fn divisions() -> Vec<Division> {
    let mut all = Vec::new();
    for size in [64, 1000, 4096, 1 << 16] {
        for aggregators in [1, 2, 3, 7] {
            all.push(Division::Stripes { stripe: size, aggregators });
            all.push(Division::Ranges { window: size, aggregators });
        }
    }
    all
}

/// Runs all checks of this module. The pattern must be small: its file is held in memory.
pub fn check(pattern: &dyn Pattern) {
    let accesses = accesses(pattern);
    check_bytes(pattern, &accesses);
    check_sums(pattern, &accesses);
    for division in divisions() {
        check_closed_form(pattern, &accesses, division);
    }
    check_netcdf(pattern);
    check_refusals(pattern);
}

/// Returns the accesses of all ranks, step by step.
pub fn accesses(pattern: &dyn Pattern) -> Vec<Vec<RankAccess>> {
    let of = |step| (0..pattern.ranks()).map(|rank| pattern.rank_access(rank, step).unwrap()).collect();
    (0..pattern.steps()).map(of).collect()
}

/// Returns the file written from one process.
pub fn serial_image(pattern: &dyn Pattern) -> Vec<u8> {
    let mut file = tempfile::tempfile().unwrap();
    // What was there must go.
    std::io::Write::write_all(&mut file, &[0xee; 100]).unwrap();
    pattern.write_serially(&file).unwrap();
    let mut image = Vec::new();
    std::io::Seek::rewind(&mut file).unwrap();
    std::io::Read::read_to_end(&mut file, &mut image).unwrap();
    image
}

/// Checks that the bytes of all ranks, placed through their buffers' layouts, are the serial file: no byte twice,
/// none of a gap.
fn check_bytes(pattern: &dyn Pattern, accesses: &[Vec<RankAccess>]) {
    let name = pattern.describe();
    let expected = serial_image(pattern);
    let mut image = vec![0u8; expected.len()];
    let mut written = vec![false; expected.len()];
    for (step, ranks) in accesses.iter().enumerate() {
        for (rank, access) in ranks.iter().enumerate() {
            assert!(access.file.is_ascending(), "{name}: rank {rank}, step {step}");
            let mut data = vec![0u8; access.file.bytes() as usize];
            pattern.fill(rank, step, &mut data).unwrap();
            let buffer = access.scatter(&data, 0xa5).unwrap();
            for piece in pieces(&access.file, &access.layout) {
                let (from, to, len) = (piece.memory as usize, piece.offset as usize, piece.len as usize);
                image[to..to + len].copy_from_slice(&buffer[from..from + len]);
                let twice = written[to..to + len].iter().any(|&done| done);
                assert!(!twice, "{name}: rank {rank}, step {step} writes {to}..{} again", to + len);
                written[to..to + len].fill(true);
            }
        }
    }
    let differ = image.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(differ, None, "{name}: the first byte that differs");
}

/// Checks, if the pattern is a NetCDF file, that the puts of all ranks, placed by its layout, are the serial file
/// too.
fn check_netcdf(pattern: &dyn Pattern) {
    let Some(case) = pattern.netcdf() else { return };
    let layout = case.schema().layout(case.alignment()).unwrap();
    let expected = serial_image(pattern);
    let mut image = vec![0u8; expected.len()];
    for step in 0..pattern.steps() {
        for rank in 0..pattern.ranks() {
            for put in case.puts(rank, step).unwrap() {
                let extents = layout.extents_of_all(put.variable, put.requests.iter()).unwrap();
                assert_eq!(extents.bytes(), put.data.len() as u64);
                let mut rest = &put.data[..];
                for extent in extents.iter() {
                    let (piece, behind) = rest.split_at(extent.len as usize);
                    image[extent.offset as usize..extent.end() as usize].copy_from_slice(piece);
                    rest = behind;
                }
            }
        }
    }
    let differ = image.iter().zip(&expected).position(|(a, b)| a != b);
    assert_eq!(differ, None, "{}: the first byte that differs as NetCDF", pattern.describe());
    let records = case.schema().unlimited().map_or(0, |_| pattern.steps() as u64);
    assert_eq!(layout.file_bytes(records), Some(pattern.totals().file_size), "{}", pattern.describe());
    assert!(case.puts(pattern.ranks(), 0).is_err() && case.puts(0, pattern.steps()).is_err());
}

/// Checks that the totals and the closed form are the sums over ranks and steps.
fn check_sums(pattern: &dyn Pattern, accesses: &[Vec<RankAccess>]) {
    let all = accesses.iter().flatten();
    let sums = all.fold(Totals { requests: 0, bytes: 0, file_size: 0 }, |sums, access| Totals {
        requests: sums.requests + access.requests,
        bytes: sums.bytes + access.file.bytes(),
        file_size: sums.file_size.max(access.file.span().map_or(0, |(_, end)| end)),
    });
    assert_eq!(pattern.totals(), sums, "{}", pattern.describe());
    for access in accesses.iter().flatten() {
        assert!(access.file.count() <= access.requests, "{}: requests merge, they do not split", pattern.describe());
    }
    let form = pattern.closed_form(Division::Stripes { stripe: 1 << 20, aggregators: 4 });
    assert_eq!((form.requests, form.bytes), (sums.requests, sums.bytes), "{}", pattern.describe());
}

/// The maximum fan-in of a pattern, counted extent by extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Met {
    /// Maximum number of ranks that send metadata to an aggregator in a call.
    pub metadata: u64,
    /// Maximum number of ranks that send data into one window.
    pub data: u64,
}

/// Counts the fan-in of all aggregators extent by extent. `block`: ranges are multiples of this number of bytes.
pub fn meet(accesses: &[Vec<RankAccess>], division: Division, block: u64) -> Met {
    let mut met = Met { metadata: 0, data: 0 };
    for ranks in accesses {
        let spans: Vec<(u64, u64)> = ranks.iter().filter_map(|access| access.file.span()).collect();
        let Some((start, end)) = spans.iter().map(|s| s.0).min().zip(spans.iter().map(|s| s.1).max()) else { continue };
        let domains = match division {
            Division::Stripes { stripe, aggregators } => Domains::Cyclic { stripe, aggregators, stripes: 1 },
            Division::Ranges { window, aggregators } => {
                Domains::equal_blocks(start, end, block, aggregators as usize, window)
            }
        };
        let mut told = BTreeMap::<usize, BTreeSet<usize>>::new();
        let mut senders = BTreeMap::<(usize, u64), BTreeSet<usize>>::new();
        for (rank, access) in ranks.iter().enumerate() {
            for extent in access.file.iter() {
                let mut offset = extent.offset;
                while offset < extent.end() {
                    let (aggregator, until) = domains.owner(offset);
                    let window = domains.window(aggregator, offset);
                    told.entry(aggregator).or_default().insert(rank);
                    senders.entry((aggregator, window.index)).or_default().insert(rank);
                    offset = until.min(window.end).min(extent.end());
                }
            }
        }
        let most = |sizes: Option<usize>| sizes.unwrap_or(0) as u64;
        met.metadata = met.metadata.max(most(told.values().map(BTreeSet::len).max()));
        met.data = met.data.max(most(senders.values().map(BTreeSet::len).max()));
    }
    met
}

/// Checks that the closed form is never below the counted fan-in, wherever ranges end.
fn check_closed_form(pattern: &dyn Pattern, accesses: &[Vec<RankAccess>], division: Division) {
    let form = pattern.closed_form(division);
    for block in [1, division.window()] {
        let met = meet(accesses, division, block);
        let name = pattern.describe();
        assert!(form.metadata_fan_in.unwrap() >= met.metadata, "{name}: {division:?} {form:?} {met:?}");
        assert!(form.data_fan_in.unwrap() >= met.data, "{name}: {division:?} {form:?} {met:?}");
        assert!(form.metadata_fan_in.unwrap() <= pattern.ranks() as u64, "{name}: {division:?} {form:?}");
    }
}

/// Checks that ranks, steps and sizes out of range are errors.
fn check_refusals(pattern: &dyn Pattern) {
    let (ranks, steps) = (pattern.ranks(), pattern.steps());
    for (rank, step) in [(ranks, 0), (0, steps), (usize::MAX, usize::MAX)] {
        assert!(pattern.rank_access(rank, step).is_err());
        assert!(pattern.fill(rank, step, &mut []).is_err());
    }
    let bytes = pattern.rank_access(0, 0).unwrap().file.bytes() as usize;
    let error = pattern.fill(0, 0, &mut vec![0; bytes + 1]).unwrap_err();
    assert!(error.to_string().contains(&format!("{bytes} bytes")), "{error}");
}

/// Checks that a closed form which should be exact equals the counted fan-in.
pub fn assert_met(pattern: &dyn Pattern, division: Division, block: u64) -> Met {
    let met = meet(&accesses(pattern), division, block);
    let form = pattern.closed_form(division);
    let stated = Met { metadata: form.metadata_fan_in.unwrap(), data: form.data_fan_in.unwrap() };
    assert_eq!(stated, met, "{}: {division:?}", pattern.describe());
    met
}
