//! Keeps the last report of this process for the Python package, which returns it as a dictionary.

use std::sync::Mutex;

use tributary_bindings::guard::lock;

/// The last report of this process as JSON; empty if there was none.
static LAST: Mutex<String> = Mutex::new(String::new());

/// Replaces the last report by another one, JSON. Local.
pub fn keep(report: String) {
    *lock(&LAST) = report;
}

/// Copies the last report of this process, as a terminated text of JSON, to `place`, which has room for `room` bytes; nothing if
/// that is too little. Returns the report's length without the terminating byte; 0 if there is none. Local.
///
/// # Safety
/// `place` has room for `room` bytes; it may be null if `room` is 0.
#[unsafe(export_name = "tributary_mpiio_last_report")]
unsafe extern "C" fn last_report(place: *mut u8, room: usize) -> usize {
    let last = lock(&LAST);
    if last.len() < room {
        // SAFETY: the caller's promise.
        unsafe {
            place.copy_from_nonoverlapping(last.as_ptr(), last.len());
            place.add(last.len()).write(0);
        }
    }
    last.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_copied_where_there_is_room() {
        let copied = |room: usize| {
            let mut place = [7u8; 8];
            // SAFETY: room for at most eight bytes.
            let length = unsafe { last_report(place.as_mut_ptr(), room) };
            (length, place)
        };
        keep("{\"a\"}".to_string());
        assert_eq!(copied(8), (5, *b"{\"a\"}\0\x07\x07"));
        assert_eq!(copied(5), (5, [7; 8]), "no room for the end");
    }
}
