//! Reads the site's file: settings of an administrator for all programs of a machine.
//!
//! The file is `etc/tributary.conf` beside the library, or instead the file that TRIB_CONF names. A line is one of
//! [`ALLOWED`]; `#` begins a comment. `docs/reference/site.md` says what each line does. Users cannot correct the
//! file beside the library: wrong lines there are left out, and are listed among the hints that are not used. A wrong
//! line in a file of TRIB_CONF is an error.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use tributary_abi::path_of;
use tributary_base::has_more_rights;

use super::environment::located;
use super::file_hints::{FileHints, Given, HintSource, Unused};
use super::foreign::cray::Specification;
use super::foreign::{self, glob, why_not_this};
use super::{Hints, edits, find, lines, meant, read_text, text_of};
use crate::error::{Error, Result};

/// Name of the environment variable that names another file.
pub const VARIABLE: &str = "TRIB_CONF";

/// Name of the file, in the folder `etc`. Also the key of a wrong line in the list of hints that are not used.
pub const NAME: &str = "tributary.conf";

const ALLOWED: &str =
    "hints PATTERN:key=value:key=value, leave PATTERN, off PROGRAM, log PATH (absolute), log syslog, version 1";

/// Version of the file's format. A file without a line `version` has it too.
const FORMAT: &str = "1";

/// The settings of a site. [`Default`] is a site without a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site {
    file: Option<PathBuf>,
    hints: Vec<(Specification, HintSource)>,
    /// Patterns of files whose calls MPI runs.
    leave: Vec<(String, HintSource)>,
    /// Patterns of programs whose calls MPI runs.
    off: Vec<(String, HintSource)>,
    log: Vec<Log>,
    /// Lines of the file that cannot be used, with the reasons.
    damaged: Vec<Unused>,
}

/// A log to which the line about a job is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Log {
    /// The line is sent to the system's log.
    Syslog,
    /// The line is appended to an existing file, or to a new file in a folder.
    Path(PathBuf),
}

impl Site {
    /// Reads the file that TRIB_CONF names, or else the site's file of this library, if there is one. Local.
    ///
    /// # Errors
    /// [`Error::Argument`] and [`Error::Hint`] if the file of TRIB_CONF cannot be read, or if a line of that file is
    /// not allowed.
    pub(super) fn read(named: Option<OsString>, beside: Option<PathBuf>) -> Result<Self> {
        match (named, beside) {
            (Some(path), _) => Self::strict(PathBuf::from(path)),
            (None, Some(path)) => Ok(Self::lenient(path)),
            (None, None) => Ok(Self::default()),
        }
    }

    fn strict(path: PathBuf) -> Result<Self> {
        let mut site = Self::default();
        let file = format!("{VARIABLE}={}", path.display());
        for (number, line) in lines(&read_text(VARIABLE, &path)?) {
            let source = HintSource::from(format!("{file}, line {number}"));
            if !site.take_line(line, &source) {
                return Err(Error::argument(source, format!("`{line}`"), ALLOWED));
            }
        }
        for (specification, source) in &site.hints {
            for (key, value) in &specification.hints {
                if why_not_this(&Given::new(key, value, source.clone())).is_none() {
                    Hints::default().set(key, value).map_err(|error| located(error, source))?;
                }
            }
        }
        Ok(Self { file: Some(path), ..site })
    }

    fn lenient(path: PathBuf) -> Self {
        let mut site = Self::default();
        let file = path.display().to_string();
        let text = match text_of(&path) {
            Ok(text) => text,
            Err(_) if !is_there(&path) => return site,
            Err(error) => {
                let given = Given::new(NAME, &file, file.clone());
                return Self { damaged: vec![given.because(error.to_string())], file: Some(path), ..site };
            }
        };
        for (number, line) in lines(&text) {
            let source = HintSource::from(format!("{file}, line {number}"));
            if !site.take_line(line, &source) {
                site.damaged.push(Given::new(NAME, line, source).because(faults(line).join("; ")));
            }
        }
        Self { file: Some(path), ..site }
    }

