//! MPI_File_set_view: MPI sets the view, and this rank records it. The next collective call agrees on whether the engine
//! supports the views of all ranks.

use std::ffi::{c_char, c_int};

use super::set_info::want;
use crate::abi::types::size;
use crate::abi::word::{Word, from_word};
use crate::abi::{MPI_Datatype, MPI_Info, SUCCESS};
use crate::entry::Answer;
use crate::files;
use crate::next::Function;
use crate::pending;
use crate::view::{KnownView, View};

/// Handles the call. Sends no message beyond MPI's own.
pub fn set_view(function: &'static Function, arguments: &[Word]) -> Answer {
    let code = function.call(arguments);
    let [handle, displacement, etype, filetype, representation, info] = *arguments else {
        return Answer::Return(code);
    };
    let Some(shared) = files::find(handle) else {
        return Answer::Return(code);
    };
    pending::settle(&shared);
    let mut file = shared.lock();
    if code as c_int == SUCCESS {
        // SAFETY: the program's info, in a call that takes one.
        unsafe { want(&mut file, MPI_Info::of(info), "MPI_File_set_view") };
    }
    let (etype, filetype) = (MPI_Datatype::of(etype), MPI_Datatype::of(filetype));
    file.view = if code as c_int == SUCCESS {
        // SAFETY: MPI_File_set_view has accepted these arguments.
        let view = unsafe { KnownView::new(from_word(displacement), etype, filetype, representation as *const c_char) };
        // SAFETY: likewise.
        view.map_or_else(|why| View::Foreign { why, etype: unsafe { size(etype) } }, View::Engine)
    } else {
        View::Foreign { why: "MPI_File_set_view failed".to_string(), etype: 0 }
    };
    Answer::Return(code)
}
