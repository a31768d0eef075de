//! Writes the line about a job to the site's logs. The line is written once, without waiting for a reader, and an
//! error never fails the job.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::SystemTime;

use tributary::hints::Log;

/// Path of the socket of the system's log.
const SYSTEM: &str = "/dev/log";
/// Priority of the line in the system's log: facility user, severity informational.
const PRIORITY: u32 = (1 << 3) | 6;

/// Writes `line` to `log`. Local.
///
/// # Errors
/// One line with the reason and the log's path.
pub fn write(log: &Log, line: &str) -> Result<(), String> {
    match log {
        Log::Syslog => to_system(line).map_err(|cause| format!("site's log {SYSTEM}: send: {cause}")),
        Log::Path(path) => {
            let written = open(path).and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
            written.map_err(|cause| format!("site's log {}: write: {cause}", path.display()))
        }
    }
}

/// Opens a log for appending: an existing file, or a new file if `path` is a folder.
fn open(path: &Path) -> io::Result<File> {
    if !path.is_dir() {
        return OpenOptions::new().append(true).custom_flags(libc::O_NONBLOCK).open(path);
    }
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = format!("{}-{}-{}.json", since.as_nanos(), host.trim(), std::process::id());
    OpenOptions::new().write(true).create_new(true).mode(0o644).open(path.join(name))
}

fn to_system(line: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    let text = format!("<{PRIORITY}>tributary[{}]: {line}", std::process::id());
    socket.send_to(text.as_bytes(), SYSTEM).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_a_line_and_a_folder_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jobs");
        let said = write(&Log::Path(file.clone()), "{}").unwrap_err();
        assert!(said.starts_with(&format!("site's log {}: write: No such file", file.display())), "{said}");
        std::fs::write(&file, "before\n").unwrap();
        write(&Log::Path(file.clone()), "{}").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "before\n{}\n");
        let jobs = folder.path().join("folder");
        std::fs::create_dir(&jobs).unwrap();
        for _ in 0..2 {
            write(&Log::Path(jobs.clone()), "{}").unwrap();
        }
        let made: Vec<_> = std::fs::read_dir(&jobs).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(made.len(), 2);
        assert!(made.iter().all(|path| path.extension().is_some_and(|is| is == "json")), "{made:?}");
    }

    /// A pipe that nobody reads is an error at once: the library does not wait for a reader.
    #[test]
    fn a_pipe_without_a_reader_is_no_log() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(write(&Log::Path(pipe), "{}").is_err());
    }
}
