//! Describes the machine of a measurement: processor, cores, load, file systems.

use std::path::Path;

use nix::sys::statfs::{self, FsType};
use tributary::drivers::{DriverName, OpenStorage, SystemFiles, detect};

use crate::parallel::processors;

/// Returns the processor's name and the number of cores, as in `AMD EPYC 7763, 2 cores`.
pub fn name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    let cores = processors();
    format!("{}, {cores} {}", model.unwrap_or("a processor without a name"), if cores == 1 { "core" } else { "cores" })
}

/// Returns the load average of the last minute: the number of runnable programs.
pub fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default()
}

/// Returns the type of a directory's file system.
pub fn file_system(directory: &Path) -> String {
    const XFS: FsType = FsType(0x5846_5342);
    const FUSE: FsType = FsType(0x6573_5546);
    const ZFS: FsType = FsType(0x2fc1_2fc1);
    let driver = detect(directory);
    if driver != DriverName::Posix {
        return driver.to_string();
    }
    if SystemFiles.file_system(directory).is_some_and(|found| found.is_daos) {
        return "daos".to_string();
    }
    let known = [
        (statfs::TMPFS_MAGIC, "tmpfs"),
        (statfs::EXT4_SUPER_MAGIC, "ext4"),
        (statfs::BTRFS_SUPER_MAGIC, "btrfs"),
        (statfs::OVERLAYFS_SUPER_MAGIC, "overlay"),
        (FUSE, "fuse"),
        (XFS, "xfs"),
        (ZFS, "zfs"),
    ];
    let Ok(found) = statfs::statfs(directory) else { return "unknown".to_string() };
    let kind = found.filesystem_type();
    known
        .iter()
        .find(|(known, _)| *known == kind)
        .map_or_else(|| format!("{:#x}", kind.0), |(_, name)| name.to_string())
}
