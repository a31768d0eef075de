//! Detects AddressSanitizer in a program. If the sanitizer's runtime is a shared library, it must come first in LD_PRELOAD;
//! otherwise the runtime ends the program.

use std::path::{Path, PathBuf};

use goblin::elf::{Elf, Sym};
use serde::Serialize;

use super::linked::resolved;

/// Name of a function that the runtime defines.
const MARK: &str = "__asan_init";
/// Beginnings of the names of the runtime as a shared library: GCC's, Clang's.
const SHARED: [&str; 2] = ["libasan.so", "libclang_rt.asan"];

/// Place of the runtime of a program that is built with -fsanitize=address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sanitizer {
    /// The runtime is this shared library, which must be preloaded first.
    First(PathBuf),
    /// The runtime is a shared library of this name, which the dynamic linker does not find.
    Missing(String),
    /// The runtime is in the program itself: nothing must come first.
    Inside,
}

impl Sanitizer {
    /// Returns the runtime of the program `elf` at `path`; none if the program is built without AddressSanitizer. Runs
    /// the program's dynamic linker, and not the program.
    pub fn from_elf(elf: &Elf<'_>, path: &Path) -> Option<Self> {
        let named = elf.libraries.iter().find(|name| SHARED.iter().any(|start| name.starts_with(start)));
        if let Some(name) = named {
            let found = elf.interpreter.and_then(|linker| resolved(linker, path, name));
            return Some(found.map_or_else(|| Self::Missing((*name).to_string()), Self::First));
        }
        let is_it = |symbol: &Sym, text: Option<&str>| symbol.st_shndx != 0 && text == Some(MARK);
        let is_inside = elf.syms.iter().any(|symbol| is_it(&symbol, elf.strtab.get_at(symbol.st_name)))
            || elf.dynsyms.iter().any(|symbol| is_it(&symbol, elf.dynstrtab.get_at(symbol.st_name)));
        is_inside.then_some(Self::Inside)
    }

    /// Returns the runtime of the program at `path`; none if the file cannot be read.
    pub fn at(path: &Path) -> Option<Self> {
        let bytes = std::fs::read(path).ok()?;
        Self::from_elf(&Elf::parse(&bytes).ok()?, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_none() {
        let this = std::env::current_exe().unwrap();
        assert_eq!(Sanitizer::at(&this), None);
        assert_eq!(Sanitizer::at(Path::new("/nowhere")), None);
    }
}
