//! `trib manual`: writes manual pages and completions of shells, from the definition of the command line.
//!
//! The command is not in the help; `bindings/install` runs it.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::{Shell, generate_to};

use crate::Failure;
use crate::cli::{Cli, ManualOptions};

/// Directory of each shell's completions, below a directory of shared data.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions"),
    (Shell::Fish, "fish/vendor_completions.d"),
    (Shell::Zsh, "zsh/site-functions"),
];

/// Runs `trib manual`.
pub fn run(options: &ManualOptions) -> Result<(), Failure> {
    let pages = made(&options.directory.join("man/man1"))?;
    clap_mangen::generate_to(Cli::command(), &pages).map_err(|cause| failed(&pages, cause))?;
    for (shell, place) in COMPLETIONS {
        let place = made(&options.directory.join(place))?;
        let written = generate_to(shell, &mut Cli::command(), "trib", &place).map_err(|cause| failed(&place, cause))?;
        // Bash loads the file that has the command's name.
        if shell == Shell::Bash {
            std::fs::rename(&written, place.join("trib")).map_err(|cause| failed(&written, cause))?;
        }
    }
    Ok(())
}

fn made(directory: &Path) -> Result<std::path::PathBuf, Failure> {
    std::fs::create_dir_all(directory).map_err(|cause| failed(directory, cause))?;
    Ok(directory.to_path_buf())
}

fn failed(path: &Path, cause: std::io::Error) -> Failure {
    Failure::new(format!("{}: {cause}; allowed: a directory that can be written", path.display()))
}
