//! Finds the word of a command that is the program. Launchers have hundreds of options, with and without values; the
//! program is recognised as an executable file where no option has its value.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the path of the file that a word names, as a shell finds it: a path, or a name in a folder of PATH.
pub fn file(word: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|path| is_program(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(word)).find(|path| is_program(path))
}

/// Commands that run another command in their place or as a child.
const RUNNERS: [&str; 12] = [
    "env",
    "time",
    "nice",
    "timeout",
    "nohup",
    "stdbuf",
    "taskset",
    "numactl",
    "setarch",
    "strace",
    "catchsegv",
    "exec",
];

/// Returns the index of the program in a command whose words before `from` are the launcher's.
pub fn place(words: &[String], from: usize) -> Option<usize> {
    let places = || (from..words.len()).filter(|&at| !words[at].starts_with('-') && file(&words[at]).is_some());
    // `-p debug ./a`: the word may be the option's value.
    let is_value = |at: usize| {
        let before = if at > from { words[at - 1].as_str() } else { "" };
        before.starts_with('-') && !before.contains('=') && !words[at].contains('/')
    };
    let is_runner = |at: usize| RUNNERS.contains(&super::file_name(&words[at]));
    let found = places().find(|&at| !is_value(at) && !is_runner(at));
    found.or_else(|| places().find(|&at| !is_runner(at))).or_else(|| places().next())
}

/// Returns the file of the program of a command, whose first word is a launcher or not.
pub fn of(words: &[String], is_launched: bool) -> Option<PathBuf> {
    place(words, usize::from(is_launched)).and_then(|at| file(&words[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_behind_options() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("model");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let program = program.display().to_string();
        for (line, due) in [
            ("mpiexec -n 4 MODEL sh", "MODEL"),
            ("mpiexec MODEL", "MODEL"),
            ("mpiexec -n 4 sh MODEL", "sh"),
            ("srun -p test -l MODEL", "MODEL"),
            ("srun --mpi=pmix env A=1 MODEL -x", "MODEL"),
            ("srun -l sh input.txt", "sh"),
            ("mpiexec --mca io ompio MODEL", "MODEL"),
        ] {
            let words: Vec<String> = line.replace("MODEL", &program).split(' ').map(str::to_string).collect();
            let found = place(&words, 1).map(|at| words[at].replace(&program, "MODEL"));
            assert_eq!(found.as_deref(), Some(due), "{line}");
        }
        assert_eq!(place(&["sh".to_string(), program], 0), Some(0));
        assert_eq!(place(&["mpiexec".to_string(), "/nowhere/model".to_string()], 1), None);
    }
}
