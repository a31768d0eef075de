//! Registry of patterns: name, parameters, and how each becomes a replay. A new pattern is one file here and one row of
//! [`SOURCES`].

mod block4d;
mod btio;
mod capture;
mod e3sm;
mod flash;
mod ior;
mod list;
mod s3d;
mod wrf;

use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use tributary_benchmarks::Pattern;
use tributary_benchmarks::wrf::Trace;

use crate::{Failure, limits};

/// Default number of ranks for a pattern that allows any number.
const RANKS: usize = 16;

/// All patterns, in the order in which they are listed.
pub const SOURCES: &[PatternSource] = &[
    PatternSource::from_parameters::<e3sm::F>(),
    PatternSource::from_parameters::<e3sm::G>(),
    PatternSource::from_parameters::<e3sm::I>(),
    PatternSource::from_parameters::<flash::Mesh>(),
    PatternSource::from_parameters::<btio::Diagonal>(),
    PatternSource::from_parameters::<wrf::WrfSource>(),
    PatternSource::from_parameters::<ior::IorSource>(),
    PatternSource::from_parameters::<s3d::Checkpoint>(),
    PatternSource::from_parameters::<block4d::Lattice>(),
    PatternSource::from_parameters::<list::ListSource>(),
    PatternSource::from_parameters::<capture::CaptureSource>(),
];

/// A pattern's parameters on the command line, and its description. The fields' comments are the help texts; the type's
/// comment is the line in the list of patterns.
pub trait Parameters: Args + Send + Sync + 'static {
    /// Name of the pattern on the command line.
    const NAME: &'static str;
    /// Application that writes this pattern, and how, in a few sentences.
    const CODE: &'static str;
    /// Publication of the pattern.
    const ORIGIN: &'static str;
    /// Closed forms of the pattern's counts: pairs of quantity and formula.
    const FORMULAS: &'static [(&'static str, &'static str)];
    /// Example of a command: the arguments after the pattern's name.
    const EXAMPLE: &'static str;
    /// Arguments of `trib-lab picture` that give a readable picture. Paths of files start at the project's root.
    const PICTURE: &'static str;

    /// Returns the subject on `ranks` ranks (`None`: the pattern's own number).
    ///
    /// # Errors
    /// Parameters that are not possible, in one line.
    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure>;
}

/// Accesses or messages that are replayed.
pub enum Subject {
    /// Accesses of all ranks to a file.
    File(Box<dyn Pattern>),
    /// Messages of all ranks, without a file.
    Exchange(Arc<Trace>),
}

impl Subject {
    /// Creates a subject from a pattern of accesses to a file.
    fn file(pattern: impl Pattern + 'static) -> Self {
        Self::File(Box::new(pattern))
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        match self {
            Self::File(pattern) => pattern.ranks(),
            Self::Exchange(trace) => trace.ranks(),
        }
    }

    /// Returns the pattern of accesses to a file; `wanted` names the option or command that needs one.
    ///
    /// # Errors
    /// The subject is an exchange, which writes no file.
    pub fn into_file(self, wanted: &str) -> Result<Box<dyn Pattern>, Failure> {
        match self {
            Self::File(pattern) => Ok(pattern),
            Self::Exchange(trace) => Err(Failure::new(format!(
                "{wanted}: {} is an exchange without a file; allowed: other patterns",
                trace.name()
            ))),
        }
    }
}

/// Function that makes the subject for a number of ranks.
type Make = Box<dyn Fn(Option<usize>) -> Result<Subject, Failure> + Send + Sync>;

/// Row of the registry: one pattern.
pub struct PatternSource {
    /// Name of the pattern on the command line; see [`Parameters`].
    pub name: &'static str,
    /// Application that writes the pattern; see [`Parameters`].
    pub code: &'static str,
    /// Publication of the pattern; see [`Parameters`].
    pub origin: &'static str,
    /// Closed forms of the pattern's counts; see [`Parameters`].
    pub formulas: &'static [(&'static str, &'static str)],
    /// Arguments of an example; see [`Parameters`].
    pub example: &'static str,
    /// Arguments of `trib-lab picture` for the pattern; see [`Parameters`].
    pub picture: &'static str,
    augment: fn(Command) -> Command,
    parse: fn(&ArgMatches) -> Result<Make, clap::Error>,
}

impl PatternSource {
    const fn from_parameters<P: Parameters>() -> Self {
        Self {
            name: P::NAME,
            code: P::CODE,
            origin: P::ORIGIN,
            formulas: P::FORMULAS,
            example: P::EXAMPLE,
            picture: P::PICTURE,
            augment: P::augment_args,
            parse: |matches| {
                let parameters = P::from_arg_matches(matches)?;
                Ok(Box::new(move |ranks| parameters.subject(ranks)))
            },
        }
    }

    /// Returns the pattern's description in one line, as help shows it.
    pub fn about(&self) -> String {
        self.command().get_about().map(ToString::to_string).unwrap_or_default()
    }

    /// Returns the pattern's subcommand of clap, with the pattern's own parameters.
    pub fn command(&self) -> Command {
        let footer = format!("Example:\n  trib replay {} {}", self.name, self.example);
        (self.augment)(Command::new(self.name).next_help_heading("Parameters"))
            .after_help(footer)
            .disable_help_flag(true)
    }
}

/// Pattern that was chosen on the command line, with its parameters.
pub struct Chosen {
    /// Row of the pattern in the registry.
    pub source: &'static PatternSource,
    make: Make,
}

impl Chosen {
    /// Returns the subject on `ranks` ranks (`None`: the pattern's own number).
    ///
    /// # Errors
    /// Parameters that are not possible, in one line.
    pub fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        if ranks == Some(0) {
            return Err(Failure::new("ranks: 0; allowed: 1 or more"));
        }
        limits::at_most("ranks", ranks.unwrap_or(1) as u64, limits::MOST_RANKS as u64)?;
        let subject = (self.make)(ranks)?;
        if let Subject::File(pattern) = &subject {
            limits::at_most("ranks", pattern.ranks() as u64, limits::MOST_RANKS as u64)?;
            limits::at_most("collective calls", pattern.steps() as u64, limits::MOST_TIMES)?;
            limits::at_most("requests", pattern.totals().requests, limits::MOST_MESSAGES)?;
        }
        Ok(subject)
    }
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches.subcommand().and_then(|(name, matches)| Some((find(name)?, matches)));
        let Some((source, matches)) = chosen else {
            let names: Vec<_> = SOURCES.iter().map(|source| source.name).collect();
            let missing = format!("no pattern is named; allowed: {}", names.join(", "));
            return Err(clap::Error::raw(clap::error::ErrorKind::MissingSubcommand, missing));
        };
        Ok(Self { source, make: (source.parse)(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Chosen {
    fn augment_subcommands(command: Command) -> Command {
        let command = command.subcommand_value_name("PATTERN").subcommand_help_heading("Patterns");
        SOURCES.iter().fold(command, |command, source| command.subcommand(source.command()))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        find(name).is_some()
    }
}

/// Returns the row of [`SOURCES`] for the pattern with this name.
pub fn find(name: &str) -> Option<&'static PatternSource> {
    SOURCES.iter().find(|source| source.name == name)
}
