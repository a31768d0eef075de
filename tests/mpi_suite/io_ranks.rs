//! Dedicated I/O ranks on MPI: the bytes are right, and errors are reported later.

use crate::interleaved::Interleaved;
use crate::mpiexec;
use tributary::hints::KernelHint;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};

#[test]
fn compute_ranks_hand_over() {
    mpiexec::under_mpiexec("io_ranks::compute_ranks_hand_over", &[2, 3, 5, 8], || {
        let (_world, endpoint) = mpiexec::world();
        let mut endpoint = Endpoint::new(Box::new(endpoint));
        let (rank, ranks) = (endpoint.rank(), endpoint.ranks());
        let io_ranks = ranks.div_ceil(4);
        let path = mpiexec::directory().join("f");
        for kernel in KernelHint::all().map(|kernel| kernel.to_string()) {
            let hints = format!(
                "trib_io_ranks={io_ranks};trib_tiny_call=0;cb_buffer_size=1024;trib_kernel_data={kernel};trib_kernel_meta={kernel}"
            );
            let endpoint = endpoint.duplicate().unwrap();
            let mut file = File::open(endpoint, &path, Mode::Create, Hints::parse(&hints).unwrap()).unwrap();
            let all = Interleaved::full(ranks - io_ranks, 24, 100);
            let (extents, buffer) = match file.io_ranks().binary_search(&rank) {
                Ok(_) => (Extents::empty(), Vec::new()),
                Err(below) => all.part(rank - below, 5),
            };
            let layout = BufferLayout::Contiguous;
            assert_eq!(file.write_all(&extents, &layout, &buffer).unwrap().bytes_written, 0);
            assert_eq!(file.complete_write().unwrap().unwrap().bytes_written, all.bytes());
            let mut back = vec![0; buffer.len()];
            file.read_all(&extents, &layout, &mut back).unwrap();
            assert_eq!(back, buffer, "{kernel}");
            file.close().unwrap();
            if rank == 0 {
                all.check_whole(&path, 5, &kernel);
            }
        }
    });
}
