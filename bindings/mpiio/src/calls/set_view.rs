//! Handles MPI_File_set_view: MPI sets the view, and this rank records it. The ranks agree in the next collective
//! call whether the engine supports the views of all ranks.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use super::pointed::seek;
use super::set_info::{ask, want};
use crate::abi::types::size;
use crate::abi::word::{Word, from_word};
use crate::abi::{MPI_Datatype, MPI_Info, SUCCESS};
use crate::entry::Answer;
use crate::files;
use crate::next::InterposedFunction;
use crate::pending;
use crate::pointer::Pointer;
use crate::sieving::{InfoForMpi, Sieving};
use crate::view::{KnownView, View};

/// Handles MPI_File_set_view. Sends no message beyond MPI's own. If MPI fails, its view and its file pointer are not
/// known: MPI runs all calls until the program sets another view, from the pointer that the program knows.
pub fn set_view(function: &'static InterposedFunction, arguments: &[Word]) -> Answer {
    let [handle, displacement, etype, filetype, representation, info] = *arguments else { return Answer::Pass };
    let Some(shared) = files::find(handle) else { return Answer::Pass };
    pending::settle(&shared);
    let own = shared.pointer().own();
    if let Some((position, _)) = own.filter(|(position, _)| *position != 0) {
        seek(handle, position);
    }
    shared.lock().view = View::Foreign { why: "MPI_File_set_view failed".to_string(), etype: 0 };
    *shared.pointer() = Pointer::default();
    let mut arguments = [handle, displacement, etype, filetype, representation, info];
    // SAFETY: the program's info, in a call that takes one.
    let for_mpi = unsafe { InfoForMpi::in_place(shared.sieving.as_ref(), &mut arguments, 5) };
    Answer::call(function, &arguments, move |code| {
        shared.sieving.iter().for_each(Sieving::forget_view);
        if code as c_int != SUCCESS {
            return Answer::Return(code);
        }
        ask(&shared, for_mpi);
        let mut file = shared.lock();
        // SAFETY: the program's info, in a call that takes one.
        unsafe { want(&mut file, MPI_Info::from_word(info), "MPI_File_set_view") };
        let (etype, filetype) = (MPI_Datatype::from_word(etype), MPI_Datatype::from_word(filetype));
        // SAFETY: MPI_File_set_view has accepted these arguments.
        let view = unsafe { KnownView::new(from_word(displacement), etype, filetype, representation as *const c_char) };
        // SAFETY: likewise.
        let foreign = |why| View::Foreign { why, etype: unsafe { size(etype) } };
        file.view = view.map_or_else(foreign, |view| View::Engine(Arc::new(view)));
        *shared.pointer() = file.pointer_at(0);
        Answer::Return(code)
    })
}
