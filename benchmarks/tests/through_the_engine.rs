//! The patterns of regular codes written collectively, call after call, through buffers with gaps where the code has
//! them: the file that one process writes.

mod common;

use common::every::serial_image;
use tributary::fabric::threads;
use tributary::{Endpoint, File, Hints, Mode};
use tributary_benchmarks::{
    Block4d, Block4dOptions, Btio, BtioOptions, Flash, FlashFile, FlashOptions, Ior, IorOptions, Pattern, S3d,
    S3dOptions,
};

const RANKS: usize = 16;
/// Small windows, so that every call takes many rounds.
const COMMON: &str = "romio_cb_write=enable;trib_tiny_call=0;trib_ranks_per_node=4;nc_num_aggrs_per_node=2;\
                      striping_factor=3;striping_unit=4KiB;cb_buffer_size=8KiB";
const DRIVERS: [&str; 3] = ["lustre", "gpfs", "posix"];
const KERNELS: [&str; 6] = ["ascending_isend", "ascending_issend", "spread_out", "balanced", "pairwise", "two_layer"];

fn write_and_compare(pattern: &dyn Pattern) {
    let expected = serial_image(pattern);
    let directory = tempfile::tempdir().unwrap();
    for driver in DRIVERS {
        for kernel in KERNELS {
            let hints = format!("{COMMON};trib_driver={driver};trib_kernel_data={kernel};trib_kernel_meta={kernel}");
            let hints = Hints::parse(&hints).unwrap();
            let path = directory.path().join(format!("{driver}-{kernel}"));
            threads::run(pattern.ranks(), |transport| {
                let endpoint = Endpoint::new(transport);
                let rank = endpoint.rank();
                let mut file = File::open(endpoint, &path, Mode::Create, hints.clone()).unwrap();
                for step in 0..pattern.steps() {
                    let access = pattern.rank_access(rank, step).unwrap();
                    let mut data = vec![0; access.file.bytes() as usize];
                    pattern.fill(rank, step, &mut data).unwrap();
                    file.write_all(&access.file, &access.layout, &access.scatter(&data, 0xa5).unwrap()).unwrap();
                }
                file.close().unwrap();
            })
            .unwrap();
            let written = std::fs::read(&path).unwrap();
            let differ = written.iter().zip(&expected).position(|(a, b)| a != b);
            assert_eq!((written.len(), differ), (expected.len(), None), "{}: {driver}, {kernel}", pattern.describe());
        }
    }
}

#[test]
fn block4d() {
    let options = Block4dOptions { lattice: [6, 5, 4, 9], grid: None, site: 24 };
    write_and_compare(&Block4d::new(RANKS, options).unwrap());
}

#[test]
fn btio() {
    write_and_compare(&Btio::new(RANKS, BtioOptions { grid: 13, iterations: 3 }).unwrap());
}

#[test]
fn flash() {
    for file in [FlashFile::Checkpoint, FlashFile::PlotCenter, FlashFile::PlotCorner] {
        let options = FlashOptions { file, cells: [2, 2, 2], blocks: 5, ..FlashOptions::default() };
        write_and_compare(&Flash::new(RANKS, options).unwrap());
    }
}

#[test]
fn ior() {
    for one_call in [false, true] {
        let options = IorOptions { transfer: 1000, block: 3000, segments: 2, one_call, ..IorOptions::default() };
        write_and_compare(&Ior::new(RANKS, options).unwrap());
    }
}

#[test]
fn s3d() {
    for call_per_array in [false, true] {
        let options = S3dOptions { points: Some([8, 6, 4]), grid: Some([4, 2, 2]), call_per_array };
        write_and_compare(&S3d::new(RANKS, options).unwrap());
    }
}
