//! Mounts small file systems for a single test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A mounted tmpfs, which is unmounted when dropped.
pub struct Mounted {
    directory: tempfile::TempDir,
}

impl Mounted {
    /// Mounts a tmpfs of `size` (such as `1m`). Without root rights prints why the test `test` is skipped, and
    /// returns None.
    pub fn tmpfs(test: &str, size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        match mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], directory.path()) {
            Ok(()) => Some(Self { directory }),
            Err(reason) => {
                eprintln!("{test}: skipped, a tmpfs cannot be mounted here: {reason}");
                None
            }
        }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().to_path_buf()
    }

    /// Makes the file system read-only.
    pub fn make_read_only(&self) {
        mount(&["-o", "remount,ro"], self.directory.path()).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let outcome = Command::new("umount").arg(self.directory.path()).output();
        if !outcome.is_ok_and(|output| output.status.success()) {
            eprintln!("{} is still mounted", self.directory.path().display());
        }
    }
}

fn mount(arguments: &[&str], at: &Path) -> Result<(), String> {
    let output = Command::new("mount").args(arguments).arg(at).output();
    let Output { status, stderr, .. } = output.map_err(|cause| format!("mount: {cause}"))?;
    if status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&stderr).trim().to_string()) }
}
