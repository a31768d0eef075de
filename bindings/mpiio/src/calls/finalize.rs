//! MPI_Finalize: the line about the job, where the site wants one. Otherwise it costs one load and one branch.

use crate::abi::word::Word;
use crate::entry::{Answer, enter};
use crate::job;
use crate::next::Function;
use crate::report;

/// A tool that is preloaded behind this library, as Darshan may be, has an end of its own under this name.
static PLAIN: Function = Function::new("MPI_Finalize\0");
static PROFILING: Function = Function::new("PMPI_Finalize\0");

#[unsafe(export_name = "MPI_Finalize")]
extern "C-unwind" fn plain() -> Word {
    end(&PLAIN)
}

#[unsafe(export_name = "PMPI_Finalize")]
extern "C-unwind" fn profiling() -> Word {
    end(&PROFILING)
}

fn end(function: &'static Function) -> Word {
    if job::is_to_be_told() { enter(function, &[], told) } else { function.call(&[]) }
}

/// Tells the job, then finalises MPI. Collective, as MPI_Finalize is.
fn told(_function: &'static Function, _arguments: &[Word]) -> Answer {
    for complaint in job::tell() {
        if report::is_wanted() {
            tributary::say(complaint);
        }
    }
    Answer::Pass
}
