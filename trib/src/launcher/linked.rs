//! Libraries that a program is linked with and that decide how ours is loaded.
//!
//! Darshan, if the program is linked with it, comes after a preloaded library in the dynamic linker's order, and then counts
//! no call that this library runs. If LD_PRELOAD names Darshan's file in front of ours, the linker loads the file there, and
//! only once. PnetCDF 1.15 opens no file by MPI unless a preloaded library chooses its driver, so Open MPI would not load our
//! component.

use std::path::{Path, PathBuf};
use std::process::Command;

use goblin::elf::Elf;

use super::{Family, preload};

/// Beginning of the names of Darshan's library.
const DARSHAN: &str = "libdarshan.so";
/// Beginning of the names of PnetCDF's library.
const PNETCDF: &str = "libpnetcdf.so";
/// Name of the hint that only PnetCDF 1.15 and later read, as it stands in the library.
const DRIVER_HINT: &[u8] = b"nc_driver\0";

/// Returns the path of the Darshan that the program `elf` at `path` is linked with; none if there is none, or if the
/// program's dynamic linker does not find it. Runs the dynamic linker, and not the program.
pub fn darshan_of(elf: &Elf<'_>, path: &Path) -> Option<PathBuf> {
    needed(elf, path, DARSHAN)
}

/// Returns the Darshan that the program at `path` is linked with, as [`darshan_of`] does; none also if the file is no
/// program.
pub fn darshan_at(path: &Path) -> Option<PathBuf> {
    let bytes = std::fs::read(path).ok()?;
    darshan_of(&Elf::parse(&bytes).ok()?, path)
}

/// Returns true if the program at `path` has PnetCDF 1.15 or later inside, or is linked with it.
pub fn has_pnetcdf_with_gio(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    let has_hint = |bytes: &[u8]| bytes.windows(DRIVER_HINT.len()).any(|part| part == DRIVER_HINT);
    let of_library = || {
        let library = needed(&Elf::parse(&bytes).ok()?, path, PNETCDF)?;
        std::fs::read(library).ok().filter(|bytes| has_hint(bytes))
    };
    has_hint(&bytes) || of_library().is_some()
}

/// Returns the family of the MPI library that the program at `path` is linked with; none if there is none, or if any
/// family may have it (the standard ABI of MPI 5).
pub fn family_at(path: &Path) -> Option<Family> {
    let bytes = std::fs::read(path).ok()?;
    Elf::parse(&bytes).ok()?.libraries.iter().find_map(|name| family_of(super::file_name(name)))
}

/// Returns the family that has a library of this name: the number of Open MPI's is 20 or more, that of MPICH's is 12.
fn family_of(library: &str) -> Option<Family> {
    if let Some(number) = library.strip_prefix("libmpi.so.") {
        let number: u32 = number.split('.').next()?.parse().ok()?;
        return Some(if number >= 20 { Family::OpenMpi } else { Family::Mpich });
    }
    let is_mpich = ["libmpich.", "libmpi_cray.", "libmpi_gnu"].iter().any(|start| library.starts_with(start));
    is_mpich.then_some(Family::Mpich)
}

/// Returns the path of the library that a program names, if the name begins with `start`.
fn needed(elf: &Elf<'_>, path: &Path, start: &str) -> Option<PathBuf> {
    let name = elf.libraries.iter().find(|name| super::file_name(name).starts_with(start))?;
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute());
    }
    resolved(elf.interpreter?, path, name)
}

/// Returns the path of a library of a program, as the program's dynamic linker finds it (`ldd`).
pub fn resolved(linker: &str, program: &Path, name: &str) -> Option<PathBuf> {
    let output = Command::new(linker).arg("--list").arg(program).env_remove(preload::NAME).output().ok()?;
    let list = String::from_utf8_lossy(&output.stdout).into_owned();
    list.lines().find_map(|line| {
        let rest = line.trim().strip_prefix(name)?.trim_start().strip_prefix("=>")?;
        let (path, _) = rest.rsplit_once(" (")?;
        Some(PathBuf::from(path.trim())).filter(|path| path.is_absolute())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_as_by_the_linker() {
        let this = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&this).unwrap();
        let elf = Elf::parse(&bytes).unwrap();
        let Some(linker) = elf.interpreter else { return };
        let libc = resolved(linker, &this, "libc.so.6").unwrap();
        assert!(libc.ends_with("libc.so.6") && libc.exists(), "{}", libc.display());
        assert_eq!(resolved(linker, &this, "libasan.so.8"), None);
    }

    #[test]
    fn families_by_names() {
        let all = [
            ("libmpi.so.40", Some(Family::OpenMpi)),
            ("libmpi.so.12", Some(Family::Mpich)),
            ("libmpich.so.12", Some(Family::Mpich)),
            ("libmpi_gnu_123.so.12", Some(Family::Mpich)),
            ("libmpi_abi.so.0", None),
            ("libmpi_mpifh.so.40", None),
            ("libc.so.6", None),
        ];
        all.iter().for_each(|(name, family)| assert_eq!(family_of(name), *family, "{name}"));
        assert_eq!(family_at(Path::new("/nowhere")), None);
    }

    #[test]
    fn this_program_has_neither() {
        let this = std::env::current_exe().unwrap();
        assert_eq!(darshan_at(&this), None);
        assert_eq!(darshan_at(Path::new("/nowhere")), None);
        assert!(!has_pnetcdf_with_gio(Path::new("/nowhere")));
    }
}
