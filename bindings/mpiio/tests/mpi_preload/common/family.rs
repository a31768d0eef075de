//! The MPI library that the tests run on: the names of its compilers and its launcher.

use std::process::Command;
use std::sync::OnceLock;

/// The family of an MPI library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// MPICH and its derivatives.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

/// Returns the family that the tests run on: the family of `$MPICC`, or of the first wrapper that exists. The library
/// under test is the same for all.
pub fn ours() -> Family {
    static OURS: OnceLock<Family> = OnceLock::new();
    *OURS.get_or_init(|| match std::env::var("MPICC") {
        Ok(given) => of_wrapper(&given).unwrap_or_else(|| panic!("MPICC={given} is not there")),
        Err(_) => {
            ["mpicc.mpich", "mpicc", "mpicc.openmpi"].iter().find_map(|name| of_wrapper(name)).unwrap_or_else(|| {
                panic!("no compiler wrapper of MPI is there; install one, or set MPICC");
            })
        }
    })
}

impl Family {
    /// Returns the suffix of the names of the family's tools in distributions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mpich => "mpich",
            Self::OpenMpi => "openmpi",
        }
    }

    /// Returns the compiler wrapper for C: `$MPICC` if it belongs to this family.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn mpicc(self) -> String {
        let given = std::env::var("MPICC").ok();
        let names = given.into_iter().chain([format!("mpicc.{}", self.name()), "mpicc".to_string()]);
        self.first_wrapper(names.collect(), "MPICC")
    }

    /// Returns the compiler wrapper for C++: `$MPICXX` if it belongs to this family.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn mpicxx(self) -> String {
        let given = std::env::var("MPICXX").ok();
        let names = given.into_iter().chain([format!("mpicxx.{}", self.name()), "mpicxx".to_string()]);
        self.first_wrapper(names.collect(), "MPICXX")
    }

    /// Returns the compiler wrapper for Fortran: `$MPIFORT` if it belongs to this family.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn mpifort(self) -> String {
        let given = std::env::var("MPIFORT").ok();
        let names = given.into_iter().chain([format!("mpifort.{}", self.name()), "mpifort".to_string()]);
        self.first_wrapper(names.collect(), "MPIFORT")
    }

    /// Returns the names of possible launchers: `$MPIEXEC` for the family that the tests run on.
    pub fn launchers(self) -> Vec<String> {
        if let (true, Ok(given)) = (self == ours(), std::env::var("MPIEXEC")) {
            return vec![given];
        }
        let names = match self {
            Self::Mpich => ["mpiexec.mpich", "mpiexec.hydra"],
            Self::OpenMpi => ["mpiexec.openmpi", "orterun"],
        };
        names.into_iter().chain(["mpiexec"]).map(String::from).collect()
    }

    /// Returns arguments of the launcher that set a variable for the ranks, and not for the launcher.
    pub fn for_ranks(self, name: &str, value: &str) -> Vec<String> {
        match self {
            Self::Mpich => vec!["-genv".to_string(), name.to_string(), value.to_string()],
            Self::OpenMpi => vec!["-x".to_string(), format!("{name}={value}")],
        }
    }

    /// Returns folders that a program must be linked with first. Otherwise it may get another MPI library of the same
    /// name: in Debian `libmpi.so` is whatever library the alternatives point to, and Open MPI's Fortran wrapper
    /// looks there.
    pub fn library_folders(self) -> Vec<String> {
        if self == Self::Mpich {
            return Vec::new();
        }
        let said = Command::new(self.mpicc()).arg("--showme:libdirs").output().map(|output| output.stdout);
        let folders = String::from_utf8(said.unwrap_or_default()).unwrap_or_default();
        folders.split_whitespace().map(|folder| format!("-L{folder}")).collect()
    }

    fn first_wrapper(self, names: Vec<String>, variable: &str) -> String {
        names.iter().find(|name| of_wrapper(name) == Some(self)).cloned().unwrap_or_else(|| {
            panic!("none of {names:?} is a compiler wrapper of {}; install one, or set {variable}", self.name())
        })
    }
}

/// Returns the family of a wrapper. Only Open MPI's wrappers know the option `--showme`; others pass it to their
/// compiler.
fn of_wrapper(name: &str) -> Option<Family> {
    let output = Command::new(name).arg("--showme:version").output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(if output.status.success() && said.contains("Open MPI") { Family::OpenMpi } else { Family::Mpich })
}
