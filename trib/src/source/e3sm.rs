//! The cases of E3SM-IO.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tributary_benchmarks::{E3smF, ElementType, GeneratorOptions};

use super::{Parameters, Subject};
use crate::Failure;

/// Ranks of the built-in map.
const SHIPPED: usize = 16;

/// Element type of the climate variables.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Element {
    /// 8 bytes, E3SM-IO's default.
    Double,
    /// 4 bytes, as in the paper.
    Float,
}

/// E3SM-IO, F case (atmosphere): 414 variables by map, all-to-many for metadata and data
#[derive(Args)]
pub struct F {
    /// Decomposition map (NetCDF classic). Without it: a small map of 16 ranks that is built in or, for any other number
    /// of ranks, generated decompositions.
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Run a map on another number of ranks than it was made for: ranks take several (or no) parts each.
    #[arg(long)]
    fold: bool,
    /// Element type of the climate variables.
    #[arg(long = "type", value_enum, default_value = "double", value_name = "TYPE")]
    element: Element,
}

impl Parameters for F {
    const NAME: &'static str = "e3sm-f";
    const CODE: &'static str = "\
The atmosphere component of the E3SM climate model writes its history file: 414 variables, 387 of them decomposed by a map \
into short runs of columns that are spread over the whole array, so that every rank writes a little of every variable. One \
collective call a record takes millions of requests, a few elements each: all-to-many for metadata and for data.";
    const ORIGIN: &'static str = "\
E3SM-IO (https://github.com/Parallel-NetCDF/E3SM-IO), the F case; maps of real runs are in its folder datasets";
    const FORMULAS: &'static [(&'static str, &'static str)] = &[
        ("requests", "4859 n2 + n1 + 27 for a map with n1 and n2 entries in D1 and D2 (history file h0)"),
        ("bytes", "4860 ncol elements, and 27 small variables of rank 0"),
        ("metadata fan-in", "p, every aggregator is told by every rank"),
        ("data fan-in", "p, in every round (an upper bound; real maps reach it)"),
    ];
    const EXAMPLE: &'static str = "--map map_f_case_16p.nc --verify";
    const PICTURE: &'static str = "--from 124156 --bytes 25600 --row 2560 --stripe 5120";

    fn subject(&self, ranks: Option<usize>) -> Result<Subject, Failure> {
        let element = match self.element {
            Element::Double => ElementType::Double,
            Element::Float => ElementType::Float,
        };
        let case = match (&self.map, ranks) {
            (Some(map), _) => E3smF::from_map_file(map, element)?,
            (None, None | Some(SHIPPED)) => E3smF::shipped_as(element)?,
            (None, Some(_)) if self.fold => E3smF::shipped_as(element)?,
            (None, Some(ranks)) => E3smF::generated(ranks, GeneratorOptions::default(), element)?,
        };
        Ok(Subject::file(match ranks {
            Some(ranks) => case.with_ranks(ranks, self.fold)?,
            None => case,
        }))
    }
}
