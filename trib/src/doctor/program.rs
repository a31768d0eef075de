//! Finds out what kind of file a program is, and whether a library can be preloaded into it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use goblin::elf::header::{EM_AARCH64, EM_PPC64, EM_RISCV, EM_X86_64, machine_to_str};
use goblin::elf::{Elf, Sym};
use nix::unistd::{getegid, geteuid};
use serde::Serialize;
use tributary::drivers::{Mode, OpenStorage, SystemFiles};

use crate::Failure;
use crate::launcher::linked;
use crate::launcher::program as words;
use crate::launcher::sanitizer::Sanitizer;

/// Maximum number of bytes of a program that are read.
const LONGEST: u64 = 4 << 30;
/// Maximum depth of interpreters of interpreters, as in the kernel.
const DEEPEST: usize = 4;
/// Name of a function that a program defines only if MPI is linked into it.
const MARK: &str = "PMPI_Type_size";

/// Properties of the file of a program.
#[derive(Debug, Serialize)]
pub struct Program {
    pub path: PathBuf,
    /// Script that the program interprets, if the command names one.
    pub script: Option<PathBuf>,
    /// Processor for which the program is made, as ELF names it.
    pub machine: String,
    is_of_this_machine: bool,
    /// Dynamic linker that the program asks for; none in a static program.
    pub linker: Option<String>,
    /// True if the program is setuid, with a user other than the caller.
    setuid: bool,
    setgid: bool,
    capabilities: bool,
    /// Names of the libraries with which the program is linked.
    pub libraries: Vec<String>,
    /// True if MPI is linked into the program itself.
    has_mpi_inside: bool,
    /// Runtime of AddressSanitizer, if the program is built with it.
    pub sanitizer: Option<Sanitizer>,
    /// Path of Darshan, if the program is linked with it.
    pub darshan: Option<PathBuf>,
}

impl Program {
    /// Reads the program that a word of a command names; for a script, its interpreter.
    ///
    /// # Errors
    /// The file cannot be read, or is no program.
    pub fn from_word(word: &str) -> Result<Self, Failure> {
        let path = words::file(word)
            .ok_or_else(|| Failure::new(format!("program: {word}; allowed: a file that can be run")))?;
        Self::at(path, None, 0)
    }

    fn at(path: PathBuf, script: Option<PathBuf>, depth: usize) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let fail = |cause: &dyn std::fmt::Display| Failure::new(format!("program: {shown}: {cause}"));
        let file = SystemFiles.open(&path, Mode::Read).map_err(|cause| fail(&cause))?;
        let about = path.metadata().map_err(|cause| fail(&cause))?;
        if about.len() > LONGEST {
            return Err(fail(&format!("{} bytes; allowed: up to {LONGEST}", about.len())));
        }
        let bytes = std::fs::read(&path).map_err(|cause| fail(&cause))?;
        if let Some(interpreter) = interpreter(&bytes).filter(|_| depth < DEEPEST) {
            let found = words::file(&interpreter)
                .ok_or_else(|| fail(&format!("its interpreter {interpreter} is not there")))?;
            return Self::at(found, script.or(Some(path)), depth + 1);
        }
        let elf = Elf::parse(&bytes).map_err(|_| fail(&"neither a program of Linux nor a script with #!"))?;
        let machine = elf.header.e_machine;
        let (sanitizer, darshan) = (Sanitizer::from_elf(&elf, &path), linked::darshan_of(&elf, &path));
        Ok(Self {
            path,
            script,
            machine: machine_to_str(machine).trim_start_matches("EM_").to_lowercase(),
            is_of_this_machine: this_machine().is_none_or(|this| this == machine),
            linker: elf.interpreter.map(str::to_string),
            setuid: about.mode() & 0o4000 != 0 && about.uid() != geteuid().as_raw(),
            setgid: about.mode() & 0o2000 != 0 && about.gid() != getegid().as_raw(),
            capabilities: file.control().attribute(c"security.capability").is_ok_and(|value| !value.is_empty()),
            libraries: elf.libraries.iter().map(ToString::to_string).collect(),
            has_mpi_inside: defines(&elf, MARK),
            sanitizer,
            darshan,
        })
    }

    /// Returns true if the program is linked with musl.
    pub fn is_of_musl(&self) -> bool {
        self.linker.as_ref().is_some_and(|linker| linker.contains("ld-musl"))
            || self.libraries.iter().any(|library| library.starts_with("libc.musl"))
    }

    /// Returns true if a library can be preloaded into the program.
    pub fn is_preloadable(&self) -> bool {
        self.problems().is_empty()
    }

    /// Returns true if the program names no MPI library, but may load one when it runs, as Python does.
    pub fn may_load_mpi_later(&self) -> bool {
        self.is_preloadable() && !self.libraries.iter().any(|library| library.starts_with("libmpi"))
    }

    /// Returns the reasons why no library can be preloaded into the program.
    pub fn problems(&self) -> Vec<String> {
        let shown = self.path.display();
        let named = |(is_so, why): (bool, &str)| is_so.then(|| format!("program: {shown}: {why}"));
        [
            (!self.is_of_this_machine, "it is of another processor; allowed: one of this machine"),
            (self.linker.is_none(), "it is linked statically, so nothing can be preloaded; allowed: a dynamic program"),
            (
                self.has_mpi_inside,
                "MPI is linked into it statically; allowed: a program that is linked with libmpi as a shared library",
            ),
            (self.is_of_musl(), "it is linked with musl, the library with glibc; allowed: a program of glibc"),
            (self.setuid, "it is setuid, so the dynamic linker ignores LD_PRELOAD; allowed: a program without"),
            (self.setgid, "it is setgid, so the dynamic linker ignores LD_PRELOAD; allowed: a program without"),
            (
                self.capabilities,
                "it has capabilities, so the dynamic linker ignores LD_PRELOAD; allowed: a program without (setcap -r)",
            ),
        ]
        .into_iter()
        .filter_map(named)
        .collect()
    }
}

/// Returns ELF's number of this machine's processor.
fn this_machine() -> Option<u16> {
    match std::env::consts::ARCH {
        "x86_64" => Some(EM_X86_64),
        "aarch64" => Some(EM_AARCH64),
        "powerpc64" => Some(EM_PPC64),
        "riscv64" => Some(EM_RISCV),
        _ => None,
    }
}

/// Returns the interpreter of a script: the first text after `#!` or, if that is env, env's first argument that is no option.
fn interpreter(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if Path::new(first).file_name().is_some_and(|name| name == "env") {
        return words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_string);
    }
    Some(first.to_string())
}

/// Returns true if a symbol is defined in the program itself.
fn defines(elf: &Elf<'_>, name: &str) -> bool {
    let is_it = |symbol: &Sym, text: Option<&str>| !symbol.is_import() && symbol.st_shndx != 0 && text == Some(name);
    elf.syms.iter().any(|symbol| is_it(&symbol, elf.strtab.get_at(symbol.st_name)))
        || elf.dynsyms.iter().any(|symbol| is_it(&symbol, elf.dynstrtab.get_at(symbol.st_name)))
}
