//! Which pattern a replay is of.

use tributary_benchmarks::{E3smF, ElementType, GeneratorOptions, Pattern};

use crate::Failure;
use crate::cli::{Element, PatternName, ReplayOptions};

/// Ranks of the built-in map.
const SHIPPED: usize = 16;

/// The pattern for `ranks` ranks (`None`: as many as it is made for).
pub fn pattern(options: &ReplayOptions, ranks: Option<usize>) -> Result<Box<dyn Pattern>, Failure> {
    let PatternName::E3smF = options.pattern;
    if ranks == Some(0) {
        return Err(Failure::new("ranks: 0; allowed: 1 or more"));
    }
    let element = match options.element {
        Element::Double => ElementType::Double,
        Element::Float => ElementType::Float,
    };
    let case = match (&options.map, ranks) {
        (Some(map), _) => E3smF::from_map_file(map, element)?,
        (None, None | Some(SHIPPED)) => E3smF::shipped_as(element)?,
        (None, Some(_)) if options.fold => E3smF::shipped_as(element)?,
        (None, Some(ranks)) => E3smF::generated(ranks, GeneratorOptions::default(), element)?,
    };
    Ok(Box::new(match ranks {
        Some(ranks) => case.with_ranks(ranks, options.fold)?,
        None => case,
    }))
}
