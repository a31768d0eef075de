//! Prints which ranks are aggregators, and which bytes of a file each owns, for programs that exchange data in their
//! own way.
//!
//! `domains FILE RANKS RANKS_PER_NODE START END` creates the file if it does not exist, and does not change its
//! contents.

use std::error::Error;
use std::path::Path;

use tributary_drivers::{DriverHints, DriverName, SystemFiles, Topology, Written, create, driver};

const USAGE: &str = "domains FILE RANKS RANKS_PER_NODE START END, with START below END, in bytes";

/// Maximum number of pieces that are shown.
const MOST: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    print!("{}", shown(&arguments)?);
    Ok(())
}

fn shown(arguments: &[String]) -> Result<String, Box<dyn Error>> {
    let [path, ranks, per_node, start, end] = arguments else { return Err(USAGE.into()) };
    let topology = Topology::blocks(ranks.parse()?, per_node.parse()?)?;
    let (start, end): (u64, u64) = (start.parse()?, end.parse()?);
    if start >= end {
        return Err(USAGE.into());
    }
    domains(Path::new(path), &topology, start, end)
}

fn domains(path: &Path, topology: &Topology, start: u64, end: u64) -> Result<String, Box<dyn Error>> {
    let hints = DriverHints::default();
    // In a program, one rank does this, and sends name and layout to the others.
    let name = DriverName::Auto.resolved(&SystemFiles, path);
    let driver = driver(name, path);
    let file = create(&SystemFiles, path, &hints)?;
    let layout = driver.layout(&SystemFiles, path, &*file, &hints)?;
    // The rest is arithmetic, the same on every rank.
    let aggregators = driver.aggregators(topology, &layout, &hints)?;
    let written = Written { start, end, bytes: end - start, histogram: &[end - start] };
    let domains = driver.domains(&layout, aggregators.len(), written, &hints);

    let mut text = format!("{}: driver {name}, {layout:?}, aggregators {aggregators:?}\n", path.display());
    let mut offset = start;
    for _ in 0..MOST {
        let (owner, until) = domains.owner(offset);
        text += &format!("{offset:>16} .. {:<16} rank {}\n", until.min(end), aggregators[owner]);
        offset = until;
        if offset >= end {
            return Ok(text);
        }
    }
    Ok(text + "...\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_an_owner() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file").display().to_string();
        let arguments = |ranks: &str| [&path, ranks, "2", "0", "1048576"].map(str::to_string);
        let text = shown(&arguments("4")).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].ends_with("aggregators [0, 2]"), "{text}");
        assert!(lines[1].trim_start().starts_with("0 .. "), "{text}");
        assert!(lines[lines.len() - 1].contains(".. 1048576 "), "{text}");
        assert!(shown(&arguments("0")).unwrap_err().to_string().contains("ranks: 0"));
        assert_eq!(shown(&[]).unwrap_err().to_string(), USAGE);
    }
}
