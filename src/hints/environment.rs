//! Reads the hints from the environment, once in a process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tributary_base::variables as all_variables;

use super::file_hints::{FileHints, Given, HintSource};
use super::foreign::cray::{self, Specification};
use super::foreign::variables::{self, Meaning, NAMES, OMPIO};
use super::foreign::{romio, why_not_this};
use super::site::{self, Site};
use super::{pairs, read_text};
use crate::error::{Error, Result};
use crate::world::process::per_process;

const TEXT: &str = "TRIB_HINTS";
const FILE: &str = "TRIB_HINTS_FILE";
const ROMIO: &str = "ROMIO_HINTS";

/// Path of ROMIO's file of system-wide hints, unless ROMIO_HINTS names another file.
const SYSTEM_FILE: &str = "/etc/romio-hints";

/// The hints from the environment: hints for every file, and hints for files by name.
///
/// In descending precedence: MPICH_MPIIO_HINTS, which the program cannot change; hints of the program
/// (`FileHints::program`); TRIB_HINTS; the file of TRIB_HINTS_FILE; variables of Intel, ROMIO and Open MPI; ROMIO's
/// file of hints; the site's file. A program with more rights than its user (set-user-ID) reads no variable, only the
/// files of the system and of the site.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// Hints for every file. Hints of the program override them.
    below: FileHints,
    /// Hints for files by name. They override the hints of the program.
    above: Vec<Specification>,
    /// Hints of the site's file. All other hints override them.
    site: Site,
}

/// Values of environment variables, by name.
type VariableMap = BTreeMap<String, OsString>;

impl Environment {
    /// Returns the environment of this process. The first call reads variables and files. Local.
    ///
    /// # Errors
    /// [`Error::Hint`] and [`Error::Argument`] for damaged text in a variable, or in a file that a variable names, with name and
    /// line, and for a file that cannot be read. Damaged lines of `/etc/romio-hints` and of the site's file, which users cannot
    /// repair, are ignored. Values of other libraries' keys are never errors.
    pub fn of_process() -> Result<&'static Self> {
        per_process! {
            static READ: OnceLock<Result<Environment>> = OnceLock::new();
        }
        let read = || Self::read(relevant(all_variables()), Path::new(SYSTEM_FILE), site::of_process());
        READ.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// Returns the environment for a library at `library`, with the variables of this process. Reads all files at every call.
    /// Local.
    ///
    /// # Errors
    /// The errors of [`Environment::of_process`].
    pub fn of_library(library: &Path) -> Result<Self> {
        Self::read(relevant(all_variables()), Path::new(SYSTEM_FILE), site::beside(library))
    }

    /// Returns the site's file. [`Environment::file_hints`] includes its hints.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// Returns the hints for the file `name` (as the program names it), before hints of the program. O(number of hints).
    pub fn file_hints(&self, name: &str) -> FileHints {
        let mut file_hints = self.below.clone();
        self.site.take(&mut file_hints, name);
        let first = self.above.iter().find(|specification| specification.is_for(name));
        for (key, value) in first.iter().flat_map(|specification| &specification.hints) {
            let given = Given::new(key, value, cray::VARIABLE);
            // The value has been checked before.
            let _ = take(&mut file_hints, given, FileHints::take_above);
        }
        file_hints
    }

    fn read(mut variables: VariableMap, system_file: &Path, site: Option<PathBuf>) -> Result<Self> {
        let mut below = FileHints::default();
        romio_file(&mut below, variables.remove(ROMIO), system_file)?;
        others(&mut below, &variables)?;
        if let Some(path) = variables.remove(FILE) {
            let path = Path::new(&path);
            let file = format!("{FILE}={}", path.display());
            text_of_ours(&mut below, &read_text(FILE, path)?, |line| format!("{file}, line {line}").into())?;
        }
        if let Some(text) = variables.remove(TEXT) {
            text_of_ours(&mut below, &utf8(TEXT, text)?, |_| TEXT.into())?;
        }
        let above = variables.remove(cray::VARIABLE).map(|text| utf8(cray::VARIABLE, text)).transpose()?;
        let above = cray::parse(&above.unwrap_or_default())?;
        for (key, value) in above.iter().flat_map(|specification| &specification.hints) {
            take(&mut FileHints::default(), Given::new(key, value, cray::VARIABLE), FileHints::take_above)?;
        }
        let site = Site::read(variables.remove(site::VARIABLE), site)?;
        Ok(Self { below, above, site })
    }
}

