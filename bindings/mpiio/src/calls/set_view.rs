//! MPI_File_set_view: MPI takes the view, and so does the engine where it can on every rank.

use std::ffi::{c_char, c_int};
use std::pin::pin;

use tributary::collectives::{allreduce, tell};
use tributary::schedule::ReduceOp;
use tributary::{Endpoint, Error};

use super::set_info::{apply, changed};
use crate::abi::SUCCESS;
use crate::abi::word::{Word, from_word};
use crate::entry::Answer;
use crate::files;
use crate::next::Function;
use crate::open_file::{OpenFile, Runner};
use crate::view::{View, Window};

/// Takes the call. Collective over the file's ranks; costs an allreduce of two scalars more than MPI's own.
pub fn set_view(function: &'static Function, arguments: &[Word]) -> Answer {
    let code = function.call(arguments);
    let [handle, displacement, etype, filetype, representation, info] = *arguments else {
        return Answer::Return(code);
    };
    let Some(shared) = files::find(handle) else {
        return Answer::Return(code);
    };
    let mut file = shared.hold();
    let view = match code as c_int {
        // SAFETY: MPI_File_set_view has taken these arguments.
        SUCCESS => unsafe {
            let representation = representation as *const c_char;
            Window::new(from_word(displacement), from_word(etype), from_word(filetype), representation)
        },
        _ => Err("MPI_File_set_view failed".to_string()),
    };
    // SAFETY: the program's info, in a call that takes one.
    let wanted = unsafe { changed(&file, from_word(info)) };
    let is_changed = exchange(&mut file, view, wanted.is_some());
    if is_changed {
        apply(&mut file, wanted);
    }
    Answer::Return(code)
}

/// Takes the view over if every rank can; returns whether the first rank's hints have changed. Collective.
fn exchange(file: &mut OpenFile, view: Result<Window, String>, is_changed: bool) -> bool {
    let Runner::Engine(engine) = &mut file.runner else {
        return false;
    };
    let agreed = agree(engine.endpoint(), view, is_changed);
    let (view, is_changed) = agreed.unwrap_or_else(|error| (View::Foreign(error.to_string()), false));
    file.view = view;
    is_changed
}

fn agree(endpoint: &mut Endpoint, view: Result<Window, String>, is_changed: bool) -> Result<(View, bool), Error> {
    let waiting = endpoint.waiting().clone();
    waiting.wait(pin!(async {
        let failed = if view.is_err() { endpoint.rank() as u64 } else { u64::MAX };
        let mut lanes = [failed, u64::from(is_changed)];
        allreduce(endpoint, &[ReduceOp::Min, ReduceOp::Max], &mut lanes).await?;
        let [failed, is_changed] = lanes;
        let view = match view {
            Ok(window) if failed == u64::MAX => View::Engine(window),
            own => {
                let own = own.err().map(|why| Error::argument("file view", why, "one that the engine knows"));
                match tell(endpoint, failed as usize, own.as_ref()).await? {
                    Error::Argument { value, .. } => View::Foreign(value),
                    error => View::Foreign(error.to_string()),
                }
            }
        };
        Ok((view, is_changed == 1))
    }))
}
