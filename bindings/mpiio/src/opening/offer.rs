//! The agreement of the ranks in MPI_File_open, and how a rank finds out that another rank does not take part in it: a rank
//! without this library, or with another version of it, is in a collective operation of MPI's own MPI_File_open.
//!
//! MPI matches the two operations if they have the same kind and order. So the agreement begins as MPI's open does, with
//! numbers that have bits which only this library sets:
//!
//! - **ROMIO** first combines an error code or the access modes: an MPI_Allreduce of one int.
//! - **OMPIO** first duplicates the communicator, for which Open MPI starts an MPI_Iallreduce of one int.
//! - **An older version of this library** begins with an MPI_Allreduce of 24 bytes, without a version.
//!
//! So a rank without the library gets an int that changes nothing for it, and a rank of this version gets that rank's int, or
//! an error code of MPI. Both are certain: no job is ended because a rank arrives late.

use std::ffi::c_int;
use std::sync::OnceLock;

use tributary::fabric::mpi::{library, quietly};
use tributary::fabric::shared::MEMORY_LAYOUT;
use tributary::fingerprint;
use tributary_abi::{self as ffi, SUCCESS, constants, handles};

use crate::mpi::abi::{MPI_Comm, check};
use crate::mpi::interposition;
use crate::opening::open_watch::{MARK, Mismatch, OpenWait, is_marked};

/// Number of 64-bit numbers in the second message; three are used. The message is at least as long as the message that a rank
/// with an older version may send at that point: the list of free numbers of communicators, of 260 bytes, with which MPICH
/// duplicates a communicator. MPICH 4 does not always report a message that is longer than its receive; it then leaves the
/// memory of the receive as it was.
const NUMBERS: usize = 40;
/// Positions of the bits of [`MARK`]. The mask of free places cannot use these positions, so its values there go into the flags.
const MARKED: [u32; 4] = [1, 2, 3, 31];
/// Number of bits of the version. Each rank also sends the complement, so that a difference clears both bits.
const VERSION_BITS: u32 = 26;
/// Position in the flags of the first of these displaced bits.
const DISPLACED: u32 = 7;
/// First bit of the version in the flags; the inverted version follows the version.
const VERSION: u32 = 64 - 2 * VERSION_BITS;

/// The bits that a rank brings to the agreement at an open. The agreed value has the bits that all ranks have set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenOffer {
    /// Bit mask of the places that are free on this rank.
    pub free: u64,
    /// Bit mask of the places whose endpoints this rank has kept.
    pub kept: u64,
    /// Bits of the constants below, such as [`OpenOffer::ONE_THREAD`], that hold on this rank.
    pub flags: u64,
}

impl OpenOffer {
    /// Flag: one thread at a time may call MPI on this rank.
    pub const ONE_THREAD: u64 = 1;
    /// Flag: this rank has a group for the ranks of the communicator.
    pub const HAS_GROUP: u64 = 2;
    /// Flag: this rank may create another communicator.
    pub const HAS_ROOM: u64 = 4;
    /// Flag: this rank may share memory with others.
    pub const SHARES: u64 = 8;
    /// Flag: this rank wants no report and no capture.
    pub const QUIET: u64 = 16;
    /// Flag: the library is preloaded on this rank.
    const PRELOADED: u64 = 32;
    /// Flag: the library is a component of Open MPI on this rank.
    const COMPONENT: u64 = 64;

    /// Returns true if all ranks have set this flag.
    pub fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// Finds out whether all ranks of `comm` have this version of the library, and ends the job if not. Returns the bits that
    /// all ranks have set. Collective: two MPI_Allreduce, of an int and of 320 bytes; with Open MPI also an MPI_Iallreduce of an
    /// int. If the ranks are known to have this version (`is_known`, the same on all ranks), only the MPI_Allreduce of 320 bytes.
    ///
    /// # Safety
    /// MPI is initialised, and `comm` is an intracommunicator.
    pub unsafe fn agreed(self, comm: MPI_Comm, wait: &OpenWait, is_known: bool) -> Self {
        // SAFETY: the caller's promise.
        let probed = if is_known { Ok(()) } else { unsafe { probe(comm, wait) } };
        probed.unwrap_or_else(|mismatch| wait.end_job(&mismatch));
        if is_known {
            wait.prove();
        }
        // SAFETY: MPI is initialised, and `comm` is an intracommunicator.
        let agreed = unsafe { self.combined(comm, wait) };
        wait.prove();
        agreed
    }

