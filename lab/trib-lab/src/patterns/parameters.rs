//! Reads a pattern's parameters from the definition of the command line.

use std::fmt;

use clap::Arg;
use serde::Serialize;

use trib::source::PatternSource;

/// Parameter of a pattern.
#[derive(Debug, Serialize)]
pub struct Parameter {
    /// Name of the option, with `--`; empty for an argument without a name.
    pub option: String,
    /// Placeholder of the parameter's value; none for a switch.
    pub value: Option<String>,
    /// Default of the parameter.
    pub default: Option<String>,
    /// Allowed values, if they can be listed.
    pub allowed: Vec<String>,
    /// Help text of the parameter.
    pub meaning: String,
}

/// Returns all parameters of a pattern.
pub fn of(source: &PatternSource) -> Vec<Parameter> {
    let own = |argument: &&Arg| argument.get_long().is_some() || argument.is_positional();
    source.command().get_arguments().filter(own).map(parameter).collect()
}

fn parameter(argument: &Arg) -> Parameter {
    let takes = argument.get_action().takes_values();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Parameter {
        option: argument.get_long().map(|name| format!("--{name}")).unwrap_or_default(),
        value: argument
            .get_value_names()
            .filter(|_| takes)
            .map(|names| names.iter().map(ToString::to_string).collect()),
        default: argument.get_default_values().first().filter(|_| takes).map(|value| value.to_string_lossy().into()),
        allowed: match takes {
            true => argument.get_possible_values().iter().map(|value| value.get_name().to_string()).collect(),
            false => Vec::new(),
        },
        meaning: argument.get_help().map(|help| words(&help.to_string())).unwrap_or_default(),
    }
}

impl Parameter {
    /// Returns the option with the placeholder of its value.
    pub fn usage(&self) -> String {
        match &self.value {
            Some(value) => format!("{} {value}", self.option).trim_start().to_string(),
            None => self.option.clone(),
        }
    }

    /// Returns the option with its default.
    pub fn short(&self) -> String {
        match &self.default {
            Some(default) => format!("{} {default}", self.option),
            None => self.usage(),
        }
    }

    /// Returns the allowed values and the default, in brackets, if there are any.
    pub fn values(&self) -> String {
        let allowed = Some(self.allowed.join("|")).filter(|allowed| !allowed.is_empty());
        let default = self.default.as_ref().map(|default| format!("default {default}"));
        let values: Vec<_> = [allowed, default].into_iter().flatten().collect();
        values.join(", ")
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.usage(), self.meaning)?;
        let values = self.values();
        if values.is_empty() { Ok(()) } else { write!(f, " [{values}]") }
    }
}
