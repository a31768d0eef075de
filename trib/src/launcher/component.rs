//! The component of Open MPI: the library under a name by which Open MPI loads it itself, so that nothing is preloaded.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Family, Launcher, linked, preload, program};

/// File name of the component.
pub const FILE: &str = "mca_io_tributary.so";
/// Folder of the component in an installation, beside the library.
const FOLDER: &str = "tributary/openmpi";
/// Variable with Open MPI's folders of components.
const PATH: &str = "OMPI_MCA_mca_base_component_path";
/// Names of Open MPI's own folders in that variable.
const DEFAULTS: &str = "SYSTEM_DEFAULT:USER_DEFAULT";

/// Component that the ranks of a command load.
pub struct Loaded {
    /// Path of the component.
    pub file: PathBuf,
    /// Environment variable that tells Open MPI where the component is: name and value.
    pub variable: (String, String),
}

/// Returns the component that was installed with a library, for the ranks of a command of this launcher. None if there
/// is none, if the launcher's ranks would not find it, or if the program's PnetCDF opens no file by MPI without a
/// preloaded library.
pub fn of(launcher: &Launcher, words: &[String], library: &Path) -> Option<Loaded> {
    let folder = beside(library)?;
    if program::of(words, true).is_some_and(|path| linked::has_pnetcdf_with_gio(&path)) {
        return None;
    }
    if !is_found_by(launcher, &words[0]) {
        return None;
    }
    Some(Loaded { file: folder.join(FILE), variable: variable(&folder, inherited().as_deref())? })
}

/// Returns the folder with the component that was installed with a library; None if there is none.
fn beside(library: &Path) -> Option<PathBuf> {
    let folder = library.parent()?.join(FOLDER);
    folder.join(FILE).exists().then_some(folder)
}

/// Returns the variable by which Open MPI also looks for components in `folder`, in front of `others`, the value that
/// the variable has.
fn variable(folder: &Path, others: Option<&str>) -> Option<(String, String)> {
    let folder = folder.to_str().filter(|folder| !folder.contains([':', ',']))?;
    let others = others.filter(|others| !others.is_empty()).unwrap_or(DEFAULTS);
    Some((PATH.to_string(), format!("{folder}:{others}")))
}

/// Returns the value of [`PATH`] in this process's environment.
fn inherited() -> Option<String> {
    std::env::var(PATH).ok()
}

/// Returns true if the ranks of this launcher find components by the variable: the ranks of Open MPI 4. (The launcher of
/// Open MPI 5 gives the value to PMIx too, which prints errors about a folder of components that are not its own.)
fn is_found_by(launcher: &Launcher, word: &str) -> bool {
    launcher.family == Some(Family::OpenMpi) && series_of(word) == Some(4)
}

/// Returns the major version that a launcher of Open MPI prints, as in `mpiexec (OpenRTE) 4.1.4`.
fn series_of(word: &str) -> Option<u32> {
    let output = Command::new(word).arg("--version").env_remove(preload::NAME).output().ok()?;
    series_in(&String::from_utf8_lossy(&output.stdout))
}

fn series_in(said: &str) -> Option<u32> {
    let (_, version) = said.lines().next()?.split_once(") ")?;
    version.split('.').next()?.trim().parse().ok()
}

/// Returns the path of the component in the first folder that has one, of those in which an Open MPI with its library
/// at `mpi` looks.
pub fn installed(mpi: &Path) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".openmpi/components"));
    let system = mpi.parent().map(|folder| folder.join("openmpi"));
    let defaults = || system.iter().chain(&home).cloned().collect::<Vec<_>>();
    let folders = match inherited().filter(|list| !list.is_empty()) {
        None => defaults(),
        Some(list) => list
            .split(':')
            .flat_map(|word| if word.ends_with("_DEFAULT") { defaults() } else { vec![word.into()] })
            .collect(),
    };
    folders.into_iter().map(|folder| folder.join(FILE)).find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_launchers() {
        assert_eq!(series_in("mpiexec.openmpi (OpenRTE) 4.1.4\n\nReport bugs to"), Some(4));
        assert_eq!(series_in("mpirun (Open MPI) 5.0.11\n"), Some(5));
        assert_eq!(series_in("HYDRA build details:"), None);
    }

    #[test]
    fn the_folder_comes_first_and_others_stay() {
        let set = |folder: &str, others| variable(Path::new(folder), others).map(|(_, value)| value);
        assert_eq!(set("/t", None).as_deref(), Some("/t:SYSTEM_DEFAULT:USER_DEFAULT"));
        assert_eq!(set("/t", Some("/a:/b")).as_deref(), Some("/t:/a:/b"));
        assert_eq!(set("/t:u", None), None);
    }

    #[test]
    fn the_component_beside_a_library() {
        let prefix = tempfile::tempdir().unwrap();
        let library = prefix.path().join("libtributary_mpiio.so");
        assert_eq!(beside(&library), None);
        let folder = prefix.path().join(FOLDER);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(FILE), "").unwrap();
        assert_eq!(beside(&library), Some(folder));
    }
}
