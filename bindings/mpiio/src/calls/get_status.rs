//! Handles MPI_Request_get_status and its variants of MPI 4.1, which test requests without freeing them. They do not
//! return errors of calls in flight: the function that completes the request does.
//!
//! MPI libraries before MPI 4.1 have only MPI_Request_get_status. A program that looks up a variant in the dynamic
//! linker finds ours, which then calls MPI_Request_get_status.

use std::ffi::c_int;
use std::sync::Mutex;

use tributary_abi::{MPI_Request, MPI_Status, constants, function_name, handles};
use tributary_bindings::guard::lock;

use crate::entry::{Answer, own};
use crate::file::pending;
use crate::mpi::abi::SUCCESS;
use crate::mpi::abi::word::{Word, from_word};
use crate::mpi::next::InterposedFunction;

/// Handles one of the calls. If the MPI library lacks the function, `without` implements it with MPI_Request_get_status.
pub fn look(
    function: &'static InterposedFunction,
    arguments: &[Word],
    without: fn(&[Word]) -> Result<(), c_int>,
) -> Answer {
    if let Err(code) = own(function, pending::progress) {
        return Answer::Return(code);
    }
    let answer = match function.address() {
        Some(_) => Answer::Return(function.call(arguments)),
        None => Answer::code(without(arguments).err().unwrap_or(SUCCESS)),
    };
    pending::failed();
    note_ended(arguments);
    answer
}

/// Maximum number of requests in [`ENDED`].
const MOST_ENDED: usize = 64;

/// The last requests that MPI may have found ended in these functions while calls were in flight. (The handle of one that the program
/// has completed since may stand for another one.)
static ENDED: Mutex<Vec<MPI_Request>> = Mutex::new(Vec::new());

/// Notes the requests of a call: see [`take_ended`].
fn note_ended(arguments: &[Word]) {
    let requests = match *arguments {
        // SAFETY: the program's flag, an int.
        [_, flag, _] if flag == 0 || unsafe { *(flag as *const c_int) } == 0 => return,
        [request, ..] if arguments.len() == 3 => vec![MPI_Request::from_word(request)],
        [count, requests, ..] => {
            // SAFETY: the program's arguments: as many requests as it says.
            let row = unsafe { RequestArray::from_raw(count, requests) };
            row.active().map(|(_, request)| request).collect()
        }
        _ => return,
    };
    let mut ended = lock(&ENDED);
    ended.extend(requests);
    let surplus = ended.len().saturating_sub(MOST_ENDED);
    ended.drain(..surplus);
}

/// Returns true if MPI may have found this request ended without freeing it, and forgets it.
pub fn take_ended(request: MPI_Request) -> bool {
    let mut ended = lock(&ENDED);
    let before = ended.len();
    ended.retain(|known| *known != request);
    ended.len() < before
}

/// Runs MPI_Request_get_status on one request. An error is MPI's code.
pub fn one(arguments: &[Word]) -> Result<(), c_int> {
    static GET_STATUS: InterposedFunction = InterposedFunction::new(function_name!("PMPI_Request_get_status"));
    match GET_STATUS.call(arguments) as c_int {
        SUCCESS => Ok(()),
        code => Err(code),
    }
}

/// Implements MPI_Request_get_status_any with [`one`]. An error is MPI's code.
pub fn any(arguments: &[Word]) -> Result<(), c_int> {
    let [count, requests, index, flag, status] = *arguments else { return Err(constants().err_arg) };
    // SAFETY: the program's arguments: as many requests as it says, and two ints.
    let (row, index, flag) =
        unsafe { (RequestArray::from_raw(count, requests), &mut *(index as *mut c_int), &mut *(flag as *mut c_int)) };
    for (at, request) in row.active() {
        if ended(request, status)? {
            (*index, *flag) = (at as c_int, 1);
            return Ok(());
        }
    }
    let is_none = row.active().next().is_none();
    if is_none {
        *index = constants().undefined;
        ended(handles().request_null, status)?;
    }
    *flag = c_int::from(is_none);
    Ok(())
}

/// Implements MPI_Request_get_status_all with [`one`]. An error is MPI's code.
pub fn all(arguments: &[Word]) -> Result<(), c_int> {
    let [count, requests, flag, statuses] = *arguments else { return Err(constants().err_arg) };
    // SAFETY: the program's arguments: as many requests as it says, and an int.
    let (row, flag) = unsafe { (RequestArray::from_raw(count, requests), &mut *(flag as *mut c_int)) };
    *flag = 0;
    for (_, request) in row.active() {
        if !ended(request, ignored())? {
            return Ok(());
        }
    }
    for (at, &request) in row.0.iter().enumerate() {
        ended(request, place(statuses, at))?;
    }
    *flag = 1;
    Ok(())
}

/// Implements MPI_Request_get_status_some with [`one`]. An error is MPI's code.
pub fn some(arguments: &[Word]) -> Result<(), c_int> {
    let [count, requests, found, indices, statuses] = *arguments else { return Err(constants().err_arg) };
    // SAFETY: the program's arguments: as many requests as it says, and an int.
    let (row, found) = unsafe { (RequestArray::from_raw(count, requests), &mut *(found as *mut c_int)) };
    *found = if row.active().next().is_none() { constants().undefined } else { 0 };
    for (at, request) in row.active() {
        if ended(request, place(statuses, *found as usize))? {
            // SAFETY: as many ints as there are requests.
            unsafe { (indices as *mut c_int).add(*found as usize).write(at as c_int) };
            *found += 1;
        }
    }
    Ok(())
}

/// Returns true if, as far as MPI knows, a request has ended, or is null or inactive. (MPICH 4.0 never finds out that an
/// independent MPI_File_iwrite_at has ended.) An error is MPI's code.
pub fn has_ended(request: MPI_Request) -> Result<bool, c_int> {
    ended(request, ignored())
}

/// Returns true if a request has ended. Sets the status at address `status` in that case.
fn ended(request: MPI_Request, status: Word) -> Result<bool, c_int> {
    let mut flag: c_int = 0;
    one(&[request.as_word(), (&raw mut flag) as Word, status]).map(|()| flag != 0)
}

fn ignored() -> Word {
    constants().status_ignore as usize
}

/// Returns the address of status `index` in the program's array, which may be MPI_STATUSES_IGNORE.
pub fn place(statuses: Word, index: usize) -> Word {
    if statuses == ignored() || statuses == 0 {
        return ignored();
    }
    MPI_Status::nth(statuses as *mut _, index) as Word
}

/// The array of requests that the program passed to one call.
pub struct RequestArray(pub Vec<MPI_Request>);

impl RequestArray {
    /// # Safety
    /// `count` is an int, and `requests` the address of as many requests.
    pub unsafe fn from_raw(count: Word, requests: Word) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe {
            let count = usize::try_from(from_word::<c_int>(count)).unwrap_or_default();
            (0..count).map(|index| MPI_Request::nth(requests as *const _, index)).collect()
        })
    }

    /// Returns the requests that are not null, with their indices.
    pub fn active(&self) -> impl Iterator<Item = (usize, MPI_Request)> {
        self.0.iter().copied().enumerate().filter(|(_, request)| *request != handles().request_null)
    }
}
