//! Tests that the engine accesses only the bytes of the layout in the caller's memory, on every path of a call.
//! Between the pieces there may be other objects, or no memory at all.

use std::os::unix::fs::FileExt;
use std::path::Path as FilePath;

use crate::islands::Islands;
use tributary::engine::Path;
use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};
use tributary_testing::suite::{Case, DRIVERS, kernel_hints, value};

/// Returns the suite's cases, and a case whose pieces are written directly from memory. The last `idle` ranks have no
/// data.
fn cases(ranks: usize, idle: usize) -> Vec<Case> {
    let ranks = ranks - idle;
    let large = |rank: usize| Extents::contiguous(rank as u64 * 300_000, 300_000).unwrap();
    let file: Vec<_> = (0..ranks).map(large).collect();
    let layout = file.iter().map(|_| BufferLayout::Contiguous).collect();
    let mut all = Case::all(ranks);
    all.push(Case { name: "large", file, layout });
    for case in &mut all {
        case.file.resize(ranks + idle, Extents::empty());
        case.layout.resize(ranks + idle, BufferLayout::Contiguous);
    }
    all
}

/// Writes every case from islands and reads it back into others, with each of `hints`. Calls `way` with the hints and
/// the path of each write.
fn over_islands((ranks, idle): (usize, usize), hints: &[String], way: impl Fn(&str, Path) + Sync) {
    let directory = tempfile::tempdir().unwrap();
    threads::run(ranks, |transport| {
        let mut endpoint = Endpoint::new(transport);
        for (h, text) in hints.iter().enumerate() {
            for (c, case) in cases(ranks, idle).iter().enumerate() {
                let path = directory.path().join(format!("{h}-{c}"));
                let starts = (h + c) % 2 == 0;
                let mode = format!("{};{text}", DRIVERS[(h + c) % DRIVERS.len()]);
                let path_taken;
                (endpoint, path_taken) = there_and_back(endpoint, case, &mode, &path, starts);
                way(&format!("{}: {text}", case.name), path_taken);
                if endpoint.rank() == 0 {
                    std::fs::remove_file(&path).unwrap();
                }
            }
        }
    })
    .unwrap();
}

/// Writes and reads back one case; if `starts`, with non-blocking calls. Collective; returns the endpoint and the
/// path of the write.
fn there_and_back(endpoint: Endpoint, case: &Case, hints: &str, path: &FilePath, starts: bool) -> (Endpoint, Path) {
    let extents = &case.file[endpoint.rank()];
    let all: Vec<u8> = extents.iter().flat_map(|extent| extent.offset..extent.end()).map(value).collect();
    let (mut from, mut into) = (Islands::new(extents.bytes()), Islands::new(extents.bytes()));
    from.fill(all.iter().copied());
    let mut file = File::open(endpoint, path, Mode::Create, Hints::parse(hints).unwrap()).unwrap();
    let report = match starts {
        true => file.start_write_all(extents, &from.layout, from.source()).wait().unwrap(),
        false => file.write_all(extents, &from.layout, from.source()).unwrap(),
    };
    assert!(from.bytes() == all, "{}: a write changes its memory, {hints}", case.name);
    file.sync().unwrap();
    let written = std::fs::File::open(path).unwrap();
    let mut got = vec![0; all.len()];
    let mut at = 0;
    for extent in extents.iter() {
        written.read_exact_at(&mut got[at..][..extent.len as usize], extent.offset).unwrap();
        at += extent.len as usize;
    }
    assert!(got == all, "{}: other bytes in the file, {hints}", case.name);
    let layout = into.layout.clone();
    let back = match starts {
        true => file.start_read_all(extents, &layout, into.sink()).wait().unwrap(),
        false => file.read_all(extents, &layout, into.sink()).unwrap(),
    };
    assert_eq!(back.bytes, extents.bytes());
    assert!(into.bytes() == all, "{}: other bytes come back, {hints}", case.name);
    (file.close().unwrap(), report.path)
}

const EXCHANGED: &str = "romio_cb_write=enable;romio_cb_read=enable;trib_tiny_call=0";

#[test]
fn every_rank_its_own() {
    let hints = ["romio_ds_read=automatic", "romio_ds_read=enable", "romio_ds_read=disable"];
    let hints = hints.map(|h| format!("trib_shared_memory=disable;romio_cb_write=disable;romio_cb_read=disable;{h}"));
    over_islands((3, 0), &hints, |what, path| {
        assert!(matches!(path, Path::Direct | Path::Nothing), "{what}: {path:?}")
    });
}

#[test]
fn every_kernel() {
    let common = format!("{EXCHANGED};nc_num_aggrs_per_node=1;trib_ranks_per_node=2");
    let hints: Vec<_> = kernel_hints().iter().map(|kernels| format!("{common};{kernels}")).collect();
    over_islands((5, 0), &hints, |what, path| {
        assert!(matches!(path, Path::Exchange | Path::Nothing), "{what}: {path:?}")
    });
}

#[test]
fn nodes_that_share_memory() {
    let common = format!(
        "trib_shared_memory=enable;trib_host_domains=disable;{EXCHANGED};nc_num_aggrs_per_node=1;trib_ranks_per_node=3"
    );
    let kernels = ["trib_kernel_meta=two_layer;trib_kernel_data=two_layer", "trib_kernel_data=balanced"];
    let hints = kernels.map(|kernels| format!("{common};{kernels}"));
    over_islands((6, 0), &hints, |what, path| {
        assert!(matches!(path, Path::Exchange | Path::Nothing), "{what}: {path:?}")
    });
}

#[test]
fn ranks_that_share_memory() {
    let hints = ["", "romio_cb_write=enable;romio_cb_read=enable", "romio_cb_write=disable;romio_cb_read=disable"];
    let hints = hints.map(|hints| format!("trib_shared_memory=enable;{hints}"));
    over_islands((4, 0), &hints, |what, path| assert_ne!(path, Path::Exchange, "{what}"));
}
