//! Collective reads and writes, in all the forms that MPI gives them.
//!
//! Whether the engine runs a call is decided by what all ranks know alike: the file, the mode, the view. A rank whose own
//! arguments are bad takes part all the same, so that every rank gets the error (MPI leaves the others waiting).

use std::ffi::c_int;

use tributary::engine::Direction;
use tributary::fabric::mpi::alone;
use tributary::{BufferLayout, CallReport, Error, Extents, File, Sink, Source};

use super::passing::{note, unseen};
use super::set_info::apply;
use super::split::Split;
use crate::abi::word::{Word, from_word, to_word};
use crate::abi::{MPI_Datatype, MPI_Offset, SUCCESS, check, datatype_null, seek_set, status};
use crate::datatype::flat::Memory;
use crate::datatype::flattened;
use crate::entry::Answer;
use crate::files;
use crate::next::Function;
use crate::view::{View, Window};

/// Where in the file a call begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the rank's own pointer, which moves on.
    Pointer,
    /// At an offset of its own.
    Offset,
}

/// How a call tells that it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By its return.
    Now,
    /// By a request, which is complete at once.
    Request,
    /// By the call that ends it, which finds it done.
    Begin,
}

/// The type of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// `int`.
    Int,
    /// `MPI_Count`.
    Large,
}

/// One of the functions.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// Write or read.
    pub direction: Direction,
    /// Where.
    pub place: Place,
    /// How it ends.
    pub ending: Ending,
    /// How counts come.
    pub counts: Counts,
}

/// What this rank gave.
struct Call {
    /// In etypes; none at the rank's own pointer.
    offset: Option<MPI_Offset>,
    buffer: *mut u8,
    count: i64,
    datatype: MPI_Datatype,
    /// The status or the request; 0 for a call that is only begun.
    result: Word,
}

/// What the call moves on this rank.
struct Access {
    file: Extents,
    /// Where it begins, in etypes; 0 of what moves nothing.
    offset: MPI_Offset,
    /// First byte in memory.
    memory: *mut u8,
    /// Bytes in memory, gaps included.
    span: usize,
    layout: BufferLayout,
}

/// What a call did.
struct Moved {
    /// Bytes of this rank that were moved.
    bytes: u64,
    /// Bytes of this rank that were asked for.
    asked: u64,
    /// Where the call began, in etypes; 0 if nothing was asked for.
    offset: MPI_Offset,
    report: CallReport,
}

/// What an error is about when the engine does not know a type that MPI knows: MPI is then to run the call.
const UNKNOWN_TYPE: &str = "type of the buffer";

/// What an error is about when a rank's view is not one that the engine knows: MPI is then to run the call.
const FOREIGN_VIEW: &str = "file view for the engine";

/// What an error is about when the first rank has other hints: all take them over, and begin the call again.
const OTHER_HINTS: &str = "hints that have changed";

/// Takes a call. Collective over the file's ranks.
pub fn run(form: Form, function: &'static Function, arguments: &[Word]) -> Answer {
    let handle = arguments.first().copied().unwrap_or_default();
    let (Some(shared), Some(call)) = (files::find(handle), Call::parse(form, arguments)) else {
        return unseen(function, arguments);
    };
    let mut file = shared.hold();
    if let Err(error) = file.start() {
        call.tell_failure(form.ending);
        return Answer::Raise { file: handle, error, speaks: file.is_first };
    }
    loop {
        let wants = file.wanted.is_some();
        let (engine, view) = match file.engine(form.direction) {
            Ok(both) => both,
            Err(why) => {
                drop(file);
                return note(function, arguments, &why);
            }
        };
        let etype = view.etype();
        let access = match view {
            _ if wants => Err(Error::argument(OTHER_HINTS, "", "")),
            View::Foreign(why) => Err(Error::argument(FOREIGN_VIEW, why, "one that the engine knows")),
            View::Engine(window) => call.access(window, handle),
        };
        // SAFETY: the program's buffer is valid for what its count and datatype say, and its own for the time of the call.
        let error = match unsafe { transfer(form.direction, engine, access) } {
            Ok(moved) => {
                shared.tally().ran(function.name(), &moved.report);
                if form.ending == Ending::Begin {
                    file.split = Some(Split::new(form, Ok(moved.bytes)));
                }
                return done(&call, form, handle, etype, &moved);
            }
            Err(error) => error,
        };
        let error = match &error {
            Error::Argument { what, .. } if what == OTHER_HINTS => match apply(&mut file) {
                Ok(()) => continue,
                Err(error) => error,
            },
            Error::Argument { what, value, .. } if what == UNKNOWN_TYPE || what == FOREIGN_VIEW => {
                drop(file);
                return note(function, arguments, value);
            }
            _ => error,
        };
        call.tell_failure(form.ending);
        if form.ending == Ending::Begin {
            file.split = Some(Split::new(form, Err(error.clone())));
        }
        return Answer::Raise { file: handle, error, speaks: file.is_first };
    }
}

