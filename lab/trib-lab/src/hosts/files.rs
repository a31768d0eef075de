//! Mounts the file system that all hosts share: a tmpfs in a mount namespace of this program, which its hosts inherit.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, unshare};

use trib::Failure;

/// Directory where the file system is mounted. Only this program and its hosts see the file system there, so several
/// such programs can run.
const MOUNTED_AT: &str = "/run/trib-hosts";

/// Mounted file system, until it is dropped.
#[derive(Debug)]
pub struct Files(PathBuf);

impl Files {
    /// Mounts the file system.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn mount() -> Result<Self, Failure> {
        let at = PathBuf::from(MOUNTED_AT);
        let fail = |what: &str, cause: &dyn std::fmt::Display| Failure::new(format!("hosts: {what}: {cause}"));
        DirBuilder::new().recursive(true).mode(0o700).create(&at).map_err(|cause| fail(MOUNTED_AT, &cause))?;
        unshare(CloneFlags::CLONE_NEWNS).map_err(|cause| fail("a namespace of mounts", &cause))?;
        let none = None::<&Path>;
        mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(|cause| fail("mounts", &cause))?;
        mount(Some("tmpfs"), &at, Some("tmpfs"), MsFlags::empty(), none).map_err(|cause| fail(MOUNTED_AT, &cause))?;
        let files = Self(at);
        std::fs::create_dir(files.own(""))?;
        std::fs::create_dir(files.directory())?;
        Ok(files)
    }

    /// Returns the directory for the measured files.
    pub fn directory(&self) -> PathBuf {
        self.0.join("files")
    }

    /// Returns the path of a file that the hosts themselves need.
    pub fn own(&self, name: &str) -> PathBuf {
        self.0.join("own").join(name)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // A process that still uses the file system keeps it; the namespace ends with this program in any case. The
        // empty directory stays, because removing it would take the file system away from another program that has
        // mounted its own there.
        let _ = umount(&self.0);
    }
}

/// Writes an executable file.
///
/// # Errors
/// Errors of the operating system.
pub fn write_program(path: &Path, text: &str) -> Result<(), Failure> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o700).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}
