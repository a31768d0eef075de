//! Exports every function of MPI's chapter on I/O under both of its names, with the handler of each.
//!
//! A new function is a row: the name, the arguments in order (each a [`Word`]), the handler. Both `MPI_...` and
//! `PMPI_...` are exported: Fortran wrappers call one or the other, depending on the MPI library and the module.
//! The [`component`] of Open MPI takes the same rows ([`row`]).

mod component;

use std::ffi::c_void;

use tributary_abi::function_name;

use crate::calls::transfer::run;
use crate::calls::{between, close, open, passing, pointed, settings, split};
use crate::entry::{Answer, Handler, enter_exported, enter_slot};
use crate::file::counts::SHARED_POINTER;
use crate::mpi::abi::word::Word;
use crate::mpi::next::CountType::*;
use crate::mpi::next::Position::*;
use crate::mpi::next::{Form, InterposedFunction};
use tributary::Direction::*;
use tributary::engine::CallForm::*;

/// An interposed function with its handler.
pub struct Row {
    /// The interposed function.
    pub function: &'static InterposedFunction,
    /// The handler of its calls.
    pub handler: Handler,
    /// The function that Open MPI calls if this library is its component, with the arguments of the row.
    pub by_component: Address,
}

/// The address of a C function.
pub struct Address(pub *const c_void);

// SAFETY: the address of a function, which any thread may call.
unsafe impl Sync for Address {}

/// Returns the row of a function by its name without `MPI_File_`; None if there is none.
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.function.name() == name && row.function.full_name().starts_with("MPI_File_"))
}

/// Returns true if the handler of a row only passes calls on, without counting them.
pub fn is_passed(row: &Row) -> bool {
    std::ptr::fn_addr_eq(row.handler, PASS)
}

