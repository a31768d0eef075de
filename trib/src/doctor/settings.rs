//! Variables that are set, hints in force, and hints that are ignored.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use serde::Serialize;
use tributary::hints::{self, Environment, Unused, check_keys};

use crate::variables;

/// Settings that reach a file.
#[derive(Debug, Default, Serialize)]
pub struct Settings {
    /// The variables of this library that are set, and LD_PRELOAD.
    pub variables: Vec<(String, String)>,
    /// What the site has decided, where it has.
    pub site: Option<SiteFile>,
    /// The line by which the site leaves the file or the program to MPI, if one does.
    pub policy: Option<String>,
    /// The hints that were given and are in force.
    pub hints: Vec<Hint>,
    /// Those that are not, and why.
    pub hints_ignored: Vec<Unused>,
}

/// The site's file.
#[derive(Debug, Serialize)]
pub struct SiteFile {
    pub file: PathBuf,
    /// Where the line about a job goes.
    pub log: Vec<LogPlace>,
}

/// A place of the site's log.
#[derive(Debug, Serialize)]
pub struct LogPlace {
    pub path: PathBuf,
    /// Why it cannot be written by this user.
    pub problem: Option<String>,
}

/// A hint in force.
#[derive(Debug, Serialize)]
pub struct Hint {
    pub key: String,
    pub value: String,
    /// Where it was given.
    pub source: String,
}

impl Settings {
    /// Those of a file of this name, or of one in this directory, with hints of the command line, of the program at `program`, which
    /// runs on the library at `library`.
    pub fn from_path(
        path: &Path,
        options: &[String],
        (library, program): (Option<&Path>, Option<&Path>),
        problems: &mut Vec<String>,
    ) -> Self {
        problems.extend(variables::unknown());
        let variables = variables::set();
        let name = if path.is_dir() { path.join("file") } else { path.to_path_buf() }.display().to_string();
        let faults = hints::Site::faults(library);
        let environment = library.map_or_else(|| Environment::of_process().cloned(), Environment::of_library);
        let given = environment.and_then(|environment| {
            let mut given = environment.file_hints(&name);
            options.iter().try_for_each(|text| check_keys(text).and_then(|()| given.text(text)))?;
            Ok((environment, given))
        });
        problems.extend(faults.iter().map(|fault| format!("site: {fault}")));
        let (environment, given) = match given {
            Ok(given) => given,
            Err(error) => {
                let said = error.to_string();
                // The first fault of a file that TRIB_CONF names is this error, too.
                if faults.is_empty() || !said.contains("TRIB_CONF=") {
                    problems.push(said);
                }
                return Self { variables, ..Self::default() };
            }
        };
        let site = SiteFile::from_site(environment.site());
        let program = program.and_then(|program| program.canonicalize().ok()).unwrap_or_default();
        let policy = environment.site().leaves(&name, &program);
        let hint = |(key, source): (&str, &tributary::hints::HintSource)| Hint {
            key: key.to_string(),
            value: given.hints().get(key).unwrap_or_default(),
            source: source.to_string(),
        };
        let is_fault = |unused: &Unused| faults.iter().any(|fault| fault.starts_with(&format!("{}: ", unused.source)));
        let ignored = given.unused().iter().filter(|unused| !is_fault(unused)).cloned();
        let (hints, hints_ignored) = (given.used().map(hint).collect(), ignored.collect());
        Self { variables, site, policy, hints, hints_ignored }
    }
}

impl SiteFile {
    fn from_site(site: &hints::Site) -> Option<Self> {
        let log = site.log().iter().map(|log| {
            let path = match log {
                hints::Log::Syslog => PathBuf::from("/dev/log"),
                hints::Log::Path(path) => path.clone(),
            };
            let problem = access(&path, AccessFlags::W_OK).err().map(|cause| cause.desc().to_string());
            LogPlace { path, problem }
        });
        Some(Self { file: site.file()?.to_path_buf(), log: log.collect() })
    }
}
