//! Runs a command as a child process, waits for it, and ends as the child ended.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

use nix::libc::{c_int, c_void, siginfo_t};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, raise, sigaction};
use nix::unistd::Pid;

/// A process that a signal ended has this exit code plus the number of the signal, as in a shell.
const BY_SIGNAL: i32 = 128;

/// Signals that are passed on to the child: signals that end a job, and signals that programs use as messages.
const PASSED_ON: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];

/// Process id of the child, as soon as it has started.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// Signal that arrived before the child started.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Signal handler that passes a signal on to the child, unless the signal comes from the terminal: that signal reaches the
/// child too, which is in the same process group.
extern "C" fn pass_on(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO a whole siginfo_t.
    if unsafe { (*info).si_code } > 0 {
        return;
    }
    match (CHILD.load(Ordering::Acquire), Signal::try_from(signal)) {
        (0, _) => EARLY.store(signal, Ordering::Release),
        // An error means that the child has ended.
        (child, Ok(signal)) => drop(kill(Pid::from_raw(child), signal)),
        _ => {}
    }
}

/// Runs the command to its end; its input and output are this process's.
///
/// # Errors
/// The command cannot be started.
pub fn run(command: &mut Command) -> std::io::Result<ExitStatus> {
    CHILD.store(0, Ordering::Release);
    let action = SigAction::new(SigHandler::SigAction(pass_on), SaFlags::SA_RESTART, SigSet::empty());
    for signal in PASSED_ON {
        // SAFETY: the handler does nothing but load, store and kill, all of which a handler may do. The child has none of it: a
        // handler does not outlive exec.
        unsafe { sigaction(signal, &action)? };
    }
    let mut child = command.spawn()?;
    let number = child.id() as i32;
    CHILD.store(number, Ordering::Release);
    if let Ok(early) = Signal::try_from(EARLY.load(Ordering::Acquire)) {
        kill(Pid::from_raw(number), early)?;
    }
    child.wait()
}

/// Ends this process as the child ended: with its exit code, or by its signal, without a core file of this process.
pub fn end_as(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        if let Ok(signal) = Signal::try_from(signal) {
            let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
            // SAFETY: the default action runs nothing of this process. SIGKILL has no other, which is the one error.
            let _ = unsafe { sigaction(signal, &default) };
            let _ = raise(signal);
        }
        std::process::exit(BY_SIGNAL + signal);
    }
    std::process::exit(status.code().unwrap_or(1))
}
