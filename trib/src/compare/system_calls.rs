//! System calls of all ranks, counted by strace in runs of their own: what a program with a part makes more than one
//! without it.

use std::path::Path;

use super::run::{Extra, Job};
use super::variant::{Runner, Variant};
use crate::Failure;

/// The numbers of a write and, if it is asked for, a read.
///
/// # Errors
/// The reason why there are none.
pub fn count(job: &Job<'_>, variant: &Variant, reads: bool) -> Result<Vec<f64>, String> {
    if matches!(variant.runner, Runner::Peer(_)) {
        return Err("not counted for peers that are commands".to_string());
    }
    let once = |parts| all(job, variant, parts).map_err(|failure| failure.to_string());
    let (start, write) = (once("about")?, once("write")?);
    let mut counts = vec![write - start];
    if reads {
        counts.push(once("write,read")? - write);
    }
    Ok(counts.into_iter().map(|count| count.max(0.0)).collect())
}

/// Calls of all ranks in a run.
fn all(job: &Job<'_>, variant: &Variant, parts: &str) -> Result<f64, Failure> {
    let folder = tempfile::tempdir()?;
    let once = Job { repeats: 1, lists: job.lists.clone(), file: job.file.clone(), sizes: job.sizes.clone(), ..*job };
    once.run(variant, parts, Extra { report: false, strace: Some(&folder.path().join("calls")) })?;
    sum(folder.path())
}

/// The sum of all tables in a folder.
fn sum(folder: &Path) -> Result<f64, Failure> {
    let mut calls = 0.0;
    let mut found = false;
    for entry in std::fs::read_dir(folder)? {
        for line in std::fs::read_to_string(entry?.path())?.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            // `number name`; the last line is the total.
            if let [count, name] = words[..]
                && name != "total"
                && let Ok(count) = count.parse::<f64>()
            {
                calls += count;
                found = true;
            }
        }
    }
    if found { Ok(calls) } else { Err(Failure::new("strace: it left no counts")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_summed_without_their_totals() {
        let folder = tempfile::tempdir().unwrap();
        assert!(sum(folder.path()).is_err());
        for rank in ["1", "2"] {
            let table = "    calls syscall\n--------- ----------------\n       10 read\n        3 write\n--------- \n       13 total\n";
            std::fs::write(folder.path().join(rank), table).unwrap();
        }
        assert_eq!(sum(folder.path()).unwrap(), 26.0);
    }
}
