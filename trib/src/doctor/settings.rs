//! Collects the environment variables that are set, the hints in force, and the hints that are ignored.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use serde::Serialize;
use tributary::hints::{self, Environment, Unused};

use crate::variables;

/// Settings that affect a file.
#[derive(Debug, Default, Serialize)]
pub struct Settings {
    /// Name and value of the environment variables of this library that are set, and of LD_PRELOAD.
    pub variables: Vec<(String, String)>,
    /// Decisions of the site's file, if there is one.
    pub site: Option<SiteFile>,
    /// Line by which the site's file leaves the file or the program to the MPI library, if one does.
    pub policy: Option<String>,
    /// Lines of the site's file that have no effect.
    pub warnings: Vec<String>,
    /// Hints that were given and are in force.
    pub hints: Vec<Hint>,
    /// Hints that are not in force, and why.
    pub hints_ignored: Vec<Unused>,
}

/// Contents of the site's file.
#[derive(Debug, Serialize)]
pub struct SiteFile {
    pub file: PathBuf,
    /// Places to which the line about a job is written.
    pub log: Vec<LogPlace>,
}

/// Place of the site's log.
#[derive(Debug, Serialize)]
pub struct LogPlace {
    pub path: PathBuf,
    /// Reason why this user cannot write to the place, if so.
    pub problem: Option<String>,
}

/// Hint in force.
#[derive(Debug, Serialize)]
pub struct Hint {
    pub key: String,
    pub value: String,
    /// Source that gave the hint.
    pub source: String,
}

impl Settings {
    /// Collects the settings for a file of this name, or for a file in this directory, with hints of the command line,
    /// for the program at `program`, which runs with the library at `library`.
    pub fn from_path(
        path: &Path,
        options: &[String],
        (library, program): (Option<&Path>, Option<&Path>),
        problems: &mut Vec<String>,
    ) -> Self {
        problems.extend(variables::unknown());
        if tributary::is_disabled() {
            problems.push("variable TRIB_DISABLE: it is set, so MPI runs all calls; remove it".to_string());
        }
        let variables = variables::set();
        let name = if path.is_dir() { path.join("file") } else { path.to_path_buf() }.display().to_string();
        let faults = hints::Site::faults(library);
        let environment = library.map_or_else(|| Environment::of_process().cloned(), Environment::of_library);
        let given = environment.and_then(|environment| {
            let mut given = environment.file_hints(&name);
            options.iter().try_for_each(|text| crate::hints::add(&mut given, text))?;
            Ok((environment, given))
        });
        problems.extend(faults.iter().map(|fault| format!("site: {fault}")));
        let (environment, given) = match given {
            Ok(given) => given,
            Err(error) => {
                let said = error.to_string();
                // This error may also be the first fault of the file that TRIB_CONF names. Then it is reported only once.
                if faults.is_empty() || !said.contains("TRIB_CONF=") {
                    problems.push(said);
                }
                return Self { variables, ..Self::default() };
            }
        };
        let site = SiteFile::from_site(environment.site());
        problems.extend(site.iter().flat_map(|site| &site.log).filter_map(LogPlace::fault));
        problems.extend(crate::hints::of_no_library(&given));
        let program = program.and_then(|program| program.canonicalize().ok()).unwrap_or_default();
        let policy = environment.site().leaves(&name, &program);
        let hint = |(key, source): (&str, &tributary::hints::HintSource)| Hint {
            key: key.to_string(),
            value: given.hints().get(key).unwrap_or_default(),
            source: source.to_string(),
        };
        let is_fault = |unused: &Unused| faults.iter().any(|fault| fault.starts_with(&format!("{}: ", unused.source)));
        let is_problem = |unused: &Unused| is_fault(unused) || crate::hints::is_misspelt(unused);
        let ignored = given.unused().iter().filter(|unused| !is_problem(unused)).cloned();
        let (hints, hints_ignored) = (given.used().map(hint).collect(), ignored.collect());
        let warnings = environment.site().never_reached().iter().map(|line| format!("site: {line}")).collect();
        Self { variables, site, policy, warnings, hints, hints_ignored }
    }
}

impl LogPlace {
    fn fault(&self) -> Option<String> {
        let (path, why) = (self.path.display(), self.problem.as_ref()?);
        Some(format!("site: log {path}: {why}; allowed: a file or a folder to which all users can write"))
    }
}

impl SiteFile {
    fn from_site(site: &hints::Site) -> Option<Self> {
        let log = site.log().iter().map(|log| {
            let path = match log {
                hints::Log::Syslog => PathBuf::from("/dev/log"),
                hints::Log::Path(path) => path.clone(),
            };
            let needed = if path.is_dir() { AccessFlags::W_OK | AccessFlags::X_OK } else { AccessFlags::W_OK };
            let problem = access(&path, needed).err().map(|cause| cause.desc().to_string());
            LogPlace { path, problem }
        });
        Some(Self { file: site.file()?.to_path_buf(), log: log.collect() })
    }
}