    /// Does what [`OpenOffer::agreed`] does, for ranks that have agreed on this communicator in the same open. Collective: one
    /// MPI_Allreduce.
    ///
    /// # Safety
    /// The requirements of [`OpenOffer::agreed`].
    pub unsafe fn combined(self, comm: MPI_Comm, wait: &OpenWait) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.agree(comm) }.unwrap_or_else(|mismatch| wait.end_job(&mismatch))
    }

    /// # Safety
    /// The requirements of [`OpenOffer::agreed`].
    unsafe fn agree(self, comm: MPI_Comm) -> Result<Self, Mismatch> {
        let (mut own, mut all) = ([0u64; NUMBERS], [0u64; NUMBERS]);
        own[..3].copy_from_slice(&self.encode(version(), interposition::is_component()));
        let (from, to, count) = (own.as_ptr().cast(), all.as_mut_ptr().cast(), NUMBERS as c_int);
        let (number, band) = (handles().uint64, handles().band);
        // SAFETY: two arrays of this length; the caller's communicator.
        done(unsafe { quietly(comm, || ffi::MPI_Allreduce(from, to, count, number, band, comm)) })?;
        Self::decode([all[0], all[1], all[2]])
    }

    /// Returns the numbers that this rank sends: its bits, the mark, and its version.
    fn encode(self, version: u64, is_component: bool) -> [u64; 3] {
        let Self { free, kept, flags } = self;
        let displaced = MARKED.iter().zip(DISPLACED..).map(|(&from, to)| (free >> from & 1) << to).sum::<u64>();
        let interposition = if is_component { Self::COMPONENT } else { Self::PRELOADED };
        let versions = version << VERSION | (!version & ((1 << VERSION_BITS) - 1)) << (VERSION + VERSION_BITS);
        [free | MARK, kept, flags | interposition | displaced | versions]
    }

    /// Decodes the combined numbers of all ranks.
    fn decode([first, kept, flags]: [u64; 3]) -> Result<Self, Mismatch> {
        if !is_marked(first as u32) {
            return Err(Mismatch::Absent);
        }
        let (version, complement) = (flags >> VERSION, flags >> (VERSION + VERSION_BITS));
        let all = (1u64 << VERSION_BITS) - 1;
        match (version ^ complement) & all {
            0 => return Err(Mismatch::Absent),
            found if found != all => return Err(Mismatch::Versions),
            _ if flags & (Self::PRELOADED | Self::COMPONENT) == 0 => return Err(Mismatch::Interposition),
            _ => {}
        }
        let displaced = MARKED.iter().zip(DISPLACED..).map(|(&to, from)| (flags >> from & 1) << to).sum::<u64>();
        Ok(Self { free: first & !MARK | displaced, kept, flags: flags & (Self::PRELOADED - 1) })
    }
}

/// Combines the marks of all ranks by the operation with which ROMIO's open begins; under Open MPI also by the operation with
/// which OMPIO's open begins. If this rank never returns from the first, the watching thread gets the result of the second.
///
/// # Safety
/// The requirements of [`OpenOffer::agreed`].
unsafe fn probe(comm: MPI_Comm, wait: &OpenWait) -> Result<(), Mismatch> {
    let (mut all, mut request) = (0u32, handles().request_null);
    // A single int, as in MPI's own operations: the number of elements also decides how Open MPI combines them.
    let ((from, in_flight), to) = (wait.numbers(), (&raw mut all).cast());
    let (number, band) = (handles().int, handles().band);
    if open_mpi().is_some() {
        // SAFETY: two numbers of `wait`, which outlives the operation, or the job ends.
        done(unsafe { ffi::MPI_Iallreduce(from, in_flight, 1, number, band, comm, &mut request) })?;
    }
    // SAFETY: two numbers; the caller's communicator.
    done(unsafe { quietly(comm, || ffi::MPI_Allreduce(from, to, 1, number, band, comm)) })?;
    if !is_marked(all) {
        return Err(Mismatch::Absent);
    }
    // SAFETY: the request of the operation, or a null request; MPI_STATUS_IGNORE.
    done(unsafe { quietly(comm, || ffi::MPI_Wait(&mut request, constants().status_ignore as usize as *mut _)) })?;
    if wait.is_marked() { Ok(()) } else { Err(Mismatch::Absent) }
}

fn done(code: c_int) -> Result<(), Mismatch> {
    if code == SUCCESS {
        return Ok(());
    }
    check("MPI_Allreduce", code).map_err(|error| Mismatch::Failed(error.to_string()))
}

/// Returns the major version of the program's MPI library if it is Open MPI. Local.
pub fn open_mpi() -> Option<u32> {
    static MAJOR: OnceLock<Option<u32>> = OnceLock::new();
    *MAJOR.get_or_init(|| library().strip_prefix("Open MPI v")?.split('.').next()?.parse().ok())
}

/// Returns the bits of this library's version and of its layout of shared memory.
fn version() -> u64 {
    fingerprint([env!("CARGO_PKG_VERSION").as_bytes(), &MEMORY_LAYOUT.to_le_bytes()]) & ((1 << VERSION_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: OpenOffer = OpenOffer { free: 0x8000_0000_8000_0006, kept: 5, flags: 9 };

    fn combined(all: &[[u64; 3]]) -> Result<OpenOffer, Mismatch> {
        OpenOffer::decode(std::array::from_fn(|at| all.iter().fold(u64::MAX, |sum, numbers| sum & numbers[at])))
    }

    #[test]
    fn an_offer_comes_back_whole() {
        for free in [0, u64::MAX, OFFER.free, 0xe] {
            let offer = OpenOffer { free, ..OFFER };
            assert_eq!(combined(&[offer.encode(7, false), offer.encode(7, false)]), Ok(offer));
        }
    }

    #[test]
    fn other_libraries_are_seen() {
        let own = OFFER.encode(7, false);
        assert_eq!(combined(&[own, OFFER.encode(6, false)]), Err(Mismatch::Versions));
        assert_eq!(combined(&[own, OFFER.encode(7, true)]), Err(Mismatch::Interposition));
        // An older version, whose flags have no version.
        assert_eq!(combined(&[own, [u64::MAX, u64::MAX, 31]]), Err(Mismatch::Absent));
        // MPI's own open first sends an access mode, a number of a communicator, or a list of free numbers.
        for mpi in [9, 14, 0xffff_fe00, 0x5d57_2203, 0] {
            assert_eq!(combined(&[own, [mpi, u64::MAX, u64::MAX]]), Err(Mismatch::Absent), "{mpi:x}");
        }
    }
}
