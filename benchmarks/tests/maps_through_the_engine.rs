//! The cases of E3SM-IO and lists of extents written collectively and read back, with every driver and kernel: the file
//! that one process writes, and every rank's own bytes.

mod common;

use std::sync::Arc;

use common::serial;
use tributary::access::{Extent, Extents};
use tributary::fabric::threads;
use tributary::{Endpoint, File, Hints, Mode};
use tributary_benchmarks::e3sm::{Case, Content, Generator, History};
use tributary_benchmarks::list::{Lists, write_binary};
use tributary_benchmarks::{E3sm, GeneratorOptions, List, Pattern};

/// Small windows, so that every call takes many rounds.
const COMMON: &str = "romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0;trib_ranks_per_node=3;\
                      nc_num_aggrs_per_node=2;striping_factor=3;trib_overlap=rank_order";
const DRIVERS: [&str; 3] = ["lustre", "gpfs", "posix"];
const KERNELS: [&str; 6] = ["ascending_isend", "ascending_issend", "spread_out", "balanced", "pairwise", "two_layer"];

/// Writes all steps, then reads each back; `disjoint`: what a rank reads is what it has written.
fn write_and_read(pattern: &dyn Pattern, windows: &str, disjoint: bool) {
    let expected = serial(pattern);
    let directory = tempfile::tempdir().unwrap();
    for (driver, kernel) in DRIVERS.iter().flat_map(|driver| KERNELS.map(|kernel| (driver, kernel))) {
        let kernels = format!("trib_kernel_data={kernel};trib_kernel_meta={kernel};trib_driver={driver}");
        let hints = Hints::parse(&format!("{COMMON};{windows};{kernels}")).unwrap();
        let path = directory.path().join(format!("{driver}-{kernel}"));
        threads::run(pattern.ranks(), |transport| {
            let endpoint = Endpoint::new(transport);
            let rank = endpoint.rank();
            let data = |step| {
                let access = pattern.rank_access(rank, step).unwrap();
                let mut data = vec![0; access.file.bytes() as usize];
                pattern.fill(rank, step, &mut data).unwrap();
                (access, data)
            };
            let mut file = File::open(endpoint, &path, Mode::Create, hints.clone()).unwrap();
            for step in 0..pattern.steps() {
                let (access, data) = data(step);
                file.write_all(&access.file, &access.layout, &data).unwrap();
            }
            let mut file = File::open(file.close().unwrap(), &path, Mode::Read, hints.clone()).unwrap();
            for step in 0..pattern.steps() {
                let (access, data) = data(step);
                let mut read = vec![0xee; data.len()];
                file.read_all(&access.file, &access.layout, &mut read).unwrap();
                let of = |extent: Extent| expected[extent.offset as usize..extent.end() as usize].to_vec();
                let held: Vec<u8> = access.file.iter().flat_map(of).collect();
                assert!(read == held, "{}: {driver}, {kernel}, rank {rank}", pattern.describe());
                assert!(!disjoint || read == data, "{}: {driver}, {kernel}, rank {rank}", pattern.describe());
            }
            file.close().unwrap();
        })
        .unwrap();
        let written = std::fs::read(&path).unwrap();
        let differ = written.iter().zip(&expected).position(|(a, b)| a != b);
        assert_eq!((written.len(), differ), (expected.len(), None), "{}: {driver}, {kernel}", pattern.describe());
    }
}

fn case(case: Case, history: History) -> E3sm {
    let options = GeneratorOptions { columns_per_rank: 4, groups: 2, seed: 1 };
    let content = Content { case, history, records: 2, ..Content::default() };
    E3sm::with_content(Arc::new(Generator::of(case, 5, options).unwrap()), content).unwrap()
}

#[test]
fn f_case_h1_with_records() {
    write_and_read(&case(Case::F, History::H1), "striping_unit=2KiB;cb_buffer_size=4KiB", true);
}

#[test]
fn g_case_with_records() {
    write_and_read(&case(Case::G, History::H0), "striping_unit=64KiB;cb_buffer_size=128KiB", true);
}

#[test]
fn i_case_with_records() {
    write_and_read(&case(Case::I, History::H0), "striping_unit=32KiB;cb_buffer_size=64KiB", true);
}

/// Unsorted extents that overlap those of other ranks and of their own.
#[test]
fn lists_that_overlap() {
    let list = |rank: u64| {
        let extent = |k: u64| Extent { offset: (k * 7919 + rank * 104_729) % 3000, len: 1 + (k * 31 + rank) % 200 };
        Extents::from_list((0..30).map(extent))
    };
    let mut bytes = Vec::new();
    write_binary(&mut bytes, 5, &mut |rank| Ok(list(rank as u64)?)).unwrap();
    let pattern = List::new(Lists::from_bytes("test", bytes).unwrap());
    write_and_read(&pattern, "striping_unit=128;cb_buffer_size=256", false);
}
