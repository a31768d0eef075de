//! Runs a command, with a time limit.

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Failure;

/// Maximum time that a launcher has to end its ranks after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// Output and duration of a run.
pub struct ProcessOutput {
    /// Text that the run wrote to standard output.
    pub stdout: String,
    /// Text that the run wrote to standard error.
    pub stderr: String,
    /// Duration of the run in seconds.
    pub seconds: f64,
}

/// Runs a command.
///
/// # Errors
/// The command cannot be started, fails, or takes longer than `limit`. The error contains a line of its output.
pub fn run(command: &mut Command, limit: Duration) -> Result<ProcessOutput, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let fail = |cause: std::io::Error| Failure::new(format!("{name}: {cause}"));
    let (mut stdout, mut stderr) = (tempfile::tempfile().map_err(fail)?, tempfile::tempfile().map_err(fail)?);
    command.stdin(Stdio::null());
    command.stdout(stdout.try_clone().map_err(fail)?).stderr(stderr.try_clone().map_err(fail)?);
    let begin = Instant::now();
    let child = command.spawn().map_err(fail)?;
    let (status, in_time) = wait(child, limit).map_err(fail)?;
    let seconds = begin.elapsed().as_secs_f64();
    let (stdout, stderr) = (text(&mut stdout).map_err(fail)?, text(&mut stderr).map_err(fail)?);
    if !in_time {
        return Err(Failure::new(format!("{name}: not done after {} s; allowed: less", limit.as_secs())));
    }
    if !status.success() {
        return Err(Failure::new(format!("{name}: {status}: {}", told(&stderr, &stdout))));
    }
    Ok(ProcessOutput { stdout, stderr, seconds })
}

/// Waits for the child. Another thread ends it when the time is over.
fn wait(mut child: Child, limit: Duration) -> std::io::Result<(ExitStatus, bool)> {
    let pid = Pid::from_raw(child.id() as i32);
    let (done, over) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let late = |time| matches!(over.recv_timeout(time), Err(RecvTimeoutError::Timeout));
        if !late(limit) {
            return true;
        }
        // SIGTERM lets a launcher end its ranks too. An error means that the launcher has just ended.
        let _ = kill(pid, Signal::SIGTERM);
        if late(GRACE) {
            let _ = kill(pid, Signal::SIGKILL);
        }
        false
    });
    let status = child.wait();
    drop(done);
    let in_time = watch.join().unwrap_or(true);
    Ok((status?, in_time))
}

fn text(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the most useful line of a failed run's output: the first that the program itself begins with `compare: `, or else
/// the first with letters. (Launchers print rules of dashes around their messages.)
fn told(stderr: &str, stdout: &str) -> String {
    let lines = || stderr.lines().chain(stdout.lines()).filter(|line| line.contains(char::is_alphabetic));
    let own = lines().find(|line| line.starts_with("compare: "));
    own.or_else(|| lines().next()).unwrap_or("nothing was printed").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Result<ProcessOutput, Failure> {
        run(Command::new("sh").args(["-c", text]), Duration::from_millis(500))
    }

    #[test]
    fn what_a_command_prints_and_how_it_fails() {
        let output = shell("echo out; echo err >&2").unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!((&*output.stdout, &*output.stderr), ("out\n", "err\n"));
        let said = |text| shell(text).err().map(|failure| failure.to_string()).unwrap_or_default();
        assert_eq!(said("echo a; echo compare: b >&2; exit 3"), "sh: exit status: 3: compare: b");
        let ruled = "echo; echo -------- >&2; echo 'no such program' >&2; echo -------- >&2; exit 132";
        assert_eq!(said(ruled), "sh: exit status: 132: no such program");
        assert_eq!(said("exit 4"), "sh: exit status: 4: nothing was printed");
        assert_eq!(said("exec sleep 5"), "sh: not done after 0 s; allowed: less");
        let none = run(&mut Command::new("/nowhere/mpiexec"), Duration::from_secs(1)).err();
        assert!(none.is_some_and(|failure| failure.to_string().starts_with("/nowhere/mpiexec: No such file")));
    }
}
