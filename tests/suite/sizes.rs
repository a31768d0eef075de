//! Tests extents and messages whose sizes exceed 31 and 32 bits, written and read back.

use std::sync::Arc;

use tributary::fabric::threads;
use tributary::{BufferLayout, Endpoint, Extents, File, Hints, Mode};
use tributary_testing::periodic::{PERIOD, Periodic, same, two_periods, value};
use tributary_testing::watchdog::Watchdog;

/// Offset of the extent in the file, in bytes.
const START: u64 = 5;

/// Lets rank 1 write (and read) one extent of `size` bytes through rank 0.
fn through_the_exchange(size: u64, hints: &str) {
    let hints = Hints::parse(hints).unwrap();
    let storage = Periodic::new(START + size + 1000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let periods = two_periods();
    threads::run(2, |transport| {
        let endpoint = Endpoint::new(transport);
        let mine = endpoint.rank() == 1;
        let mut file = File::open_on(endpoint, &path, Mode::Update, hints.clone(), Arc::new(storage.clone())).unwrap();
        assert_eq!(file.settings().aggregators, [0]);
        let len = if mine { size } else { 0 };
        let extents = Extents::contiguous(START, len).unwrap();
        let report = file.write_all(&extents, &repeated(len), &periods[START as usize..]).unwrap();
        assert_eq!((report.bytes, report.bytes_written), (size, size));
        assert_eq!(report.path, tributary::engine::Path::Exchange);
        // Read repeatedly into the space of one period, so memory is bounded by a window.
        let mut buffer = vec![0; len.min(PERIOD as u64) as usize];
        let report = file.read_all(&extents, &repeated(len), &mut buffer).unwrap();
        assert_eq!((report.bytes, report.call.bytes, report.call.bytes_read), (len, size, size));
        assert!(same(&periods, &buffer, START), "other bytes than the file has");
        file.close().unwrap();
    })
    .unwrap();
    assert_eq!((storage.written(), storage.read()), (size, size));
}

/// Returns the layout of a buffer of one period that stands for `len` bytes.
fn repeated(len: u64) -> BufferLayout {
    let period = PERIOD as u64;
    let mut layout = Extents::contiguous(0, period).unwrap().repeat(0, len / period).unwrap();
    layout.push(&Extents::contiguous(0, len % period).unwrap()).unwrap();
    BufferLayout::Extents(layout)
}

#[test]
fn extents_beyond_32_bits() {
    let _watchdog = Watchdog::new("extents_beyond_32_bits", 300);
    for size in [(1 << 31) - 1, (1 << 32) + 1] {
        through_the_exchange(size, "romio_cb_write=enable;romio_cb_read=enable;cb_nodes=1");
    }
}

#[test]
#[ignore = "one message of more than 2 GiB is held at both ends, 5 GB: .ci/run has a step for it"]
fn messages_beyond_31_bits() {
    let _watchdog = Watchdog::new("messages_beyond_31_bits", 300);
    let whole = "romio_cb_write=enable;romio_cb_read=enable;cb_nodes=1;cb_buffer_size=8GiB;trib_write_buffers=1";
    through_the_exchange((1 << 31) + 1, whole);
}

#[test]
fn the_file_repeats_with_its_period() {
    let periods = two_periods();
    assert_eq!(value(PERIOD as u64 + 9), value(9));
    assert!(same(&periods, &periods[7..PERIOD + 7], 7));
    assert!(!same(&periods, &periods[7..PERIOD + 7], 8));
}
