//! Checks lists of offsets and lengths and turns them into accesses. A call may have millions of pairs, so there is
//! one pass over the list of the file, and two over the list of memory.

use tributary::access::{Memory, OwnedAccess};
use tributary::error::About;
use tributary::{BufferLayout, Direction, Error, Extents, Result};
use tributary_bindings::list::List;

use crate::MPI_Offset;

/// Defines C functions that move bytes between lists. A row has the function's name, the type of its buffer, the
/// method of [`GioFile`](crate::handle::GioFile) that does the work, and the direction.
macro_rules! moves {
    ($($(#[$doc:meta])+ $name:ident($buffer:ty) $method:ident $direction:ident;)+) => {$(
        $(#[$doc])+
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            fh: *mut $crate::handle::GioFile,
            buf: $buffer,
            file_npairs: $crate::MPI_Offset,
            file_offs: *const $crate::MPI_Offset,
            file_lens: *const $crate::MPI_Offset,
            buf_npairs: $crate::MPI_Offset,
            buf_offs: *const $crate::MPI_Offset,
            buf_lens: *const $crate::MPI_Offset,
        ) -> $crate::MPI_Offset {
            use $crate::lists::{access, list};
            let buf: *const std::ffi::c_void = buf;
            let file = list("file", file_npairs, file_offs, file_lens);
            let memory = list("buf", buf_npairs, buf_offs, buf_lens);
            // SAFETY: the caller's promises: lists as long as said, memory that they describe, nobody else uses the file.
            $crate::code::moved(stringify!($name), || unsafe {
                let (opened, direction) = ($crate::handle::opened(fh, stringify!($name))?, tributary::Direction::$direction);
                opened.$method(direction, access(file, memory, direction, buf.cast_mut().cast()))
            })
        }
    )+};
}
pub(crate) use moves;

/// Names the arguments of a list, for errors. `name` is `file` or `buf`.
pub fn list(name: &'static str, count: MPI_Offset, offsets: *const MPI_Offset, lengths: *const MPI_Offset) -> List {
    List { name, arguments: ["npairs", "offs", "lens"], count, offsets, lengths }
}

/// Returns the access that the arguments of a call in this direction describe. Its extents in the file ascend. Offsets in
/// memory are relative to `buffer` and may be negative.
///
/// # Errors
/// The errors of [`List::arrays`]; a length is negative, offsets in the file do not ascend, file and memory have different numbers
/// of bytes, or memory is at NULL.
///
/// # Safety
/// The arrays are null or as long as their counts say, and do not change during the call. The memory that they list is
/// valid for reads in a write; in a read it is valid for writes, and nothing else uses it. Both until the access is dropped.
pub unsafe fn access<'a>(file: List, memory: List, direction: Direction, buffer: *mut u8) -> Result<OwnedAccess<'a>> {
    // SAFETY: the caller's promise.
    let (in_file, in_memory) = unsafe { (file.arrays()?, memory.arrays()?) };
    let file = of_file(in_file)?;
    let (first, extents) = of_memory(in_memory)?;
    if extents.bytes() != file.bytes() {
        let given = format!("{} bytes in memory, {} in the file", extents.bytes(), file.bytes());
        return Err(Error::argument("buf_lens", given, "as many as in the file"));
    }
    let (start, span, layout) = match extents.span() {
        None => (std::ptr::dangling_mut(), 0, BufferLayout::Contiguous),
        Some((start, end)) => {
            let (memory, span) = located(buffer, first, end)?;
            match extents.count() {
                1 => (memory.wrapping_add(start as usize), span - start as usize, BufferLayout::Contiguous),
                _ => (memory, span, BufferLayout::Extents(extents)),
            }
        }
    };
    // SAFETY: the caller's promise.
    Ok(OwnedAccess { file, layout, memory: unsafe { Memory::from_raw_parts(direction, start, span) } })
}

fn of_file((offsets, lengths): (&[i64], &[i64])) -> Result<Extents> {
    let extents = Extents::from_arrays(offsets, lengths, 0).map_err(|error| negative("file", lengths, error))?;
    if !extents.is_ascending() {
        let ends = offsets.iter().zip(lengths).map(|(offset, len)| offset + len);
        let bad = ends.zip(offsets.iter().skip(1)).position(|(end, next)| end > *next).unwrap_or_default();
        let given = format!("pair {} begins before the end of pair {bad}", bad + 1);
        let bad = Error::argument("order of the offsets in the file", given, "ascending, without overlap");
        return Err(bad.about(About::ListOrder));
    }
    Ok(extents)
}

/// Returns the lowest offset of memory, and the extents relative to it.
fn of_memory((offsets, lengths): (&[i64], &[i64])) -> Result<(i64, Extents)> {
    let first = offsets.iter().copied().min().unwrap_or_default();
    let extents = Extents::from_arrays(offsets, lengths, first).map_err(|error| negative("buf", lengths, error))?;
    Ok((first, extents))
}

/// Replaces an error by an error about a negative length, if there is one, because GIO has a code for it.
fn negative(name: &str, lengths: &[i64], error: Error) -> Error {
    match lengths.iter().position(|len| *len < 0) {
        Some(at) => {
            let given = format!("{name}_lens[{at}] = {}", lengths[at]);
            Error::argument("length in a list", given, "0 or more").about(About::ListLength)
        }
        None => error,
    }
}

/// Returns the address `first` bytes past `buffer`, and `end` as a size in memory.
fn located(buffer: *mut u8, first: i64, end: u64) -> Result<(*mut u8, usize)> {
    let address = (buffer.addr() as u64).checked_add_signed(first);
    let fits = |address: &u64| address.checked_add(end).is_some_and(|end| end <= isize::MAX as u64);
    match address.filter(fits) {
        // No program has data in the first page. An address there comes from a NULL buffer with small offsets.
        Some(4096..) => Ok((buffer.wrapping_offset(first as isize), end as usize)),
        _ => {
            let given = format!("{end} bytes, {first} from {buffer:p}");
            Err(Error::argument("buf", given, "an address of that many bytes"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    type Arrays = (Vec<i64>, Vec<i64>);

    fn access(file: &[(i64, i64)], memory: &[(i64, i64)], buffer: *mut u8) -> Result<OwnedAccess<'static>> {
        let (file, memory): (Arrays, Arrays) = (file.iter().copied().unzip(), memory.iter().copied().unzip());
        let of =
            |name, (offsets, lengths): &Arrays| list(name, offsets.len() as i64, offsets.as_ptr(), lengths.as_ptr());
        // SAFETY: the arrays live, and are as long as said; no test touches the memory.
        unsafe { super::access(of("file", &file), of("buf", &memory), Direction::Write, buffer) }
    }

    const PLACE: usize = 1 << 20;

    fn place() -> *mut u8 {
        std::ptr::without_provenance_mut(PLACE)
    }

    #[test]
    fn memory_in_one_piece_is_contiguous() {
        let got = access(&[(0, 4), (10, 4)], &[(8, 3), (11, 5)], place()).unwrap();
        assert_eq!((got.layout, got.memory.addresses()), (BufferLayout::Contiguous, PLACE + 8..PLACE + 16));
        assert_eq!(got.file.count(), 2);
    }

    #[test]
    fn memory_in_any_order_begins_at_its_lowest_byte() {
        let got = access(&[(5, 7)], &[(100, 3), (-50, 4)], place()).unwrap();
        assert_eq!(got.memory.addresses(), PLACE - 50..PLACE + 103);
        let BufferLayout::Extents(extents) = got.layout else { panic!("no list") };
        assert_eq!(extents.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>(), [(150, 3), (0, 4)]);
    }

    #[test]
    fn an_empty_pair_has_no_extent() {
        let got = access(&[(5, 0)], &[], std::ptr::null_mut()).unwrap();
        assert!(got.file.bytes() == 0 && got.memory.addresses().is_empty());
        let got = access(&[(1, 2)], &[(-9, 0), (0, 2)], place()).unwrap();
        assert_eq!((got.layout, got.memory.addresses()), (BufferLayout::Contiguous, PLACE..PLACE + 2));
    }

    #[test]
    fn bad_lists_have_the_codes_of_gio() {
        let code = |outcome: Result<OwnedAccess<'_>>| code::of(&outcome.unwrap_err());
        assert_eq!(code(access(&[(4, 4), (0, 4)], &[(0, 8)], place())), code::EFILEVIEW);
        assert_eq!(code(access(&[(0, 4), (3, 4)], &[(0, 8)], place())), code::EFILEVIEW);
        assert_eq!(code(access(&[(0, -4)], &[(0, 4)], place())), code::ENEGATIVECNT);
        assert_eq!(code(access(&[(0, 4)], &[(0, -4)], place())), code::ENEGATIVECNT);
        assert_eq!(code(access(&[(-1, 4)], &[(0, 4)], place())), code::EINVAL);
        assert_eq!(code(access(&[(0, 4)], &[(0, 5)], place())), code::EINVAL);
        assert_eq!(code(access(&[(0, 4)], &[], place())), code::EINVAL);
        assert_eq!(code(access(&[(0, 4)], &[(0, 4)], std::ptr::null_mut())), code::EINVAL);
        let null = list("file", 3, std::ptr::null(), std::ptr::null());
        let none = List { count: 0, ..null };
        // SAFETY: null arrays, which are not read.
        unsafe {
            assert_eq!(code(super::access(null, none, Direction::Write, place())), code::EINVAL);
            let negative = List { count: -1, ..null };
            assert_eq!(code(super::access(negative, none, Direction::Write, place())), code::EINVAL);
        }
    }
}
