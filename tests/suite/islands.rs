//! Provides memory in which only the pieces of a layout may be accessed. Inaccessible pages lie between the pieces,
//! so that an access to one byte too many ends the test (or fails the system call).

use tributary::{BufferLayout, Extent, Extents, Sink, Source};

/// Value of the bytes in the rest of an island: a piece ends where a page ends, or begins where one begins, but is
/// rarely as long.
const CANARY: u8 = 0x5a;
/// Sizes of the pieces in bytes, which are repeated.
const PIECES: [u64; 8] = [37, 1, 300, 8, 1000, 4096, 24, 70_000];

/// Pieces of memory that are far apart.
pub struct Islands {
    start: *mut u8,
    mapped: usize,
    /// Positions of the pieces, each next to an inaccessible page; every second pair is swapped.
    pub layout: BufferLayout,
    pieces: Vec<Extent>,
}

impl Islands {
    /// Creates memory for `bytes` bytes.
    pub fn new(bytes: u64) -> Self {
        let page = page();
        let (mut pieces, mut islands, mut left, mut at) = (Vec::new(), Vec::new(), bytes, page);
        for len in PIECES.into_iter().cycle() {
            if left == 0 {
                break;
            }
            let len = len.min(left);
            let pages = len.next_multiple_of(page);
            let at_its_end = pieces.len() % 2 == 0;
            pieces.push(Extent { offset: at + if at_its_end { pages - len } else { 0 }, len });
            islands.push(Extent { offset: at, len: pages });
            left -= len;
            at += pages + page;
        }
        pieces.chunks_exact_mut(4).for_each(|four| four.swap(1, 2));
        let start = reserved(at as usize);
        islands.iter().for_each(|island| open(start.wrapping_add(island.offset as usize), island.len as usize));
        let layout = BufferLayout::Extents(Extents::from_list(pieces.iter().copied()).unwrap());
        let all = Self { start, mapped: at as usize, layout, pieces };
        assert!(!can_be_read(all.start), "the page before the first island can be read");
        all
    }

    /// Returns the memory as the source of a write.
    pub fn source(&self) -> Source<'_> {
        // SAFETY: the layout's pieces are mapped and written by nobody as long as `self` is borrowed.
        unsafe { Source::from_raw_parts(self.start, self.mapped) }
    }

    /// Returns the memory as the target of a read.
    pub fn sink(&mut self) -> Sink<'_> {
        // SAFETY: the layout's pieces are mapped and nobody else's as long as `self` is borrowed.
        unsafe { Sink::from_raw_parts(self.start, self.mapped) }
    }

    /// Puts bytes into the pieces, in the layout's order.
    pub fn fill(&mut self, bytes: impl IntoIterator<Item = u8>) {
        let mut bytes = bytes.into_iter();
        for piece in &self.pieces {
            for at in piece.offset..piece.end() {
                // SAFETY: a byte of a piece, which is mapped.
                unsafe { self.start.add(at as usize).write(bytes.next().expect("as many bytes as the layout has")) };
            }
        }
    }

    /// Returns the bytes of the pieces, in the layout's order.
    ///
    /// # Panics
    /// Panics if a byte outside the pieces has changed.
    pub fn bytes(&self) -> Vec<u8> {
        let page = page();
        let byte = |at: u64| {
            // SAFETY: a byte of the page of a piece, which is mapped.
            unsafe { self.start.add(at as usize).read() }
        };
        for piece in &self.pieces {
            let (first, last) = (piece.offset / page * page, piece.end().next_multiple_of(page));
            let around = (first..piece.offset).chain(piece.end()..last);
            around.for_each(|at| assert_eq!(byte(at), CANARY, "byte {at}, beside {piece:?}, was written"));
        }
        self.pieces.iter().flat_map(|piece| (piece.offset..piece.end()).map(byte)).collect()
    }
}

impl Drop for Islands {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and borrowed by nobody.
        unsafe { libc::munmap(self.start.cast(), self.mapped) };
    }
}

fn page() -> u64 {
    // SAFETY: a question to the system.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

/// Reserves a range of addresses without memory.
fn reserved(len: usize) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory, which touches nothing that is there.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(start, libc::MAP_FAILED, "{len} bytes of addresses: {}", std::io::Error::last_os_error());
    start.cast()
}

/// Makes a part of the reserved addresses usable memory, filled with [`CANARY`].
fn open(start: *mut u8, len: usize) {
    // SAFETY: pages that were reserved for this.
    unsafe {
        let opened = libc::mprotect(start.cast(), len, libc::PROT_READ | libc::PROT_WRITE);
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        start.write_bytes(CANARY, len);
    }
}

/// Returns true if the system can read at an address: passes the address as a path, which does not exist.
fn can_be_read(place: *const u8) -> bool {
    // SAFETY: the system looks at the bytes, and says so when it cannot.
    unsafe { libc::access(place.cast(), libc::F_OK) };
    std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT)
}