/// Returns the environment variables that this module reads and that are not empty.
fn relevant(all: impl Iterator<Item = (OsString, OsString)>) -> VariableMap {
    let known = |name: &str| {
        [TEXT, FILE, ROMIO, cray::VARIABLE, site::VARIABLE].contains(&name)
            || NAMES.contains(&name)
            || name.starts_with(OMPIO)
    };
    let named =
        all.filter(|(_, value)| !value.is_empty()).filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    named.filter(|(name, _)| known(name)).collect()
}

/// Sets the hints of ROMIO's file, which is `named` or else `system_file`. If a key occurs twice, the first line
/// counts.
fn romio_file(file_hints: &mut FileHints, named: Option<OsString>, system_file: &Path) -> Result<()> {
    let (path, file) = match &named {
        Some(path) => (Path::new(path), format!("{ROMIO}={}", Path::new(path).display())),
        None => (system_file, system_file.display().to_string()),
    };
    let text = match (read_text(ROMIO, path), &named) {
        (Ok(text), _) => text,
        (Err(error), Some(_)) => return Err(error),
        (Err(_), None) => return Ok(()),
    };
    for (line, pair) in romio::parse(&text, &file).into_iter().rev() {
        let source = || format!("{file}, line {line}");
        let outcome =
            pair.and_then(|(key, value)| take(file_hints, Given::new(&key, &value, source()), FileHints::take));
        match (outcome, &named) {
            (Err(error), Some(_)) => return Err(error),
            (Err(Error::Argument { value, allowed, .. }), None) => {
                file_hints.leave_out(Given::new("", &value, source()).because(format!("damaged; allowed: {allowed}")));
            }
            // `take` has recorded a value that is not allowed as not used.
            _ => {}
        }
    }
    Ok(())
}

/// Sets the hints from variables of other libraries.
fn others(file_hints: &mut FileHints, variables: &VariableMap) -> Result<()> {
    if variables.is_empty() {
        return Ok(());
    }
    let text = |name: &str| variables.get(name).map(|value| utf8(name, value.clone())).transpose();
    let switch = [text("I_MPI_FILESYSTEM")?, text("I_MPI_EXTRA_FILESYSTEM")?].into_iter().flatten().next();
    let is_on = variables::is_on(switch.as_deref());
    let parameters = variables.keys().map(String::as_str).filter(|name| name.starts_with(OMPIO));
    for name in parameters.chain(NAMES) {
        let Some(value) = text(name)? else { continue };
        match variables::meaning(name, &value, is_on) {
            Meaning::Hint(key, value) => take(file_hints, Given::new(key, &value, name.to_string()), FileHints::take)?,
            Meaning::Nothing(why) => file_hints.leave_out(Given::new(name, &value, name.to_string()).because(why)),
        }
    }
    Ok(())
}

/// Sets the hints of a text in the form of this library (`key=value`). `source` names the source of a line.
fn text_of_ours(file_hints: &mut FileHints, text: &str, source: impl Fn(usize) -> HintSource) -> Result<()> {
    for (line, pair) in pairs(text) {
        let source = source(line);
        let (key, value) = pair.map_err(|part| damaged(&source, part))?;
        file_hints.take(Given::new(key, value, source.clone())).map_err(|error| located(error, &source))?;
    }
    Ok(())
}

fn damaged(source: &HintSource, part: &str) -> Error {
    Error::argument(source, format!("`{part}`"), "key=value, separated by ; or newlines")
}

