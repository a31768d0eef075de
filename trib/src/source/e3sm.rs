//! Patterns of E3SM-IO: the cases F, G and I.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tributary_benchmarks::E3sm;
use tributary_benchmarks::e3sm::{Content, E3smCase, ElementType, History, Options};

use super::{Parameters, Subject};
use crate::Failure;

/// Element type of the fields.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Element {
    /// 8 bytes, E3SM-IO's default.
    Double,
    /// 4 bytes, as in the paper.
    Float,
}

/// A history file.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HistoryFile {
    /// The first.
    H0,
    /// The second.
    H1,
}

// Parameters that all cases share. (No doc comment: it would replace each case's own.)
#[derive(Args)]
struct Decomposed {
    /// Decomposition map (NetCDF classic). Without it: a small map of 16 ranks that is built in or, for any other
    /// number of ranks, generated decompositions.
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Run a map on another number of ranks than it was made for: each rank takes several parts, or none.
    #[arg(long)]
    fold: bool,
    /// Records, each appended by a collective call of its own; the first call also writes the fixed-size variables.
    #[arg(long, value_name = "N", default_value_t = 1)]
    records: usize,
}

impl Decomposed {
    fn subject(
        &self,
        case: E3smCase,
        history: HistoryFile,
        element: Element,
        ranks: Option<usize>,
    ) -> Result<Subject, Failure> {
        let element = match element {
            Element::Double => ElementType::Double,
            Element::Float => ElementType::Float,
        };
        let history = match history {
            HistoryFile::H0 => History::H0,
            HistoryFile::H1 => History::H1,
        };
        let content = Content { case, history, element, records: self.records };
        let opened = E3sm::open(&Options { content, map: self.map.as_deref(), ranks, fold: self.fold });
        let opened = opened.map_err(|error| match error.to_string() {
            said if said.contains("NetCDF") => {
                Failure::new(format!("{said}; name a decomposition map of E3SM-IO, or leave --map out"))
            }
            _ => error.into(),
        });
        Ok(Subject::file(opened?))
    }
}

/// E3SM-IO, F case (atmosphere): 414 variables by map, all-to-many for metadata and data
#[derive(Args)]
pub struct F {
    #[command(flatten)]
    decomposed: Decomposed,
    /// History file: h0 has 414 variables, h1 51.
    #[arg(long, value_enum, default_value = "h0", value_name = "FILE")]
    history: HistoryFile,
    /// Element type of the climate variables.
    #[arg(long = "type", value_enum, default_value = "double", value_name = "TYPE")]
    element: Element,
}

/// E3SM-IO, G case (ocean): 52 variables by 6 decompositions, long runs
#[derive(Args)]
pub struct G {
    #[command(flatten)]
    decomposed: Decomposed,
}

/// E3SM-IO, I case (land): 560 variables by 5 decompositions of a grid of which only land is written
#[derive(Args)]
pub struct I {
    #[command(flatten)]
    decomposed: Decomposed,
    /// History file: h1 is almost h0 again.
    #[arg(long, value_enum, default_value = "h0", value_name = "FILE")]
    history: HistoryFile,
    /// Element type of the fields.
    #[arg(long = "type", value_enum, default_value = "double", value_name = "TYPE")]
    element: Element,
}

const ORIGIN: &str = "\
E3SM-IO (https://github.com/Parallel-NetCDF/E3SM-IO): the cases' variables are its source's, maps of runs on 16 ranks are in \
its folder datasets";
const MET: [(&str, &str); 2] = [
    ("metadata fan-in", "p: every rank sends metadata to every aggregator"),
    ("data fan-in", "p in every round, as an upper bound; the maps of real runs reach it in the F case"),
];

impl Parameters for F {
    const NAME: &'static str = "e3sm-f";
    const CODE: &'static str = "\
The atmosphere component of the E3SM climate model writes its history file: 414 variables, 387 of them decomposed by a map \
into short runs of columns that are spread over the whole array, so that every rank writes a little of every variable. One \
collective call a record takes millions of requests, a few elements each: all-to-many for metadata and for data.";
    const ORIGIN: &'static str = ORIGIN;
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "4859 n2 + n1 + 27 for a map with n1 and n2 runs in D1 and D2 (history file h0, one record)"),
        ("bytes", "4860 ncol elements, and the 27 small variables of rank 0 (history file h0, one record)"),
        MET[0],
        MET[1],
    ];
    const EXAMPLE: &'static str = "--map map_f_case_16p.nc --verify";
    const PICTURE: &'static str = "--from 111160 --bytes 5120 --row 640 --stripe 1280";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        self.decomposed.subject(E3smCase::F, self.history, self.element, ranks)
    }
}

impl Parameters for G {
    const NAME: &'static str = "e3sm-g";
    const CODE: &'static str = "\
The ocean component of the E3SM climate model (MPAS): 41 of its 52 variables are decomposed by 6 maps over cells, edges and \
vertices and their levels. The levels of a cell adjoin in the file, so runs are long: about 90 elements in the map of 16 \
ranks.";
    const ORIGIN: &'static str = ORIGIN;
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "the sum over all variables of the runs in their decomposition, and a request for each other one"),
        ("bytes", "the sum over all variables of their elements"),
        MET[0],
        MET[1],
    ];
    const EXAMPLE: &'static str = "--map map_g_case_16p.nc --records 2 --verify";
    const PICTURE: &'static str = "--from 178896 --bytes 115200 --row 12800 --stripe 25600";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        self.decomposed.subject(E3smCase::G, HistoryFile::H0, Element::Double, ranks)
    }
}

impl Parameters for I {
    const NAME: &'static str = "e3sm-i";
    const CODE: &'static str = "\
The land component of the E3SM climate model: 560 variables, 546 of them decomposed by 5 maps of a grid in latitude and \
longitude and its levels. Only cells with land are written; what nobody writes is a hole of the file, or, with --format \
netcdf, as its writer leaves it. A map is given by its user.";
    const ORIGIN: &'static str = ORIGIN;
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "the sum over all variables of the runs in their decomposition, and a request for each other one"),
        ("bytes", "the sum over all variables of the elements that a rank owns"),
        MET[0],
        MET[1],
    ];
    const EXAMPLE: &'static str = "--ranks 16 --records 2 --verify";
    const PICTURE: &'static str = "--from 310608 --bytes 2304 --row 384 --stripe 768";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        self.decomposed.subject(E3smCase::I, self.history, self.element, ranks)
    }
}
