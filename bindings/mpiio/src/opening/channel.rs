//! Provides the endpoint for the engine's messages about a file, on a communicator of this library.
//!
//! The endpoint is taken in MPI_File_open, which is collective over the file's communicator, and never later: a
//! collective call of this library at any other point would get out of order with the program's own collectives.
//!
//! A file of a single rank needs no communicator. All other files of the same ranks share one duplicate of their
//! communicator. Each file has a place there, with message tags of its own ([`SharedComm`]). The duplicate over all ranks
//! of the program is kept for later files, with the endpoint of each place and the memory that its ranks share. A
//! duplicate over other ranks is freed with its last file. If several threads of a rank may call MPI at once, opens on
//! different communicators have no order, so each file has a duplicate of its own.
//!
//! The ranks agree at the open which places are free on all ranks, and which endpoints all ranks have kept. So no
//! rank hangs if some ranks could not open an earlier file.

use std::path::Path;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard};

use crate::mpi::abi::{MPI_Comm, has_all_ranks, has_one_thread_at_a_time, is_congruent_to_world};
use crate::opening::offer::OpenOffer;
use crate::opening::open_watch::OpenWait;
use tributary::engine::meet_hosts;
use tributary::fabric::mpi::{MpiEndpoint, SharedComm, SingleRank};
use tributary::{Endpoint, Error};
use tributary_bindings::guard::lock;

/// Maximum number of open files of the same ranks that the engine takes. Each is one bit in the ranks' agreement.
const MAX_PLACES: usize = 64;
/// Number of file descriptors that the process must be allowed to have for each file that the engine takes. A file
/// uses two: one for the file, one for memory that it shares with other ranks.
const DESCRIPTORS: usize = 64;
/// Maximum number of communicators of this library in a process.
const MAX_COMMUNICATORS: usize = 32;

/// All groups of files of this process, with the communicators that the files share.
static GROUPS: Mutex<Groups> = Mutex::new(Groups { all: Vec::new(), next: 0, own: 0, single: 0 });

struct Groups {
    all: Vec<FileGroup>,
    /// Number that the next group gets.
    next: u64,
    /// Number of files that have a communicator of their own.
    own: usize,
    /// Number of open files of a single rank.
    single: usize,
}

/// The open files of the same ranks, which share one communicator.
struct FileGroup {
    number: u64,
    comm: SharedComm,
    /// True if the group is kept when it has no open files.
    is_kept: bool,
    places: Vec<SlotState>,
}

/// A place for one open file in a group.
#[derive(Default)]
struct SlotState {
    is_taken: bool,
    /// Endpoint that the last file at this place left, with the memory that its ranks share.
    endpoint: Option<MovableEndpoint>,
}

struct MovableEndpoint(Endpoint);

// SAFETY: nothing uses an endpoint in the list. All of it is `Send` by its types except the transport, which calls MPI; the
// thread that takes it out may call MPI, as for files (see `crate::file::files`).
unsafe impl Send for MovableEndpoint {}

/// The place that the endpoint of an open file occupies. Dropping the seat frees the place for other files.
pub enum Slot {
    /// The endpoint is at a place of a group.
    Shared {
        /// Number of the group.
        group: u64,
        /// Index of the place in the group.
        number: usize,
        /// True if the group has all ranks of the program, and one thread at a time calls MPI.
        has_the_whole_program: bool,
    },
    /// The file has a communicator of its own.
    Own,
    /// The file has a single rank, and needs no communicator.
    Single {
        /// True if the program has no other rank, and one thread at a time calls MPI.
        has_the_whole_program: bool,
    },
}

fn groups() -> MutexGuard<'static, Groups> {
    lock(&GROUPS)
}

/// The wishes of a rank for the file that it opens.
#[derive(Clone, Copy)]
pub struct Wants<'a> {
    /// The file's name, as an absolute path, for messages.
    pub path: &'a Path,
    /// Rank of this process in the file's communicator.
    pub rank: usize,
    /// Number of ranks of the communicator.
    pub ranks: usize,
    /// Seconds after which a line reports that ranks have not arrived; 0: never.
    pub stall_timeout: usize,
    /// True if this rank lets ranks of its host share memory.
    pub shares: bool,
    /// True if this rank wants a report or a capture of the file.
    pub report: bool,
}

/// The endpoint and the place that the engine needs to take a file.
pub struct TakenFile {
    /// Endpoint of this rank, for messages to the other ranks of the file.
    pub endpoint: Endpoint,
    /// Place in a group that the endpoint goes back to when the file is closed.
    pub seat: Slot,
    /// True if any rank wants a report or a capture of the file; the same on all ranks.
    pub is_reported: bool,
    /// True if the file's ranks are all ranks of the program, in several processes; the same on all ranks.
    pub is_of_world: bool,
}

