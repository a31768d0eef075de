//! Counts the system calls of all ranks in the timed part. They are traced by strace in a separate run, in which the
//! program marks the beginning and the end of the part.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::run::{Extra, Job};
use trib::Failure;
use trib::compare::variant::{ProgramRunner, Variant};

/// Marks in the trace of a part's beginning and end: nonexistent files that the program tries to open.
const BEGIN: &str = "\"/trib-compare/begin-";
const END: &str = "\"/trib-compare/end-";

/// Returns the number of system calls of a write and of a read.
///
/// # Errors
/// The reason why they cannot be counted.
pub fn count(job: &Job<'_>, variant: &Variant, parts: &str) -> Result<[f64; 2], String> {
    if matches!(variant.runner, ProgramRunner::Peer(_)) {
        return Err("not counted for peers that are commands".to_string());
    }
    all(job, variant, parts).map_err(|failure| failure.to_string())
}

fn all(job: &Job<'_>, variant: &Variant, parts: &str) -> Result<[f64; 2], Failure> {
    let folder = tempfile::tempdir()?;
    let once = Job { repeats: 1, lists: job.lists.clone(), file: job.file.clone(), sizes: job.sizes.clone(), ..*job };
    once.run(variant, parts, Extra { report: false, strace: Some(&folder.path().join("calls")) })?;
    let mut sums = [0.0; 2];
    for entry in std::fs::read_dir(folder.path())? {
        let counts = of_rank(&entry?.path())?;
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    Ok(sums)
}

/// Returns the counts of the write and the read of one rank, over all its threads.
fn of_rank(path: &Path) -> Result<[f64; 2], Failure> {
    let mut counts = [0.0; 2];
    let mut inside = None;
    let mut marked = false;
    for line in BufReader::new(File::open(path)?).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if let Some((_, what)) = line.split_once(BEGIN) {
            inside = Some(usize::from(what.starts_with("read")));
            marked = true;
        } else if line.contains(END) {
            inside = None;
        } else if let Some(operation) = inside.filter(|_| line.contains('(') && !line.contains(" resumed>")) {
            counts[operation] += 1.0;
        }
    }
    if marked { Ok(counts) } else { Err(Failure::new("strace: the trace has no marks")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_between_marks_are_counted_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls.1");
        let text = "7 openat(AT_FDCWD) = 3\n7 access(\"/trib-compare/begin-write\", F_OK) = -1\n7 pwrite64(3) = 8\n\
                    7 futex(0x1 <unfinished ...>\n8 pwrite64(3) = 8\n7 <... futex resumed>) = 0\n\
                    7 access(\"/trib-compare/end-write\", F_OK) = -1\n7 close(3) = 0\n\
                    7 access(\"/trib-compare/begin-read\", F_OK) = -1\n7 pread64(3) = 8\n--- SIGCHLD ---\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(of_rank(&path).unwrap(), [3.0, 1.0]);
        std::fs::write(&path, "7 close(3) = 0\n").unwrap();
        assert!(of_rank(&path).is_err());
    }
}
