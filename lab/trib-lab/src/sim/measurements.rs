//! Reads measurements of the all-to-many program from a CSV file.

use std::path::Path;

use trib::{Failure, limits};
use tributary::Topology;
use tributary::exchange::two_layer;
use tributary_lab::forecast::{AllToMany, AllToManyOptions};
use tributary_lab::sim::{self, Machine, Seconds};

use super::all_to_many::{check, way};

/// Machine of rows in a file that does not name one.
const MACHINE: &str = "cori-knl";

/// One measured run of the all-to-many program.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Name of the machine.
    pub machine: String,
    pub ranks_per_node: usize,
    pub ranks: usize,
    pub receivers: usize,
    /// Name of the kernel in Tributary.
    pub kernel: String,
    pub iterations: u32,
    /// Measured seconds from start to end.
    pub seconds: f64,
    /// Measured seconds of posting receives, if the file has them.
    pub posting: Option<f64>,
}

impl Measurement {
    /// Returns the number of messages between ranks.
    pub fn messages(&self) -> u64 {
        let [ranks, nodes] = [self.ranks, self.ranks.div_ceil(self.ranks_per_node)].map(|count| count as u64);
        let receivers = self.receivers as u64;
        let each = if self.kernel == two_layer::NAME { ranks + nodes * receivers } else { ranks * receivers };
        each * u64::from(self.iterations)
    }

    /// Returns the simulated times of this run.
    pub fn simulated(&self, machine: &Machine) -> Result<Seconds, Failure> {
        let topology = Topology::blocks(self.ranks, self.ranks_per_node)?;
        let options = AllToManyOptions {
            topology: topology.clone(),
            receivers: self.receivers,
            way: way(&self.kernel, 1)?,
            throttle: None,
            iterations: self.iterations,
            bytes: (32, 256),
        };
        Ok(sim::run(machine, &topology, &AllToMany::new(options)?, 0, |_| ())?.seconds())
    }
}

/// Reads the rows of a file.
pub fn read(path: &Path) -> Result<Vec<Measurement>, Failure> {
    let text = trib::text::read(path).map_err(|cause| Failure::new(format!("{}: {cause}", path.display())))?;
    parse(&text).map_err(|(line, what)| Failure::new(format!("{}: line {line}: {what}", path.display())))
}

fn parse(text: &str) -> Result<Vec<Measurement>, (usize, String)> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.split(',').collect::<Vec<_>>()));
    let (_, header) = lines.next().ok_or((1, "a header is missing".to_string()))?;
    let column =
        |name: &str| header.iter().position(|column| *column == name).ok_or((1, format!("column {name} is missing")));
    let [per_node, ranks, receivers, iterations, end] =
        ["ranks_per_node", "ranks", "receivers", "iterations", "end_to_end_s"].map(column);
    let (per_node, ranks, receivers, iterations, end) = (per_node?, ranks?, receivers?, iterations?, end?);
    let kernel = column("kernel")?;
    let machine = column("machine").ok();
    let posting = column("post_irecv_s").ok();
    let row = |(line, cells): (usize, Vec<&str>)| {
        let cell = |at: usize| cells.get(at).copied().unwrap_or("");
        let bad = |at: usize| (line, format!("{}: `{}`; allowed: a number above 0", header[at], cell(at)));
        let whole = |at: usize| cell(at).parse::<u32>().ok().filter(|&number| number > 0).ok_or_else(|| bad(at));
        let time = |at: usize| cell(at).parse::<f64>().ok().filter(|&seconds| seconds > 0.0 && seconds.is_finite());
        let seconds = time(end).ok_or_else(|| bad(end))?;
        let kernel = match cell(kernel) {
            "isend" => "ascending_isend",
            "issend" => "ascending_issend",
            other => other,
        };
        let row = Measurement {
            machine: machine.map_or(MACHINE, cell).to_string(),
            ranks_per_node: whole(per_node)? as usize,
            ranks: whole(ranks)? as usize,
            receivers: whole(receivers)? as usize,
            kernel: kernel.to_string(),
            iterations: whole(iterations)?,
            seconds,
            posting: posting.and_then(time),
        };
        limits::at_most("ranks", row.ranks as u64, limits::MOST_RANKS as u64)
            .and_then(|()| check(row.ranks, row.receivers, row.iterations))
            .map_err(|failure| (line, failure.to_string()))?;
        Ok(row)
    };
    lines.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "machine,ranks_per_node,ranks,receivers,kernel,iterations,end_to_end_s\n";

    #[test]
    fn good_and_bad_rows() {
        let rows = parse(&format!("{HEADER}cori-knl,64,512,8,isend,2,0.0829\n")).unwrap();
        let expected = Measurement {
            machine: MACHINE.to_string(),
            ranks_per_node: 64,
            ranks: 512,
            receivers: 8,
            kernel: "ascending_isend".to_string(),
            iterations: 2,
            seconds: 0.0829,
            posting: None,
        };
        assert_eq!(rows, [expected]);
        let bad = parse(&format!("{HEADER}cori-knl,64,512,8,isend,0,0.0829\n")).unwrap_err();
        assert_eq!(bad, (2, "iterations: `0`; allowed: a number above 0".to_string()));
        assert_eq!(parse("machine,ranks\n").unwrap_err(), (1, "column ranks_per_node is missing".to_string()));
    }
}
