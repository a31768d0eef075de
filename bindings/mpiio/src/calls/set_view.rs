//! MPI_File_set_view: MPI takes the view, and this rank keeps it. Whether all ranks have one that the engine knows is agreed
//! with the next collective call.

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

/// Takes the call. Nothing is sent but what MPI sends.
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
        // SAFETY: MPI_File_set_view has taken these arguments.
        let view = unsafe { KnownView::new(from_word(displacement), etype, filetype, representation as *const c_char) };
        // SAFETY: likewise.
        view.map_or_else(|why| View::Foreign { why, etype: unsafe { size(etype) } }, View::Engine)
    } else {
        View::Foreign { why: "MPI_File_set_view failed".to_string(), etype: 0 }
    };
    Answer::Return(code)
}