/// Sets a hint that is meant for another library too: a value that only that library accepts is recorded as not used.
fn take(file_hints: &mut FileHints, given: Given, how: fn(&mut FileHints, Given) -> Result<()>) -> Result<()> {
    if let Some(why) = why_not_this(&given) {
        file_hints.leave_out(given.because(why));
        return Ok(());
    }
    let source = given.source.clone();
    how(file_hints, given).map_err(|error| located(error, &source))
}

/// Adds the source to the error of a hint.
pub(super) fn located(error: Error, source: &HintSource) -> Error {
    match error {
        Error::Hint { key, value, allowed, .. } => Error::hint(format!("{key} of {source}"), value, allowed),
        Error::UnknownHint { key, advice, .. } => Error::unknown_hint(format!("{key} of {source}"), advice),
        other => other,
    }
}

fn utf8(name: &str, value: OsString) -> Result<String> {
    value.into_string().map_err(|value| Error::argument(name, value.display(), "UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hints::foreign::ABOVE;
    use crate::hints::{DriverName, Hints, Switch};

    fn read(variables: &[(&str, &str)]) -> Result<Environment> {
        let all = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Environment::read(relevant(all), Path::new("/nowhere"), None)
    }

    /// Returns key, source and reason of the hints that are not used.
    fn unused(file_hints: &FileHints) -> Vec<(String, String, String)> {
        file_hints.unused().iter().map(|all| (all.key.clone(), all.source.to_string(), all.why.clone())).collect()
    }

    fn entry(key: &str, source: &str, why: &str) -> (String, String, String) {
        (key.to_string(), source.to_string(), why.to_string())
    }

    #[test]
    fn nothing_set_is_the_defaults() {
        let empty = read(&[("PATH", "/bin"), ("TRIB_HINTS", ""), ("ROMIO_HINTS", "")]).unwrap();
        assert_eq!(empty, Environment::default());
        assert_eq!(empty.file_hints("f"), FileHints::default());
        assert_eq!(*empty.file_hints("f").hints(), Hints::default());
    }

    #[test]
    fn from_the_lowest_source_to_the_highest() {
        let folder = tempfile::tempdir().unwrap();
        let (theirs, ours) = (folder.path().join("theirs"), folder.path().join("ours"));
        std::fs::write(&theirs, "# all\ncb_nodes 1\ncb_nodes 9\nromio_cb_read enable\nstriping_unit 4096\n").unwrap();
        std::fs::write(&ours, "cb_nodes=3\n\ncb_buffer_size=3M").unwrap();
        let environment = read(&[
            ("ROMIO_HINTS", theirs.to_str().unwrap()),
            ("OMPI_MCA_io_ompio_num_aggregators", "2"),
            ("OMPI_MCA_io_ompio_bytes_per_agg", "2097152"),
            ("I_MPI_FILESYSTEM_FORCE", "lustre"),
            ("TRIB_HINTS_FILE", ours.to_str().unwrap()),
            ("TRIB_HINTS", "cb_nodes=4; romio_cb_write=disable; nc_thing=1"),
            ("MPICH_MPIIO_HINTS", "*.nc:striping_unit=65536:direct_io=true,*:striping_unit=1"),
        ]);
        let mut file_hints = environment.unwrap().file_hints("/scratch/out.nc");
        file_hints.program("cb_nodes", "5", "MPI_Info").unwrap();
        file_hints.program("striping_unit", "7", "MPI_Info").unwrap();
        file_hints.program("colour", "blue", "MPI_Info").unwrap();
        file_hints.program("nc_var_align_size", "1", "MPI_Info").unwrap();
        file_hints.program("romio_cb_write", "maybe", "MPI_Info").unwrap_err();
        let due = Hints {
            cb_nodes: Some(5),
            cb_buffer_size: Some(3 << 20),
            striping_unit: Some(65536),
            cb_read: Switch::Enable,
            cb_write: Switch::Disable,
            driver: DriverName::Lustre,
            ..Hints::default()
        };
        assert_eq!(*file_hints.hints(), due);
        let line = |file: &Path, variable: &str, line: usize| format!("{variable}={}, line {line}", file.display());
        let romio = |number| line(&theirs, "ROMIO_HINTS", number);
        let own = |number| line(&ours, "TRIB_HINTS_FILE", number);
        let by = |source: &str| format!("overruled by {source}");
        assert_eq!(
            unused(&file_hints),
            [
                entry("cb_nodes", &romio(3), &by(&romio(2))),
                entry("cb_nodes", &romio(2), &by("OMPI_MCA_io_ompio_num_aggregators")),
                entry("cb_nodes", "OMPI_MCA_io_ompio_num_aggregators", &by(&own(1))),
                entry("cb_buffer_size", "OMPI_MCA_io_ompio_bytes_per_agg", &by(&own(3))),
                entry("cb_nodes", &own(1), &by("TRIB_HINTS")),
                entry("nc_thing", "TRIB_HINTS", ABOVE),
                entry("striping_unit", &romio(5), &by("MPICH_MPIIO_HINTS")),
                entry("direct_io", "MPICH_MPIIO_HINTS", "use direct_write for large writes that bypass the page cache"),
                entry("cb_nodes", "TRIB_HINTS", &by("MPI_Info")),
                entry("striping_unit", "MPI_Info", &by("MPICH_MPIIO_HINTS")),
                entry("colour", "MPI_Info", "unknown key"),
                entry("romio_cb_write", "MPI_Info", "not allowed; allowed: enable|disable|automatic"),
            ]
        );
        let programs: Vec<_> = file_hints.programs().collect();
        assert_eq!(
            programs,
            [
                ("cb_nodes", "5"),
                ("striping_unit", "7"),
                ("colour", "blue"),
                ("nc_var_align_size", "1"),
                ("romio_cb_write", "maybe")
            ]
        );
    }

    /// PnetCDF puts its own `nc_num_aggrs_per_node` into the info with which it opens a file. The hints of the C API and of the
    /// command line mean this library.
    #[test]
    fn a_hint_that_a_library_above_has_too_counts_where_it_is_meant() {
        let mut file_hints = read(&[]).unwrap().file_hints("f");
        file_hints.program("nc_num_aggrs_per_node", "5", "MPI_Info").unwrap();
        assert_eq!(file_hints.hints().num_aggrs_per_node, 0);
        file_hints.text("nc_num_aggrs_per_node=3; nc_thing=1").unwrap();
        assert_eq!(file_hints.hints().num_aggrs_per_node, 3);
        assert!(ABOVE.contains("set it in PNETCDF_HINTS"));
        assert_eq!(unused(&file_hints), [entry("nc_thing", "the program", ABOVE)]);
        file_hints.program("nc_num_aggrs_per_node", "5", "MPI_Info").unwrap();
        assert_eq!(file_hints.hints().num_aggrs_per_node, 3);
    }

    #[test]
    fn a_program_that_changes_its_mind_is_not_overruled() {
        let mut file_hints = read(&[("TRIB_HINTS", "cb_nodes=1")]).unwrap().file_hints("f");
        for count in 2..50 {
            file_hints.program("cb_nodes", &count.to_string(), "MPI_Info").unwrap();
            file_hints.program("colour", "red", "MPI_Info").unwrap();
        }
        assert_eq!(file_hints.hints().cb_nodes, Some(49));
        assert_eq!(
            unused(&file_hints),
            [entry("cb_nodes", "TRIB_HINTS", "overruled by MPI_Info"), entry("colour", "MPI_Info", "unknown key")]
        );
    }

    #[test]
    fn values_of_other_libraries_are_no_error() {
        let file_hints = read(&[
            ("MPICH_MPIIO_HINTS", "*:cb_config_list=n1,*:cb_nodes=0"),
            ("OMPI_MCA_io_ompio_num_aggregators", "-1"),
            ("OMPI_MCA_io_ompio_frobnicate", "yes"),
            ("I_MPI_FILESYSTEM_FORCE", "daos"),
            ("I_MPI_EXTRA_FILESYSTEM", "on"),
        ]);
        let file_hints = file_hints.unwrap().file_hints("f");
        assert_eq!(*file_hints.hints(), Hints::default());
        let keys: Vec<_> = file_hints.unused().iter().map(|all| (all.key.as_str(), all.source.as_ref())).collect();
        let variable = |name| (name, name);
        assert_eq!(
            keys,
            [
                variable("OMPI_MCA_io_ompio_frobnicate"),
                ("cb_nodes", "OMPI_MCA_io_ompio_num_aggregators"),
                variable("I_MPI_EXTRA_FILESYSTEM"),
                variable("I_MPI_FILESYSTEM_FORCE"),
                ("cb_config_list", "MPICH_MPIIO_HINTS"),
            ]
        );
    }

    #[test]
    fn errors_name_the_place_of_the_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hints");
        let file = path.to_str().unwrap();
        for (text, says) in [
            ("cb_nodes 1\ncb_nodes\n", "ROMIO_HINTS=FILE, line 2: `cb_nodes`; allowed: a key and a value, or # first"),
            (
                "cb_nodes many\n",
                "hint cb_nodes of ROMIO_HINTS=FILE, line 1: `many` is not allowed; allowed: auto|1 or more",
            ),
            ("\ntrib_kernel_mta x\n", "hint trib_kernel_mta of ROMIO_HINTS=FILE, line 2 does not exist"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = read(&[("ROMIO_HINTS", file)]).unwrap_err().to_string();
            assert!(error.contains(&says.replace("FILE", file)), "{error}");
            // Users cannot repair the system's file.
            let system = Environment::read(VariableMap::new(), &path, None).unwrap().file_hints("f");
            assert_eq!(system.unused().len(), 1, "{system:?}");
        }
        std::fs::write(&path, "cb_nodes=2\n cb_nodes 3").unwrap();
        let error = read(&[("TRIB_HINTS_FILE", file)]).unwrap_err().to_string();
        assert!(
            error.contains(&format!("TRIB_HINTS_FILE={file}, line 2: `cb_nodes 3`; allowed: key=value")),
            "{error}"
        );
        for (name, value, says) in [
            ("ROMIO_HINTS", "/no/such", "ROMIO_HINTS: /no/such: No such file"),
            ("TRIB_HINTS_FILE", "/", "TRIB_HINTS_FILE: /: Is a directory"),
            ("TRIB_HINTS_FILE", "/dev/zero", "TRIB_HINTS_FILE: /dev/zero: more than 16777216 bytes; allowed: a text"),
            ("MPICH_MPIIO_HINTS", "*:cb_nodes=x", "hint cb_nodes of MPICH_MPIIO_HINTS: `x` is not allowed"),
            ("MPICH_MPIIO_HINTS", "other.nc:romio_cb_write", "MPICH_MPIIO_HINTS: `romio_cb_write`"),
            ("OMPI_MCA_io_ompio_num_aggregators", "x", "hint cb_nodes of OMPI_MCA_io_ompio_num_aggregators: `x`"),
            ("TRIB_HINTS", "cb_nodes=0", "hint cb_nodes of TRIB_HINTS: `0` is not allowed"),
            ("TRIB_HINTS", "cb_nodes", "TRIB_HINTS: `cb_nodes`; allowed: key=value"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(says) && !error.contains('\n'), "{name}={value}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_environment_makes_it_panic(
            names in prop::collection::vec(0_usize..20, 0..4),
            value in r"(cb_nodes|trib_kernel_data|striping_unit|[*:=,;# \n0-9kM-]|\PC){0,24}",
            name in r"\PC{0,8}",
        ) {
            let known = [TEXT, ROMIO, cray::VARIABLE, "OMPI_MCA_io_ompio_num_aggregators", "OMPI_MCA_io_ompio_x"];
            let all = known.iter().chain(&NAMES).copied().collect::<Vec<_>>();
            let variables: Vec<_> = names.iter().filter_map(|&at| all.get(at)).map(|name| (*name, value.as_str())).collect();
            if !value.contains('\0') {
                let _ = read(&variables).map(|environment| environment.file_hints(&name));
            }
        }
    }
}
