//! Prints the help of all commands in groups. Clap would print one long list.

use std::fmt::Write;

use clap::Command;

/// Title of each group, and its commands.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Commands for your program", &["run", "doctor", "compare"]),
    ("Commands for what it did", &["capture", "explain"]),
    ("Commands for settings", &["hints"]),
    ("Commands for patterns of real codes", &["replay"]),
];

/// Number of columns in a line of help.
const WIDTH: usize = 80;
/// Number of columns before the description of a command.
const INDENT: usize = 12;

/// Returns the program with its help in groups of commands.
pub fn grouped(command: Command) -> Command {
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "{title}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let lines = wrapped(&about.unwrap_or_default(), WIDTH - INDENT);
            for (number, line) in lines.iter().enumerate() {
                let name = if number == 0 { name } else { "" };
                let _ = writeln!(text, "  {name:<width$}{line}", width = INDENT - 2);
            }
        }
        text.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}Options:\n{{options}}{{after-help}}"
    ))
}

/// Returns a text in lines of at most `width` columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_fits_80_columns() {
        let command = crate::cli::Cli::command();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut all: Vec<&str> = shown.map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
        let help = super::grouped(command).render_help().to_string();
        let groups = &help[help.find("Commands").unwrap()..help.find("Options:").unwrap()];
        assert!(groups.lines().all(|line| line.len() <= WIDTH), "{groups}");
        assert!(groups.contains("\n  doctor    Check a program"), "{groups}");
    }
}