/// What the program is told of a call that went well.
fn done(call: &Call, form: Form, handle: Word, etype: u64, moved: &Moved) -> Answer {
    let etypes = moved.asked.checked_div(etype).unwrap_or_default() as MPI_Offset;
    let moved_on = match form.place {
        Place::Pointer if moved.asked > 0 => seek(handle, moved.offset + etypes),
        _ => Ok(()),
    };
    // The others have returned from the call, or will.
    match alone(moved_on.and_then(|()| call.tell(form.ending, moved.bytes))) {
        Ok(()) => Answer::code(SUCCESS),
        Err(error) => Answer::Raise { file: handle, error, speaks: true },
    }
}

/// Moves the bytes, or takes part without when this rank's arguments are bad. Collective.
///
/// # Safety
/// The memory of `access`, where its layout says, is valid and nobody else's, for a read also to be written.
unsafe fn transfer(direction: Direction, engine: &mut File, access: Result<Access, Error>) -> Result<Moved, Error> {
    let Access { file, offset, memory, span, layout } = match access {
        Ok(access) => access,
        Err(error) => return Err(engine.refuse(error)),
    };
    let asked = file.bytes();
    match direction {
        Direction::Write => {
            // SAFETY: the caller's promise.
            let source = unsafe { Source::from_raw_parts(memory, span) };
            let handed = engine.write_all_from(&file, &layout, source)?;
            // MPI promises that bytes are in the file, and errors known, when the call returns: dedicated I/O ranks finish.
            let report = engine.complete_write()?.unwrap_or(handed);
            Ok(Moved { bytes: asked, asked, offset, report })
        }
        Direction::Read => {
            // SAFETY: likewise.
            let sink = unsafe { Sink::from_raw_parts(memory, span) };
            engine.read_all_into(&file, &layout, sink).map(|read| Moved {
                bytes: read.bytes,
                asked,
                offset,
                report: read.call,
            })
        }
    }
}

impl Call {
    /// The arguments of the function that `form` describes: file, offset if it has one, buffer, count, datatype, and status or
    /// request if it has one.
    fn parse(form: Form, arguments: &[Word]) -> Option<Self> {
        let mut rest = arguments.iter().copied().skip(1);
        // SAFETY: each is of the type that the function declares in this place.
        unsafe {
            Some(Self {
                offset: if form.place == Place::Offset { Some(from_word(rest.next()?)) } else { None },
                buffer: rest.next()? as *mut u8,
                count: match form.counts {
                    Counts::Int => i64::from(from_word::<c_int>(rest.next()?)),
                    Counts::Large => from_word(rest.next()?),
                },
                datatype: MPI_Datatype::of(rest.next()?),
                result: if form.ending == Ending::Begin { 0 } else { rest.next()? },
            })
        }
    }

    /// What is to be moved between the file and memory. What moves nothing needs no place in the file: some MPI libraries
    /// tell a position before the file's beginning where this rank's view holds no data.
    fn access(&self, window: &Window, handle: Word) -> Result<Access, Error> {
        let Ok(count) = u64::try_from(self.count) else {
            return Err(Error::argument("count", self.count, "0 or more"));
        };
        if self.datatype == datatype_null() {
            return Err(Error::argument("datatype", "MPI_DATATYPE_NULL", "a datatype that was committed"));
        }
        let unknown = |error: Error| Error::argument(UNKNOWN_TYPE, error, "one made by MPI's constructors");
        let flat = flattened(self.datatype).map_err(unknown)?;
        let too_long = || Error::argument("count", count, "less than 2^63 bytes in all");
        let bytes = flat.size().checked_mul(count).ok_or_else(too_long)?;
        let offset = match self.offset {
            Some(offset) => offset,
            None if bytes == 0 => 0,
            None => position(handle)?,
        };
        let file = window.select(offset, bytes)?;
        let Memory { displacement, span, layout } = flat.memory(count)?;
        let memory = self.buffer.wrapping_offset(displacement as isize);
        Ok(Access { file, offset, memory, span: span as usize, layout })
    }

    /// Tells the program how many bytes were moved.
    fn tell(&self, ending: Ending, bytes: u64) -> Result<(), Error> {
        // SAFETY: the status, or the request, of the program's call.
        unsafe {
            match ending {
                Ending::Now => status::set(self.result as *mut _, bytes),
                Ending::Request => status::completed(bytes, self.result as *mut _)?,
                Ending::Begin => {}
            }
        }
        Ok(())
    }

    /// Leaves a status that says that nothing was moved, or a request that is none.
    fn tell_failure(&self, ending: Ending) {
        // SAFETY: the status, or the request, of the program's call.
        unsafe {
            match ending {
                Ending::Now => status::set(self.result as *mut _, 0),
                Ending::Request => status::no_request(self.result as *mut _),
                Ending::Begin => {}
            }
        }
    }
}

/// This rank's pointer, in etypes.
fn position(handle: Word) -> Result<MPI_Offset, Error> {
    static GET_POSITION: Function = Function::new("PMPI_File_get_position\0");
    let mut offset: MPI_Offset = 0;
    let code = GET_POSITION.call(&[handle, (&raw mut offset) as Word]);
    check("MPI_File_get_position", code as c_int).map(|()| offset)
}

/// Moves this rank's pointer.
fn seek(handle: Word, offset: MPI_Offset) -> Result<(), Error> {
    static SEEK: Function = Function::new("PMPI_File_seek\0");
    let code = SEEK.call(&[handle, to_word(offset), to_word(seek_set())]);
    check("MPI_File_seek", code as c_int)
}