/// Returns an endpoint for a file on `comm`; or the reason why the engine cannot take the file, the same on all ranks.
/// Local for a single rank. Otherwise collective over `comm`: [`OpenOffer::agreed`]; an MPI_Comm_dup and an MPI_Allreduce,
/// unless files of the same ranks share a duplicate; and, at a place that no file had before, an exchange in which the
/// ranks find out which of them share a host.
///
/// # Errors
/// Any error of the MPI library.
///
/// # Safety
/// MPI is initialised, and `comm` is an intracommunicator.
pub unsafe fn take(comm: MPI_Comm, wants: Wants<'_>) -> Result<Result<TakenFile, String>, Error> {
    if wants.ranks == 1 {
        return Ok(take_single(wants));
    }
    let wait = OpenWait::begin(wants.path, wants.rank, wants.ranks, wants.stall_timeout);
    let found = groups().find(comm);
    // A kept group has been made on all its ranks, and stays.
    let is_known = found.is_some_and(|number| groups().group(number).is_some_and(|group| group.is_kept));
    // SAFETY: the caller's promise.
    let (agreed, is_world) =
        unsafe { (offer(found, wants).agreed(comm, &wait, is_known), is_congruent_to_world(comm)?) };
    let is_reported = !agreed.has(OpenOffer::QUIET);
    if !agreed.has(OpenOffer::ONE_THREAD) {
        if !agreed.has(OpenOffer::HAS_ROOM) {
            return Ok(Err(no_room()));
        }
        // SAFETY: MPI is initialised, and `comm` is an intracommunicator.
        let own = unsafe { own(comm, &wait) };
        return Ok(own.map(|endpoint| TakenFile { endpoint, seat: Slot::Own, is_reported, is_of_world: is_world }));
    }
    let group = match found {
        Some(number) if agreed.has(OpenOffer::HAS_GROUP) => number,
        _ if !agreed.has(OpenOffer::HAS_ROOM) => return Ok(Err(no_room())),
        // SAFETY: MPI is initialised, and `comm` is an intracommunicator. Called without the lock: MPI may call the program's
        // functions for attributes.
        found => match unsafe { made(SharedComm::duplicate_of(comm), comm, &wait) } {
            Ok(comm) => groups().add(comm, is_world, found),
            Err(why) => return Ok(Err(why)),
        },
    };
    if agreed.free == 0 {
        return Ok(Err(too_many()));
    }
    let number = agreed.free.trailing_zeros() as usize;
    let mut endpoint = groups().seat(group, number, agreed.kept >> number & 1 == 1)?;
    let seat = Slot::Shared { group, number, has_the_whole_program: is_world };
    // Done now, so that a call in flight on one host needs no message, and goes on while its rank waits outside MPI.
    if agreed.has(OpenOffer::SHARES) {
        let waiting = endpoint.waiting().clone();
        waiting.wait(pin!(meet_hosts(&mut endpoint)))?;
    }
    Ok(Ok(TakenFile { endpoint, seat, is_reported, is_of_world: is_world }))
}

/// Returns an endpoint for a file of a single rank, or the reason why the engine cannot take the file. Local: sends no
/// message and makes no communicator. Nothing stays allocated after the close.
fn take_single(wants: Wants<'_>) -> Result<TakenFile, String> {
    let mut groups = groups();
    if groups.taken(None) >= places() {
        return Err(too_many());
    }
    groups.single += 1;
    drop(groups);
    let has_the_whole_program = has_all_ranks(1) && has_one_thread_at_a_time().unwrap_or(false);
    let seat = Slot::Single { has_the_whole_program };
    let endpoint = Endpoint::new(Box::new(SingleRank::new()));
    Ok(TakenFile { endpoint, seat, is_reported: wants.report, is_of_world: false })
}