    /// Returns every fault of the site's file that a process of this environment, and of the library at `library`,
    /// would read. Checks the lines for all files. Each text begins with the file and the number of
    /// the line. Local; reads the file.
    pub fn faults(library: Option<&Path>) -> Vec<String> {
        let named = crate::variable(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let is_named = named.is_some();
        let Some(path) = named.or_else(|| library.map_or_else(of_process, beside)) else { return Vec::new() };
        let text = match text_of(&path) {
            Ok(text) => text,
            // If TRIB_CONF names the file, `Environment::of_process` returns this error.
            Err(error) if !is_named && is_there(&path) => return vec![format!("{}: {error}", path.display())],
            Err(_) => return Vec::new(),
        };
        let shown = path.display();
        let of_line = |(number, line)| {
            faults(line).into_iter().map(move |fault| (number, fault)).collect::<Vec<(usize, String)>>()
        };
        lines(&text).flat_map(of_line).map(|(number, fault)| format!("{shown}, line {number}: {fault}")).collect()
    }

    /// Parses a line and adds its setting; returns false if the line is not allowed.
    fn take_line(&mut self, line: &str, source: &HintSource) -> bool {
        let (kind, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (kind, rest.trim()) {
            (_, "") => return false,
            ("hints", rest) => match Specification::parse(rest) {
                Ok(specification) => self.hints.push((specification, source.clone())),
                Err(_) => return false,
            },
            ("leave", pattern) => self.leave.push((pattern.to_string(), source.clone())),
            ("off", program) => self.off.push((program.to_string(), source.clone())),
            ("log", "syslog") => self.log.push(Log::Syslog),
            ("log", path) if path.starts_with('/') => self.log.push(Log::Path(path.into())),
            ("version", FORMAT) => (),
            _ => return false,
        }
        true
    }

    /// Returns the path of the file that was read; None if there is no file.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the logs to which the line about a job is written; empty if the site wants no line.
    pub fn log(&self) -> &[Log] {
        &self.log
    }

    /// Returns the reason why the file `name` of the program at `program` is left to MPI: the line that says so, and
    /// the line's position. None if it is not left to MPI. Local; resolves symbolic links of the name if there are
    /// lines with paths.
    pub fn leaves(&self, name: &str, program: &Path) -> Option<String> {
        if let Some(why) = self.leaves_program(program) {
            return Some(why);
        }
        let path = (!self.leave.is_empty()).then(|| real(name))?;
        let (pattern, source) = self.leave.iter().find(|(pattern, _)| glob::matches(pattern, &path))?;
        Some(format!("{source}: leave {pattern}"))
    }

    /// Returns the reason why all files of the program at `program` are left to MPI, as [`Site::leaves`] does. Local.
    pub fn leaves_program(&self, program: &Path) -> Option<String> {
        let (pattern, source) = self.off.iter().find(|(pattern, _)| is_of(pattern, program))?;
        Some(format!("{source}: off {pattern}"))
    }

    /// Returns a text for each line of hints that counts for no file, because an earlier line matches all of its files. Local.
    pub fn never_reached(&self) -> Vec<String> {
        let earlier = |at: usize, pattern: &str| {
            self.hints[..at].iter().find(|(before, _)| glob::covers(&before.pattern, pattern))
        };
        let of_line = |(at, (later, source)): (usize, &(Specification, HintSource))| {
            let (before, by) = earlier(at, &later.pattern)?;
            let (pattern, before) = (&later.pattern, &before.pattern);
            Some(format!("{source}: hints {pattern} counts for no file: {before} of {by} comes first"))
        };
        self.hints.iter().enumerate().filter_map(of_line).collect()
    }

    /// Adds the site's hints for the file `name`, except keys that are set already.
    pub(super) fn take(&self, file_hints: &mut FileHints, name: &str) {
        self.damaged.iter().for_each(|damaged| file_hints.leave_out(damaged.clone()));
        if !self.hints.is_empty() {
            file_hints.take_first_below(&self.hints, &real(name));
        }
    }
}

/// Keywords with which a line begins, and the text that must follow each.
const KEYWORDS: [(&str, &str); 5] = [
    ("hints", "PATTERN:key=value:key=value"),
    ("leave", "PATTERN"),
    ("off", "PROGRAM"),
    ("log", "syslog, or an absolute path"),
    ("version", FORMAT),
];

/// Returns messages that say what is wrong with a line.
fn faults(line: &str) -> Vec<String> {
    let (kind, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let Some((_, value)) = KEYWORDS.iter().find(|(keyword, _)| *keyword == kind) else {
        let near = KEYWORDS.iter().map(|(keyword, _)| (edits(kind, keyword), *keyword)).min();
        let near = near.filter(|(edits, keyword)| 2 * edits < keyword.len());
        let next = near.map_or("allowed: hints, leave, off, log, version".to_string(), |(_, near)| {
            format!("did you mean {near}?")
        });
        return vec![format!("\"{kind}\" is no keyword; {next}")];
    };
    if rest.is_empty() {
        return vec![format!("{kind} has no value; write {kind} {value}")];
    }
    let no_file = |pattern: &str| {
        let is_none = !pattern.starts_with(['/', '*', '?', '[']);
        is_none.then(|| {
            format!("the pattern {pattern} is of no file, as names of files are absolute here; begin it with / or *")
        })
    };
    match kind {
        "hints" => match Specification::parse(rest) {
            Ok(specification) => {
                let pattern = rest.split(':').next().unwrap_or_default().trim();
                no_file(pattern).into_iter().chain(specification.hints.iter().filter_map(wrong_hint)).collect()
            }
            Err(_) => vec![format!("`{rest}` is no {value}")],
        },
        "leave" => no_file(rest).into_iter().collect(),
        "log" if rest != "syslog" && !rest.starts_with('/') => vec![format!("log {rest}; write {value}")],
        "version" if rest != FORMAT => {
            vec![format!("the file has version {rest}; Tributary {} reads version {FORMAT}", env!("CARGO_PKG_VERSION"))]
        }
        _ => Vec::new(),
    }
}

/// Returns a message if a hint of the site can have no effect in any file. A key of another library is no fault.
fn wrong_hint((key, value): &(String, String)) -> Option<String> {
    if find(key).is_none() && !key.starts_with(super::OURS) {
        let is_unknown = foreign::why_not(key) == foreign::UNKNOWN;
        let near = meant(key).map_or("`trib hints` lists all".to_string(), |near| format!("did you mean {near}?"));
        return is_unknown.then(|| format!("\"{key}\" is no hint; {near}"));
    }
    if why_not_this(&Given::new(key, value, "")).is_some() {
        return None;
    }
    Hints::default().set(key, value).err().map(|error| error.to_string())
}

/// Returns true if the file exists, or if this user may not see whether it exists.
fn is_there(path: &Path) -> bool {
    let absent = |cause: std::io::Error| matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    !std::fs::metadata(path).is_err_and(absent)
}

/// Returns true if `pattern` matches a program: the whole path if the pattern has a `/`, otherwise the file name.
fn is_of(pattern: &str, program: &Path) -> bool {
    let name = if pattern.contains('/') { Some(program.as_os_str()) } else { program.file_name() };
    name.is_some_and(|name| glob::matches(pattern, &name.to_string_lossy()))
}

/// Returns the absolute path of a file without symbolic links. If the file does not exist, resolves only the links of
/// its folder.
fn real(name: &str) -> String {
    let path = std::path::absolute(name).unwrap_or_else(|_| name.into());
    let in_folder = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    let real = path.canonicalize().ok().or_else(in_folder);
    real.unwrap_or(path).to_string_lossy().into_owned()
}

/// Returns the path of the site's file for this library, as the process has loaded the library. None if a user could
/// have chosen the library's path in a program that has more rights than the user.
pub(super) fn of_process() -> Option<PathBuf> {
    let loaded = path_of(of_process as *const () as usize);
    let is_program = std::env::args_os().next().is_some_and(|word| word == loaded.as_os_str());
    match (is_program, has_more_rights()) {
        (true, true) => None,
        (true, false) => beside(&std::env::current_exe().ok()?),
        (false, true) if !loaded.is_absolute() => None,
        (false, _) => beside(&loaded),
    }
}

/// Returns the path of the site's file for a library at `object`, or for a program that contains the library:
/// `PREFIX/etc` for an object in `PREFIX/lib`, `PREFIX/lib64`, a subfolder of these for a kind of machine, or
/// `PREFIX/bin`; `/etc` for the prefix `/usr`. None for other paths.
pub(super) fn beside(object: &Path) -> Option<PathBuf> {
    let object = object.canonicalize().ok()?;
    let is = |folder: &Path, names: &[&str]| names.iter().any(|name| folder.ends_with(name));
    let folder = object.parent()?;
    let prefix = match folder.parent()? {
        above if is(folder, &["lib", "lib64", "bin"]) => above,
        above if is(above, &["lib", "lib64"]) => above.parent()?,
        _ => return None,
    };
    let prefix = if prefix == Path::new("/usr") { Path::new("/") } else { prefix };
    Some(prefix.join("etc").join(NAME))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Writes a site's file in a new folder, whose path has no symbolic links.
    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join(NAME);
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn every_kind_of_line() {
        let (_folder, path) = written(
            "# for all\nhints /scratch/*.nc:cb_nodes=8:cb_buffer_size=1M\nhints *:cb_nodes=2 # others\n\nleave /home/*\n\
             leave\t*/keep/*\noff gaussian*\noff /opt/x/*\nlog syslog\nlog /var/log/jobs\nversion 1\n",
        );
        for site in [Site::lenient(path.clone()), Site::strict(path.clone()).unwrap()] {
            let mut hints = FileHints::default();
            hints.program("cb_buffer_size", "2M", "MPI_Info").unwrap();
            site.take(&mut hints, "/scratch/a.nc");
            assert_eq!((hints.hints().cb_nodes, hints.hints().cb_buffer_size), (Some(8), Some(2 << 20)));
            hints.program("cb_nodes", "4", "MPI_Info").unwrap();
            assert_eq!((hints.hints().cb_nodes, hints.unused()), (Some(4), &[][..]), "hints that the user has not set");
            let program = Path::new("/usr/bin/a.out");
            let leaves =
                |name: &str| site.leaves(name, program).map(|why| why.split_once("line ").unwrap().1.to_string());
            assert_eq!(leaves("/home/u/f"), Some("5: leave /home/*".to_string()));
            assert_eq!(leaves("/no/keep/f"), Some("6: leave */keep/*".to_string()));
            assert_eq!(leaves("/homeless"), None);
            for (program, line) in
                [("/p/gaussian16", Some("7: off gaussian*")), ("/opt/x/y/z", Some("8: off /opt/x/*"))]
            {
                let why = site.leaves("/homeless", Path::new(program)).unwrap();
                assert!(why.ends_with(line.unwrap()) && why.contains(NAME), "{why}");
            }
            assert_eq!(site.leaves("/homeless", Path::new("/gaussian/other")), None);
            assert_eq!(site.log(), [Log::Syslog, Log::Path("/var/log/jobs".into())]);
            assert_eq!(site.file(), Some(&*path));
        }
    }

    /// A pattern matches the real path of the file, whatever path the program uses.
    #[test]
    fn symbolic_links_are_followed() {
        let (folder, path) = written("");
        let root = path.parent().unwrap();
        std::fs::create_dir(root.join("home")).unwrap();
        std::os::unix::fs::symlink(root.join("home"), root.join("link")).unwrap();
        std::fs::write(&path, format!("leave {}/home/*\n", root.display())).unwrap();
        let site = Site::lenient(path.clone());
        let program = Path::new("p");
        assert!(site.leaves(&folder.path().join("link/new.nc").to_string_lossy(), program).is_some());
        assert!(site.leaves(&folder.path().join("home/../new.nc").to_string_lossy(), program).is_none());
    }

    #[test]
    fn users_get_no_error_from_the_file_beside_the_library() {
        let text = "leave\nlog jobs\nhints /x\nhints *:cb_nodes=none:trib_nothing=1:cb_buffer_size=1M\nleaf /home\n";
        let (_folder, path) = written(text);
        let mut hints = FileHints::default();
        Site::lenient(path.clone()).take(&mut hints, "f");
        assert_eq!(hints.hints().cb_buffer_size, Some(1 << 20));
        let unused: Vec<_> = hints.unused().iter().map(|unused| unused.value.as_str()).collect();
        assert_eq!(unused, ["leave", "log jobs", "hints /x", "leaf /home", "none", "1"]);
        assert_eq!(hints.unused()[3].source, format!("{}, line 5", path.display()));
        assert_eq!(hints.unused()[3].why, "\"leaf\" is no keyword; did you mean leave?");
        // A folder instead of a file is reported; a file that does not exist is not.
        let folder = path.parent().unwrap().to_path_buf();
        let mut hints = FileHints::default();
        Site::lenient(folder.clone()).take(&mut hints, "f");
        assert!(hints.unused()[0].why.starts_with("Is a directory"), "{hints:?}");
        for nowhere in ["nothing", "tributary.conf/nothing"] {
            assert_eq!(Site::lenient(folder.join(nowhere)), Site::default());
        }
    }

    /// The faults of all lines are returned, also of lines for other files than the file in question.
    #[test]
    fn every_fault_of_a_file() {
        for (line, due) in [
            ("logg syslog", &["\"logg\" is no keyword; did you mean log?"][..]),
            ("of gaussian", &["\"of\" is no keyword; did you mean off?"]),
            ("include /etc/x", &["\"include\" is no keyword; allowed: hints, leave, off, log, version"]),
            ("version 1", &[]),
            (
                "version 2",
                &[concat!("the file has version 2; Tributary ", env!("CARGO_PKG_VERSION"), " reads version 1")],
            ),
            ("leave", &["leave has no value; write leave PATTERN"]),
            (
                "leave relative/*",
                &["the pattern relative/* is of no file, as names of files are absolute here; begin it with / or *"],
            ),
            ("log jobs", &["log jobs; write syslog, or an absolute path"]),
            ("hints /x", &["`/x` is no PATTERN:key=value:key=value"]),
            (
                "hints *.nc:cb_bufer_size=1M:cb_nodes=lots:cb_nodes=2",
                &[
                    "\"cb_bufer_size\" is no hint; did you mean cb_buffer_size?",
                    "hint cb_nodes: `lots` is not allowed; allowed: auto|1 or more",
                ],
            ),
            ("hints /x/*:romio_ds_write=disable:striping_unit=0", &[]),
            ("leave */keep/*", &[]),
            ("off gaussian*", &[]),
            ("log syslog", &[]),
        ] {
            assert_eq!(faults(line), due, "{line}");
        }
    }

    #[test]
    fn a_file_of_trib_conf_is_right_or_an_error() {
        for (text, says) in [
            ("\nleaf /home", "TRIB_CONF=FILE, line 2: `leaf /home`; allowed: hints PATTERN:key=value"),
            ("log jobs", "line 1: `log jobs`; allowed: "),
            ("hints *:cb_nodes=none", "hint cb_nodes of TRIB_CONF=FILE, line 1: `none` is not allowed"),
            ("hints *:trib_nothing=1", "hint trib_nothing of TRIB_CONF=FILE, line 1 does not exist"),
        ] {
            let (_folder, path) = written(text);
            let error = Site::read(Some(path.clone().into()), None).unwrap_err().to_string();
            assert!(error.contains(&says.replace("FILE", path.to_str().unwrap())), "{error}");
        }
        let error = Site::read(Some("/no/such".into()), None).unwrap_err().to_string();
        assert!(error.starts_with("TRIB_CONF: /no/such: No such file"), "{error}");
        // An empty file in place of the site's file.
        let (_folder, path) = written("leave *");
        let nothing = Site::read(Some("/dev/null".into()), Some(path)).unwrap();
        assert_eq!((nothing.leaves("f", Path::new("p")), nothing.file()), (None, Some(Path::new("/dev/null"))));
    }

    #[test]
    fn the_file_is_in_etc_of_the_prefix() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (object, due) in [
            ("t/lib/l.so", Some("t/etc/tributary.conf")),
            ("t/lib64/l.so", Some("t/etc/tributary.conf")),
            ("t/bin/trib", Some("t/etc/tributary.conf")),
            ("t/lib/x86_64-linux-gnu/l.so", Some("t/etc/tributary.conf")),
            ("t/target/debug/l.so", None),
        ] {
            let path = root.join(object);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            assert_eq!(beside(&path), due.map(|due| root.join(due)), "{object}");
        }
        std::os::unix::fs::symlink(root.join("t"), root.join("current")).unwrap();
        assert_eq!(beside(&root.join("current/lib/l.so")), Some(root.join("t/etc/tributary.conf")));
        let of_system = Path::new("/usr/bin/env").canonicalize().unwrap();
        assert_eq!(beside(&of_system), Some("/etc/tributary.conf".into()));
    }

    #[test]
    fn lines_that_are_never_reached() {
        let (_folder, path) = written(
            "hints /scratch/*.nc:cb_nodes=1\nhints /scratch/*:cb_nodes=2\nhints /scratch/*.nc4:cb_nodes=3\n\
             hints /scratch/*.nc:cb_nodes=4\nhints /home/*:cb_nodes=5",
        );
        let line = |number: usize| format!("{}, line {number}", path.display());
        let due = |number: usize, pattern: &str, before: &str, by: usize| {
            let by = line(by);
            format!("{}: hints {pattern} counts for no file: {before} of {by} comes first", line(number))
        };
        let due = [due(3, "/scratch/*.nc4", "/scratch/*", 2), due(4, "/scratch/*.nc", "/scratch/*.nc", 1)];
        assert_eq!(Site::lenient(path).never_reached(), due);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"((hints|leave|off|log) |[*:=,#a-c\[\]\n/]|\PC){0,40}", name in r"[^\x00]{0,10}") {
            let mut site = Site::default();
            for (number, line) in lines(&text) {
                site.take_line(line, &HintSource::from(number.to_string()));
            }
            site.take(&mut FileHints::default(), &name);
            site.leaves(&name, Path::new("/p"));
        }
    }
}
