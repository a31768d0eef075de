//! Calls on the file: every one that the engine makes goes through here, and may fail, take long, or be interrupted.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::Path;

use crate::drivers::{Identity, Mode, OpenStorage, Storage};

/// Opens the file at `path`.
pub fn open(files: &dyn OpenStorage, path: &Path, mode: Mode) -> io::Result<Box<dyn Storage>> {
    files.open(path, mode)
}

/// Calls [`Storage::write_at`].
#[inline]
pub fn write(file: &dyn Storage, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}

/// Calls [`Storage::write_parts_at`].
#[inline]
pub fn write_parts(file: &dyn Storage, parts: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
    file.write_parts_at(parts, offset)
}

/// Calls [`Storage::read_at`].
#[inline]
pub fn read(file: &dyn Storage, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

/// Calls [`Storage::next_data`].
pub fn next_data(file: &dyn Storage, offset: u64) -> u64 {
    file.next_data(offset)
}

/// Calls [`Storage::size`].
pub fn size(file: &dyn Storage) -> io::Result<u64> {
    file.size()
}

/// Returns the end of the file in bytes, also if bytes before it are not in the file yet ([`crate::drivers::FileControl::end`]).
pub fn end(file: &dyn Storage) -> io::Result<u64> {
    file.control().end()?.map_or_else(|| file.size(), Ok)
}

/// Calls [`Storage::set_len`].
pub fn set_len(file: &dyn Storage, len: u64) -> io::Result<()> {
    file.set_len(len)
}

/// Calls [`Storage::sync`].
pub fn sync(file: &dyn Storage) -> io::Result<()> {
    file.sync()
}

/// Calls [`crate::drivers::FileControl::settle`].
pub fn settle(file: &dyn Storage) -> io::Result<()> {
    file.control().settle()
}

/// Calls [`crate::drivers::FileControl::see_other_hosts`].
pub fn see_other_hosts(file: &dyn Storage) -> io::Result<()> {
    file.control().see_other_hosts()
}

/// Calls [`crate::drivers::FileControl::at_once`].
pub fn at_once(file: &dyn Storage, range: Range<u64>) -> io::Result<Option<&dyn Storage>> {
    file.control().at_once(range)
}

/// Calls [`crate::drivers::FileControl::writes_later`].
pub fn writes_later(file: &dyn Storage, len: u64) -> bool {
    file.control().writes_later(len)
}

/// Calls [`crate::drivers::FileControl::hold`].
pub fn hold(file: &dyn Storage, number: u64, range: Range<u64>) -> io::Result<()> {
    file.control().hold(number, range)
}

/// Calls [`crate::drivers::FileControl::is_held`].
pub fn is_held(file: &dyn Storage, range: Range<u64>) -> io::Result<bool> {
    file.control().is_held(range)
}

/// Calls [`crate::drivers::FileControl::lock_range`].
pub fn lock_range(file: &dyn Storage, range: Range<u64>, is_taken: bool) -> io::Result<()> {
    file.control().lock_range(range, is_taken)
}

/// Calls [`crate::drivers::FileControl::identity`].
pub fn identity(file: &dyn Storage) -> io::Result<Option<Identity>> {
    file.control().identity()
}

/// Returns true if the file can be opened for direct I/O.
pub fn can_be_direct(file: &dyn Storage) -> bool {
    file.control().open_direct().is_ok()
}
