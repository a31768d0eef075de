//! Explains a mistake on the command line: what is wrong, in one line, and what to write instead.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use crate::launcher;

/// Maximum number of subcommands that are listed in the error about an unknown one.
const FEW: usize = 24;

/// Returns the line that explains the error. `words` are the words of the command line after the program's name.
pub fn line(program: &Command, words: &[String], error: &Error) -> String {
    if let Some(said) = without_dashes(program, words, error) {
        return said;
    }
    let said = one_line(&error.to_string());
    let (path, command) = named(program, words);
    let others =
        if error.kind() == ErrorKind::InvalidSubcommand && error.get(ContextKind::SuggestedSubcommand).is_none() {
            let names: Vec<&str> =
                command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name).collect();
            if names.len() <= FEW { format!("; allowed: {}", names.join(", ")) } else { String::new() }
        } else {
            String::new()
        };
    let missing = missing(command, error);
    format!("{said}{others}{missing}; `{path} --help` has examples")
}

/// Returns the help text of each missing argument.
fn missing(command: &Command, error: &Error) -> String {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else { return String::new() };
    let told = missing.iter().filter_map(|name| {
        let argument = command.get_arguments().find(|argument| argument.to_string() == *name)?;
        Some(format!(" ({})", argument.get_help()?.to_string().trim_end_matches('.')))
    });
    told.collect()
}

/// Changes `help run` after the program's name to `run --help`.
pub fn help_as_option(words: &mut [OsString]) {
    if words.get(1).is_some_and(|word| word == "help") {
        words[1..].rotate_left(1);
        words[words.len() - 1] = "--help".into();
    }
}

/// Returns the command that the words name, as the user calls it and as clap knows it: `trib capture info`.
fn named<'a>(program: &'a Command, words: &[String]) -> (String, &'a Command) {
    let (mut path, mut command) = (program.get_name().to_string(), program);
    for word in words {
        let Some(below) = command.find_subcommand(word) else { break };
        path = format!("{path} {word}");
        command = below;
    }
    (path, command)
}

/// Returns the command in `words` that must follow `--` and does not.
fn without_dashes(program: &Command, words: &[String], error: &Error) -> Option<String> {
    let (path, command) = named(program, words);
    let takes_command = command.get_arguments().any(|argument| argument.is_last_set());
    let is_unknown = matches!(error.kind(), ErrorKind::UnknownArgument);
    if !takes_command || !is_unknown || words.iter().any(|word| word == "--") {
        return None;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    // If clap suggests an option, the word is a mistyped option and no command of the user's.
    if error.get(ContextKind::SuggestedArg).is_some() {
        return None;
    }
    let at = words.iter().position(|word| word == unknown || is_short_of(word, unknown))?;
    let (own, theirs) = words.split_at(at);
    let own = own.get(path.split(' ').count() - 1..).unwrap_or_default();
    let begin = own.iter().map(|word| format!("{word} ")).collect::<String>();
    let command = theirs.join(" ");
    let whole = match theirs[0].starts_with('-') {
        true => format!("mpiexec {command}"),
        false => command,
    };
    let more = match launcher::is_named(&theirs[0]) || theirs[0].starts_with('-') {
        true => String::new(),
        false => format!(", and with 4 ranks: {path} {begin}-- mpiexec -n 4 {whole}"),
    };
    Some(format!("a program stands behind --, with its launcher: {path} {begin}-- {whole}{more}"))
}

/// Returns true if clap's unknown option `-n` is the beginning of a word such as `-n4`.
fn is_short_of(word: &str, unknown: &str) -> bool {
    unknown.len() == 2 && !unknown.starts_with("--") && word.starts_with(unknown)
}

/// Returns clap's error message without the usage, which `--help` shows.
fn one_line(error: &str) -> String {
    let lines = error.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    // A word that is no option is not meant as a value of another one.
    let words: Vec<&str> =
        lines.filter(|line| !line.trim().starts_with("tip: to pass")).flat_map(str::split_whitespace).collect();
    words.join(" ").trim_start_matches("error: ").replace(" tip: ", "; ")
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches};

    use super::*;
    use crate::cli::Cli;

    fn said(line_of_words: &str) -> String {
        let words: Vec<String> = line_of_words.split(' ').map(str::to_string).collect();
        let mut command = crate::cli::groups::grouped(Cli::command());
        let parsed = command.try_get_matches_from_mut(std::iter::once("trib".to_string()).chain(words.iter().cloned()));
        let error = parsed.and_then(|matches| Cli::from_arg_matches(&matches)).err().unwrap();
        line(&command, &words, &error)
    }

    #[test]
    fn a_program_without_its_dashes() {
        for (words, due) in [
            ("run ./a", "trib run -- ./a, and with 4 ranks: trib run -- mpiexec -n 4 ./a"),
            ("run -n 4 ./a", "trib run -- mpiexec -n 4 ./a"),
            ("run -n4 ./a -x", "trib run -- mpiexec -n4 ./a -x"),
            ("run --report json mpiexec -n 4 ./a", "trib run --report json -- mpiexec -n 4 ./a"),
            ("run --hints cb_nodes=2 srun ./a", "trib run --hints cb_nodes=2 -- srun ./a"),
            ("compare mpirun -n 2 ./a", "trib compare -- mpirun -n 2 ./a"),
        ] {
            assert_eq!(said(words), format!("a program stands behind --, with its launcher: {due}"), "{words}");
        }
    }

    #[test]
    fn every_line_says_where_help_is() {
        for (words, begin, end) in [
            (
                "run --reprot -- ./a",
                "unexpected argument '--reprot' found",
                "'--report'; `trib run --help` has examples",
            ),
            ("run --report pdf -- ./a", "invalid value 'pdf' for", "`trib run --help` has examples"),
            ("capture infos", "unrecognized subcommand 'infos'", "'info'; `trib capture --help` has examples"),
            (
                "capture nope",
                "unrecognized subcommand 'nope'; allowed: info, export",
                "`trib capture --help` has examples",
            ),
            (
                "capture export",
                "the following required arguments were not provided: <FILE>",
                "; `trib capture export --help` has examples",
            ),
            ("nope", "unrecognized subcommand 'nope'; allowed: run, doctor, ", "`trib --help` has examples"),
        ] {
            let said = said(words);
            assert!(said.starts_with(begin) && said.ends_with(end), "{words}: {said}");
        }
    }

    #[test]
    fn help_of_a_command() {
        for (line, due) in [("help", "--help"), ("help run", "run --help"), ("run help", "run help")] {
            let mut words: Vec<OsString> = std::iter::once("trib").chain(line.split(' ')).map(OsString::from).collect();
            help_as_option(&mut words);
            assert_eq!(words.join(std::ffi::OsStr::new(" ")), format!("trib {due}").as_str());
        }
    }
}
