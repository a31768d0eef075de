//! Compares the written file with a reference, and computes its digest.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use sha2::{Digest, Sha256};
use tributary_benchmarks::{Pattern, write_case_serially};

use crate::Failure;
use crate::cli::replay::FileFormat;

/// Writes the reference serially beside `output` and compares both files. The first difference is the error.
pub fn compare(pattern: &dyn Pattern, format: FileFormat, output: &Path) -> Result<(), Failure> {
    let directory = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let reference = tempfile::tempfile_in(directory)
        .map_err(|cause| Failure::new(format!("no reference file in {}: {cause}", directory.display())))?;
    match pattern.netcdf().filter(|_| format == FileFormat::Netcdf) {
        Some(case) => write_case_serially(case, &reference)?,
        None => pattern.write_serially(&reference)?,
    }
    let written = open(output)?;
    let (got, expected) = (written.metadata()?.len(), reference.metadata()?.len());
    if got != expected {
        let what = format!("{} has {got} bytes, but the reference has {expected}", output.display());
        return Err(Failure::new(format!("not verified: {what}")));
    }
    std::io::Seek::rewind(&mut &reference)?;
    let (mut ours, mut theirs) = (BufReader::new(written), BufReader::new(reference));
    let (mut a, mut b) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    let mut at = 0;
    while at < expected {
        let len = (expected - at).min(1 << 20) as usize;
        ours.read_exact(&mut a[..len])?;
        theirs.read_exact(&mut b[..len])?;
        if let Some(index) = (0..len).find(|&i| a[i] != b[i]) {
            let offset = at + index as u64;
            let what = format!("byte {offset} of {} is {}, but must be {}", output.display(), a[index], b[index]);
            return Err(Failure::new(format!("not verified: {what}")));
        }
        at += len as u64;
    }
    Ok(())
}

/// Returns the SHA-256 of a file, in hexadecimal.
pub fn sha256(path: &Path) -> Result<String, Failure> {
    let mut file = open(path)?;
    let mut digest = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            count => digest.update(&block[..count]),
        }
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))
}
