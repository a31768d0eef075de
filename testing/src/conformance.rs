//! The conformance suite for fabrics and storage of other projects: a [`tributary::Transport`] and a
//! [`tributary::storage::OpenStorage`] that pass it work for every collective call.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use tributary::{Endpoint, threads};
//! use tributary_testing::conformance;
//!
//! # fn my_storage() -> Arc<dyn tributary::storage::OpenStorage> { unimplemented!() }
//! # fn my_transport() -> Box<dyn tributary::Transport> { unimplemented!() }
//! // On every rank of the fabric, with a directory that all of them see.
//! conformance::transport(Endpoint::new(my_transport()), "/scratch/test".as_ref());
//! // In one process.
//! conformance::storage(my_storage(), "/scratch/test".as_ref());
//! ```

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use tributary::storage::{OpenStorage, Storage};
use tributary::{Endpoint, File, Hints, Mode, threads};

use crate::suite::{Case, buffer, run};

/// Number of ranks (threads) that call a storage.
const RANKS: usize = 4;

/// Hints for the paths of a call: exchanges in windows from tiny to large, with and without data sieving, and each
/// rank by itself.
const PATHS: [&str; 5] = [
    "romio_cb_write=enable;romio_cb_read=enable;cb_buffer_size=700;trib_tiny_call=0;cb_nodes=2;cb_config_list=*:*",
    "romio_cb_write=enable;romio_cb_read=enable;romio_ds_write=enable;romio_ds_read=enable;trib_tiny_call=0",
    "romio_cb_write=enable;romio_cb_read=enable;romio_ds_write=disable;romio_ds_read=disable;trib_tiny_call=0",
    "romio_cb_write=disable;romio_cb_read=disable",
    "",
];

/// Runs the suite of collective calls on a fabric: every kernel, driver and throttle, contiguous and scattered data, holes, overlaps,
/// ranks without data. Collective: every rank of the fabric calls it with its endpoint; all see `directory`. It takes a minute on four
/// ranks.
///
/// # Panics
/// Panics if a call fails, or if a byte of a file is wrong.
pub fn transport(endpoint: Endpoint, directory: &Path) {
    run(endpoint, directory);
}

/// Runs calls on a storage: first each of its functions, then collective writes and reads of four ranks that are
/// threads. Creates files in `directory`, and removes them.
///
/// # Panics
/// Panics if a call of the storage or of the library fails, or if a byte is wrong.
pub fn storage(files: Arc<dyn OpenStorage>, directory: &Path) {
    each_call(&*files, &directory.join("calls"));
    for (number, case) in Case::all(RANKS).iter().enumerate() {
        for (way, hints) in PATHS.iter().enumerate() {
            let path = directory.join(format!("case-{number}-{way}"));
            let hints = Hints::parse(hints).unwrap();
            let ranks = threads::run(RANKS, |transport| {
                write_and_read(Endpoint::new(transport), case, &path, (&hints, &files));
            });
            ranks.unwrap();
            remove(&*files, &path);
        }
    }
}

/// Writes the case twice, with other bytes the second time, and reads it back: by the same handle and by a new one.
fn write_and_read(endpoint: Endpoint, case: &Case, path: &Path, (hints, files): (&Hints, &Arc<dyn OpenStorage>)) {
    let (extents, layout) = (&case.file[endpoint.rank()], &case.layout[endpoint.rank()]);
    let bytes = buffer(extents, layout);
    let others: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
    let mut file = File::open_on(endpoint, path, Mode::Create, hints.clone(), files.clone()).unwrap();
    for bytes in [&others, &bytes] {
        file.write_all(extents, layout, bytes).unwrap();
    }
    let end = case.file.iter().filter_map(|extents| extents.span()).map(|(_, end)| end).max().unwrap_or(0);
    assert_eq!(file.size().unwrap(), end, "{}: the file's size", case.name);
    file.sync().unwrap();
    let again = |mut file: File| {
        let mut back = vec![0; bytes.len()];
        file.read_all(extents, layout, &mut back).unwrap();
        // Gaps of the memory are 0 in both.
        assert!(back == bytes, "{}: what was read is not what was written", case.name);
        file.close().unwrap()
    };
    let endpoint = again(file);
    again(File::open_on(endpoint, path, Mode::Read, hints.clone(), files.clone()).unwrap());
}

/// Checks each function of a storage.
fn each_call(files: &dyn OpenStorage, path: &Path) {
    let missing = files.open(path, Mode::Read).err().map(|error| error.kind());
    assert_eq!(missing, Some(ErrorKind::NotFound), "open of a file that is not there");
    let file = files.create(path).unwrap();
    assert_eq!(file.size().unwrap(), 0, "the size of a new file");
    put(&*file, b"defghi", 10);
    assert_eq!(file.size().unwrap(), 16, "the size after a write of 6 bytes at 10");
    assert_eq!(
        got(&*file, 0, 20),
        b"\0\0\0\0\0\0\0\0\0\0defghi",
        "bytes that nobody wrote are 0; there are none past the end"
    );
    put(&*file, b"X", 12);
    file.set_len(14).unwrap();
    file.set_len(18).unwrap();
    assert_eq!(got(&*file, 10, 20), b"deXg\0\0\0\0", "set_len cuts, and extends with 0");
    file.sync().unwrap();
    file.control().settle().unwrap();
    drop(file);
    assert_eq!(got(&*files.open(path, Mode::Read).unwrap(), 10, 3), b"deX", "bytes stay when the file is closed");
    assert_eq!(files.create(path).unwrap().size().unwrap(), 18, "create leaves what is in a file");
    remove(files, path);
}

/// Writes all of the bytes, because a storage may write fewer in one call.
fn put(file: &dyn Storage, mut bytes: &[u8], mut offset: u64) {
    while !bytes.is_empty() {
        let written = file.write_at(bytes, offset).unwrap();
        assert!(written > 0, "write_at of {} bytes at {offset} wrote none", bytes.len());
        (bytes, offset) = (&bytes[written..], offset + written as u64);
    }
}

/// Reads `len` bytes, fewer only at the end of the file.
fn got(file: &dyn Storage, offset: u64, len: usize) -> Vec<u8> {
    let (mut bytes, mut have) = (vec![0; len], 0);
    while have < len {
        match file.read_at(&mut bytes[have..], offset + have as u64).unwrap() {
            0 => break,
            read => have += read,
        }
    }
    bytes.truncate(have);
    bytes
}

/// Removes a file, if the storage can.
fn remove(files: &dyn OpenStorage, path: &Path) {
    match files.remove(path) {
        Err(error) if error.kind() != ErrorKind::Unsupported => panic!("remove of {}: {error}", path.display()),
        _ => {}
    }
}
