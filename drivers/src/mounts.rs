//! Finds the type of the mount of a path in the system's table of mounts, because `statfs` returns one type for all file
//! systems that a user-space program serves (FUSE).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The table of mounts that this process sees (proc(5)).
const TABLE: &str = "/proc/self/mountinfo";
/// Type of a mount of DAOS by its program dfuse. DAOS's own libraries know the mount by this type, too.
const DFUSE: &[u8] = b"fuse.daos";

/// Returns true if a path, without links in it, is on a mount of DAOS (dfuse). Costs a read of the table of mounts.
pub fn is_daos(path: &Path) -> bool {
    std::fs::read(TABLE).is_ok_and(|table| kind_of(&table, path) == Some(DFUSE))
}

/// Returns the type of the mount of an absolute path by the table of mounts: the mount with the longest name that the path
/// begins with, or the last of several such mounts.
///
/// A line is `36 35 98:0 / /mount options ... - type source options`; any number of optional fields stands before the dash.
fn kind_of<'a>(table: &'a [u8], path: &Path) -> Option<&'a [u8]> {
    let mounts = table.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let mount = unescaped(fields.nth(4)?);
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        path.starts_with(Path::new(OsStr::from_bytes(&mount))).then_some((mount.len(), kind))
    });
    mounts.max_by_key(|(len, _)| *len).map(|(_, kind)| kind)
}

/// Decodes a name of the table, in which blanks and some other characters are written in octal, such as `\040`.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let digits =
            after.first_chunk::<3>().filter(|digits| byte == b'\\' && digits.iter().all(|d| (b'0'..b'8').contains(d)));
        match digits {
            Some(digits) => {
                plain.push(digits.iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')));
                rest = &after[3..];
            }
            None => plain.push(byte),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[u8] = b"\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/root rw
40 22 0:35 / /daos rw,nosuid shared:7 master:2 - fuse.daos dfuse rw,user_id=0
41 40 0:36 / /daos/inner rw - tmpfs tmpfs rw
42 22 0:37 / /a\\040b\\134 rw - fuse.daos dfuse rw
43 22 0:38 / /twice rw - ext4 /dev/a rw
44 43 0:39 / /twice rw - fuse.mfs mfs rw
broken
";

    #[test]
    fn the_longest_mount_counts_and_of_two_the_last() {
        let kind = |path: &str| String::from_utf8_lossy(kind_of(TABLE, Path::new(path)).unwrap()).into_owned();
        assert_eq!(kind("/daos/pool/file"), "fuse.daos");
        assert_eq!(kind("/daos"), "fuse.daos");
        assert_eq!(kind("/daosx/file"), "ext4");
        assert_eq!(kind("/daos/inner/file"), "tmpfs");
        assert_eq!(kind("/a b\\/file"), "fuse.daos");
        assert_eq!(kind("/twice/file"), "fuse.mfs");
        assert_eq!(kind("/"), "ext4");
        assert_eq!(kind_of(b"", Path::new("/")), None);
    }

    #[test]
    fn this_machine_has_a_table() {
        assert!(kind_of(&std::fs::read(super::TABLE).unwrap(), Path::new("/proc/self")).is_some());
        assert!(!is_daos(Path::new("/proc/self")));
    }
}