/// Returns `own` if it is a success on all ranks of `comm`, otherwise the reason why some ranks failed. Collective:
/// one MPI_Allreduce.
///
/// # Safety
/// The requirements of [`take`].
unsafe fn made<T>(own: Result<T, Error>, comm: MPI_Comm, wait: &OpenWait) -> Result<T, String> {
    let offer = OpenOffer { free: 0, kept: 0, flags: u64::from(own.is_ok()) };
    // SAFETY: the caller's promise.
    let is_made = unsafe { offer.combined(comm, wait) }.flags == 1;
    match own {
        Ok(own) if is_made => Ok(own),
        Ok(own) => {
            // Freeing the communicator would wait for ranks that have none.
            std::mem::forget(own);
            Err("MPI could not duplicate the communicator on another rank".to_string())
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the bits that this rank brings for a file of the group with number `group`, or of ranks that have no group
/// yet. Local.
fn offer(group: Option<u64>, wants: Wants<'_>) -> OpenOffer {
    let mut groups = groups();
    let room = groups.all.len() + groups.own < MAX_COMMUNICATORS;
    let one = has_one_thread_at_a_time().unwrap_or(false);
    let mut offer = OpenOffer { free: 0, kept: 0, flags: 0 };
    let taken = groups.taken(group);
    let group = group.and_then(|number| groups.group(number));
    offer.flags = if group.is_some() { OpenOffer::HAS_GROUP } else { 0 };
    for number in 0..places().saturating_sub(taken) {
        let place = group.as_ref().and_then(|group| group.places.get(number));
        offer.free |= u64::from(place.is_none_or(|place| !place.is_taken)) << number;
        offer.kept |= u64::from(place.is_some_and(|place| place.endpoint.is_some())) << number;
    }
    let Wants { shares, report, .. } = wants;
    let all = [
        (one, OpenOffer::ONE_THREAD),
        (room, OpenOffer::HAS_ROOM),
        (shares, OpenOffer::SHARES),
        (!report, OpenOffer::QUIET),
    ];
    all.into_iter().filter(|(is_set, _)| *is_set).for_each(|(_, flag)| offer.flags |= flag);
    offer
}

/// Returns the maximum number of files that this rank takes in one group, by its limit of file descriptors.
fn places() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one limit.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    let descriptors = if is_known { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { usize::MAX };
    (descriptors / DESCRIPTORS).clamp(1, MAX_PLACES)
}

fn too_many() -> String {
    "too many files of these ranks are open".to_string()
}

fn no_room() -> String {
    format!("the library uses {MAX_COMMUNICATORS} communicators, its maximum")
}

/// Returns an endpoint on a duplicate of `comm` that no other file shares.
///
/// # Safety
/// The requirements of [`take`].
unsafe fn own(comm: MPI_Comm, wait: &OpenWait) -> Result<Endpoint, String> {
    // SAFETY: the caller's promise.
    let made = unsafe { made(MpiEndpoint::from_raw(comm), comm, wait) };
    made.map(|endpoint| {
        groups().own += 1;
        Endpoint::new(Box::new(endpoint))
    })
}

impl Groups {
    /// Returns the number of the group that has the ranks of `comm`. Local.
    fn find(&self, comm: MPI_Comm) -> Option<u64> {
        // SAFETY: the communicator of an open, while MPI is initialised.
        self.all.iter().find(|group| unsafe { group.comm.has_ranks_of(comm) }).map(|group| group.number)
    }

    /// Returns the number of files that are open at places outside the group with number `group`.
    fn taken(&self, group: Option<u64>) -> usize {
        let others = self.all.iter().filter(|other| Some(other.number) != group);
        self.single + others.map(|other| other.places.iter().filter(|place| place.is_taken).count()).sum::<usize>()
    }

    fn group(&mut self, number: u64) -> Option<&mut FileGroup> {
        self.all.iter_mut().find(|group| group.number == number)
    }

    /// Adds a group for `comm` and returns the group's number. Removes the group with number `unshared`, which only
    /// some ranks have; its communicator stays allocated, because freeing it would wait for the other ranks.
    fn add(&mut self, comm: SharedComm, is_kept: bool, unshared: Option<u64>) -> u64 {
        if let Some(at) = unshared.and_then(|number| self.all.iter().position(|group| group.number == number)) {
            std::mem::forget(self.all.swap_remove(at));
        }
        let number = self.next;
        self.next += 1;
        self.all.push(FileGroup { number, comm, is_kept, places: Vec::new() });
        number
    }

    /// Takes place `number` of a group. Reuses the endpoint that is kept there if all ranks have kept theirs
    /// (`is_kept`).
    fn seat(&mut self, group: u64, number: usize, is_kept: bool) -> Result<Endpoint, Error> {
        let gone = || Error::internal(0, "a group of files is not there");
        let group = self.group(group).ok_or_else(gone)?;
        if group.places.len() <= number {
            group.places.resize_with(number + 1, SlotState::default);
        }
        let place = &mut group.places[number];
        let endpoint = match place.endpoint.take().filter(|_| is_kept) {
            Some(MovableEndpoint(endpoint)) => endpoint,
            None => Endpoint::new(Box::new(group.comm.endpoint(number)?)),
        };
        place.is_taken = true;
        Ok(endpoint)
    }

    /// Frees a place. Removes the place's group if it has no more files, unless the group is kept.
    fn leave(&mut self, number: u64, place: usize) -> Option<FileGroup> {
        let group = self.group(number)?;
        group.places[place].is_taken = false;
        let is_over = !group.is_kept && group.places.iter().all(|place| !place.is_taken);
        let at = self.all.iter().position(|group| is_over && group.number == number)?;
        Some(self.all.swap_remove(at))
    }
}

impl Slot {
    /// Returns true if the file's ranks are all ranks of the program, and one thread at a time calls MPI.
    pub fn has_the_whole_program(&self) -> bool {
        let (Self::Shared { has_the_whole_program, .. } | Self::Single { has_the_whole_program }) = self else {
            return false;
        };
        *has_the_whole_program
    }

    /// Keeps the endpoint of a file for the next file at the same place. Local. All ranks must do this between the
    /// same two opens of these ranks.
    pub fn keep(&self, endpoint: Endpoint) {
        let Self::Shared { group, number, .. } = *self else { return };
        if let Some(group) = groups().group(group) {
            group.places[number].endpoint = Some(MovableEndpoint(endpoint));
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let gone = match *self {
            Self::Shared { group, number, .. } => groups().leave(group, number),
            Self::Own => {
                groups().own -= 1;
                None
            }
            Self::Single { .. } => {
                groups().single -= 1;
                None
            }
        };
        // The group is dropped outside the lock, because that frees its communicator.
        drop(gone);
    }
}
