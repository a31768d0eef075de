//! Compiles the test programs as their users would: by the MPI library's own wrappers, without mentioning this
//! library.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tributary_testing::fault_sweep;

use super::family::{Family, ours};

/// Options for C only. (MPICH declares that MPI_STATUSES_IGNORE, an address of its own kind, is an array of
/// statuses.)
const C_ONLY: &[&str] = &["-std=gnu11", "-Wno-stringop-overflow"];

/// The way in which a program is compiled.
#[derive(Debug, Clone, Default)]
pub struct Build {
    /// Family of the MPI library; None for the one that the tests run on.
    pub family: Option<Family>,
    /// Name of the program; None for its source's name without the ending.
    pub name: Option<&'static str>,
    /// Options in front of the source.
    pub options: Vec<String>,
    /// Libraries behind the source.
    pub libraries: Vec<String>,
}

impl Build {
    /// Adds the options and libraries that `pkg-config` returns for `module`.
    ///
    /// # Panics
    /// Panics if `pkg-config` does not know `module`; `package` says what to install.
    pub fn with_module(mut self, module: &str, package: &str) -> Self {
        for (option, into) in [("--cflags", &mut self.options), ("--libs", &mut self.libraries)] {
            let output = Command::new("pkg-config").args([option, module]).output();
            let output = output.unwrap_or_else(|cause| panic!("pkg-config: {cause}; install pkg-config"));
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "pkg-config does not know {module}; install {package}");
            into.extend(said.split_whitespace().map(String::from));
        }
        self
    }

    /// Compiles `tests/programs/<source>`, or a source with an absolute path, once in this process: some tests run
    /// one program hundreds of times.
    ///
    /// # Panics
    /// Panics if the program does not compile without a warning, or if there is no compiler.
    pub fn compile(&self, source: &str) -> PathBuf {
        static COMPILED: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
        let mut all = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = all.entry(format!("{source}, {self:?}")).or_default().clone();
        drop(all);
        compiled.get_or_init(|| self.compile_now(source)).clone()
    }

    fn compile_now(&self, source: &str) -> PathBuf {
        let family = self.family.unwrap_or_else(ours);
        let (stem, ending) = source.rsplit_once('.').expect("a source has an ending");
        let stem = stem.rsplit('/').next().unwrap_or(stem);
        let (compiler, options) = match ending {
            "c" => (family.mpicc(), C_ONLY),
            "cc" => (family.mpicxx(), &[] as &[&str]),
            _ => (family.mpifort(), &[] as &[&str]),
        };
        let target = scratch().join(format!("{}.{}", self.name.unwrap_or(stem), family.name()));
        let mut command = Command::new(compiler);
        command.args(["-O1", "-g", "-Wall", "-Werror"]).args(options);
        // Under a name of its own until it is whole: another test program may run it.
        let fresh = tempfile::Builder::new().prefix(stem).tempdir_in(scratch()).expect("a folder to compile in");
        let made = fresh.path().join(stem);
        command.arg("-I").arg(fault_sweep::sources());
        command.args(&self.options).arg("-o").arg(&made).arg(folder().join(source));
        command.args(family.library_folders()).args(&self.libraries).args(["-lm", "-lpthread", "-ldl"]);
        let output = command.output().unwrap_or_else(|cause| panic!("{command:?}: {cause}"));
        assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&output.stderr));
        std::fs::rename(&made, &target).expect("the program under its name");
        target
    }
}

/// Compiles a program that needs MPI only.
///
/// # Panics
/// Panics as [`Build::compile`] does.
pub fn compile(source: &str) -> PathBuf {
    Build::default().compile(source)
}

/// Compiles a library that a test preloads, from the sources that the bindings' tests share: `faults` makes calls
/// fail, `lustre` pretends to be a file system.
///
/// # Panics
/// Panics as [`Build::compile`] does.
pub fn preloadable(stem: &'static str) -> PathBuf {
    static COMPILED: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut all = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compile = || {
        let made = scratch().join(format!("{stem}.{}", ours().name()));
        fault_sweep::preloadable(&ours().mpicc(), stem, &made)
    };
    all.entry(stem).or_insert_with(compile).clone()
}

/// Returns the folder of the sources.
pub fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs"))
}

/// Returns a folder for compiled programs, in the target directory, so that they are removed with it.
fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&folder).expect("a folder in the target directory");
    folder
}