macro_rules! exports {
    ($($(#[$attribute:meta])* $name:ident($($argument:ident)*) $handler:expr;)+) => {
        /// The interposed functions of files.
        static ROWS: &[Row] = &[$(
            $(#[$attribute])*
            {
                static FUNCTION: InterposedFunction = InterposedFunction::with_arguments(
                    function_name!("P", stringify!($name)),
                    &[$(stringify!($argument)),*],
                );
                const HANDLER: Handler = $handler;

                #[unsafe(export_name = stringify!($name))]
                extern "C-unwind" fn plain($($argument: Word),*) -> Word {
                    enter_exported(&FUNCTION, &[$($argument),*], HANDLER)
                }

                #[unsafe(export_name = concat!("P", stringify!($name)))]
                extern "C-unwind" fn profiling($($argument: Word),*) -> Word {
                    enter_exported(&FUNCTION, &[$($argument),*], HANDLER)
                }

                extern "C-unwind" fn slot($($argument: Word),*) -> Word {
                    enter_slot(&FUNCTION, &[$($argument),*], HANDLER)
                }

                Row { function: &FUNCTION, handler: HANDLER, by_component: Address(slot as *const c_void) }
            },
        )+];
    };
}

/// Makes the replacement of a function at the individual file pointer: MPI's function with an explicit offset, or None.
macro_rules! at {
    () => {
        None
    };
    ($name:ident) => {{
        static AT: InterposedFunction = InterposedFunction::at_offset(function_name!("P", stringify!($name)));
        Some(&AT)
    }};
}

/// Makes the handler of a row for a collective read or write. For a function at the individual file pointer, the row also
/// names the function with an explicit offset.
macro_rules! collective {
    ($direction:ident $place:ident $ending:ident $counts:ident $($at:ident)?) => {
        |function, arguments| {
            const FORM: Form = Form { direction: $direction, place: $place, ending: $ending, counts: $counts };
            run(FORM, at!($($at)?), function, arguments)
        }
    };
}

/// Makes the handler of a row for the end of a split collective.
macro_rules! end {
    ($direction:ident $place:ident $($at:ident)?) => {
        |function, arguments| split::end($direction, $place, at!($($at)?), function, arguments)
    };
}

/// Makes the handler of a row for an independent read or write at the individual file pointer. The row also names the
/// function with an explicit offset.
macro_rules! pointer {
    ($direction:ident $ending:ident $counts:ident $at:ident) => {
        |function, arguments| {
            const FORM: Form = Form { direction: $direction, place: Pointer, ending: $ending, counts: $counts };
            static AT: InterposedFunction = InterposedFunction::at_offset(function_name!("P", stringify!($at)));
            pointed::independent(FORM, &AT, function, arguments)
        }
    };
}

/// Makes the handler of a row for an independent read or write with an explicit offset.
macro_rules! independent {
    ($direction:ident $ending:ident $counts:ident) => {
        |function, arguments| {
            const FORM: Form = Form { direction: $direction, place: Offset, ending: $ending, counts: $counts };
            passing::at_offset(FORM, function, arguments)
        }
    };
}

/// Handler that passes the call to MPI and does not count it in reports.
const PASS: Handler = |_function, _arguments| Answer::Pass;
/// Handler that passes a read or write at the shared file pointer to MPI and counts it.
const SHARED: Handler = |function, arguments| passing::note(function, arguments, SHARED_POINTER, None);

exports! {
    MPI_File_open(comm name amode info file) open::open;
    MPI_File_close(file) close::close;
    MPI_File_set_view(file displacement etype filetype representation info) settings::set_view;
    MPI_File_set_info(file info) settings::set_info;
    MPI_File_get_info(file info) settings::get_info;
    MPI_File_set_atomicity(file flag) between::set_atomicity;
    MPI_File_sync(file) between::sync;

    MPI_File_write_all(file buffer count datatype status) collective!(Write Pointer Blocking Int MPI_File_write_at_all);
    MPI_File_write_at_all(file offset buffer count datatype status) collective!(Write Offset Blocking Int);
    MPI_File_read_all(file buffer count datatype status) collective!(Read Pointer Blocking Int MPI_File_read_at_all);
    MPI_File_read_at_all(file offset buffer count datatype status) collective!(Read Offset Blocking Int);
    MPI_File_iwrite_all(file buffer count datatype request) collective!(Write Pointer NonBlocking Int MPI_File_iwrite_at_all);
    MPI_File_iwrite_at_all(file offset buffer count datatype request) collective!(Write Offset NonBlocking Int);
    MPI_File_iread_all(file buffer count datatype request) collective!(Read Pointer NonBlocking Int MPI_File_iread_at_all);
    MPI_File_iread_at_all(file offset buffer count datatype request) collective!(Read Offset NonBlocking Int);
    MPI_File_write_all_begin(file buffer count datatype) collective!(Write Pointer Split Int MPI_File_write_at_all_begin);
    MPI_File_write_at_all_begin(file offset buffer count datatype) collective!(Write Offset Split Int);
    MPI_File_read_all_begin(file buffer count datatype) collective!(Read Pointer Split Int MPI_File_read_at_all_begin);
    MPI_File_read_at_all_begin(file offset buffer count datatype) collective!(Read Offset Split Int);
    MPI_File_write_all_end(file buffer status) end!(Write Pointer MPI_File_write_at_all_end);
    MPI_File_write_at_all_end(file buffer status) end!(Write Offset);
    MPI_File_read_all_end(file buffer status) end!(Read Pointer MPI_File_read_at_all_end);
    MPI_File_read_at_all_end(file buffer status) end!(Read Offset);

    MPI_File_write(file buffer count datatype status) pointer!(Write Blocking Int MPI_File_write_at);
    MPI_File_write_at(file offset buffer count datatype status) independent!(Write Blocking Int);
    MPI_File_read(file buffer count datatype status) pointer!(Read Blocking Int MPI_File_read_at);
    MPI_File_read_at(file offset buffer count datatype status) independent!(Read Blocking Int);
    MPI_File_iwrite(file buffer count datatype request) pointer!(Write NonBlocking Int MPI_File_iwrite_at);
    MPI_File_iwrite_at(file offset buffer count datatype request) independent!(Write NonBlocking Int);
    MPI_File_iread(file buffer count datatype request) pointer!(Read NonBlocking Int MPI_File_iread_at);
    MPI_File_iread_at(file offset buffer count datatype request) independent!(Read NonBlocking Int);
    MPI_File_write_shared(file buffer count datatype status) SHARED;
    MPI_File_read_shared(file buffer count datatype status) SHARED;
    MPI_File_iwrite_shared(file buffer count datatype request) SHARED;
    MPI_File_iread_shared(file buffer count datatype request) SHARED;
    MPI_File_write_ordered(file buffer count datatype status) between::ordered;
    MPI_File_read_ordered(file buffer count datatype status) SHARED;
    MPI_File_write_ordered_begin(file buffer count datatype) between::ordered;
    MPI_File_read_ordered_begin(file buffer count datatype) SHARED;
    MPI_File_write_ordered_end(file buffer status) between::ordered;
    MPI_File_read_ordered_end(file buffer status) PASS;

    MPI_File_delete(name info) open::delete;
    MPI_File_set_size(file size) between::set_size;
    MPI_File_preallocate(file size) between::preallocate;
    MPI_File_get_size(file size) passing::after_writes;
    MPI_File_get_group(file group) PASS;
    MPI_File_get_amode(file amode) PASS;
    MPI_File_get_view(file displacement etype filetype representation) PASS;
    MPI_File_seek(file offset whence) pointed::seek_to;
    MPI_File_get_position(file offset) pointed::get_position;
    MPI_File_get_byte_offset(file offset displacement) PASS;
    MPI_File_seek_shared(file offset whence) between::seek_shared;
    MPI_File_get_position_shared(file offset) PASS;
    MPI_File_get_type_extent(file datatype extent) PASS;
    MPI_File_get_atomicity(file flag) PASS;
    MPI_File_create_errhandler(function handler) PASS;
    MPI_File_set_errhandler(file handler) settings::set_errhandler;
    MPI_File_get_errhandler(file handler) PASS;
    MPI_File_call_errhandler(file code) PASS;
    MPI_File_f2c(file) PASS;
    MPI_File_c2f(file) PASS;

    MPI_File_write_all_c(file buffer count datatype status) collective!(Write Pointer Blocking Large MPI_File_write_at_all_c);
    MPI_File_write_at_all_c(file offset buffer count datatype status) collective!(Write Offset Blocking Large);
    MPI_File_read_all_c(file buffer count datatype status) collective!(Read Pointer Blocking Large MPI_File_read_at_all_c);
    MPI_File_read_at_all_c(file offset buffer count datatype status) collective!(Read Offset Blocking Large);
    MPI_File_iwrite_all_c(file buffer count datatype request) collective!(Write Pointer NonBlocking Large MPI_File_iwrite_at_all_c);
    MPI_File_iwrite_at_all_c(file offset buffer count datatype request) collective!(Write Offset NonBlocking Large);
    MPI_File_iread_all_c(file buffer count datatype request) collective!(Read Pointer NonBlocking Large MPI_File_iread_at_all_c);
    MPI_File_iread_at_all_c(file offset buffer count datatype request) collective!(Read Offset NonBlocking Large);
    MPI_File_write_all_begin_c(file buffer count datatype) collective!(Write Pointer Split Large MPI_File_write_at_all_begin_c);
    MPI_File_write_at_all_begin_c(file offset buffer count datatype) collective!(Write Offset Split Large);
    MPI_File_read_all_begin_c(file buffer count datatype) collective!(Read Pointer Split Large MPI_File_read_at_all_begin_c);
    MPI_File_read_at_all_begin_c(file offset buffer count datatype) collective!(Read Offset Split Large);

    MPI_File_write_c(file buffer count datatype status) pointer!(Write Blocking Large MPI_File_write_at_c);
    MPI_File_write_at_c(file offset buffer count datatype status) independent!(Write Blocking Large);
    MPI_File_read_c(file buffer count datatype status) pointer!(Read Blocking Large MPI_File_read_at_c);
    MPI_File_read_at_c(file offset buffer count datatype status) independent!(Read Blocking Large);
    MPI_File_iwrite_c(file buffer count datatype request) pointer!(Write NonBlocking Large MPI_File_iwrite_at_c);
    MPI_File_iwrite_at_c(file offset buffer count datatype request) independent!(Write NonBlocking Large);
    MPI_File_iread_c(file buffer count datatype request) pointer!(Read NonBlocking Large MPI_File_iread_at_c);
    MPI_File_iread_at_c(file offset buffer count datatype request) independent!(Read NonBlocking Large);
    MPI_File_write_shared_c(file buffer count datatype status) SHARED;
    MPI_File_read_shared_c(file buffer count datatype status) SHARED;
    MPI_File_iwrite_shared_c(file buffer count datatype request) SHARED;
    MPI_File_iread_shared_c(file buffer count datatype request) SHARED;
    MPI_File_write_ordered_c(file buffer count datatype status) between::ordered;
    MPI_File_read_ordered_c(file buffer count datatype status) SHARED;
    MPI_File_write_ordered_begin_c(file buffer count datatype) between::ordered;
    MPI_File_read_ordered_begin_c(file buffer count datatype) SHARED;
    MPI_File_get_type_extent_c(file datatype extent) PASS;
}
