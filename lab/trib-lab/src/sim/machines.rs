//! `trib-lab sim machines`: prints the simulator's machines.

use crate::machines::machine;
use trib::{Failure, listing, say};
use tributary_lab::machines::MACHINES;
use tributary_lab::sim::Machine;
use tributary_lab::sim::figures::Origin;

use crate::cli::sim::MachinesOptions;

/// Prints all machines, or one.
pub fn run(options: &MachinesOptions) -> Result<(), Failure> {
    match &options.machine {
        Some(name) => one(&machine(name)?, options.json),
        None => all(options.json),
    }
}

fn all(json: bool) -> Result<(), Failure> {
    let machines = MACHINES.iter().map(|(name, text)| Machine::parse(name, text)).collect::<Result<Vec<_>, _>>()?;
    if json {
        let rows: Vec<_> = machines.iter().map(object).collect();
        return say(serde_json::to_string_pretty(&rows)?);
    }
    let mut table = listing::table(["machine", "what", "ranks per node", "quoted", "fitted", "assumed"]);
    for machine in &machines {
        let count = |origin| machine.figures.values().filter(|figure| figure.origin == origin).count().to_string();
        let [quoted, fitted, assumed] = [Origin::Quoted, Origin::Fitted, Origin::Assumed].map(count);
        let ranks = machine.ranks_per_node.to_string();
        table.add_row([&machine.name, &machine.about, &ranks, &quoted, &fitted, &assumed]);
    }
    say(format!("{table}\nquoted, fitted, assumed: numbers of parameters by source."))
}

fn one(machine: &Machine, json: bool) -> Result<(), Failure> {
    if json {
        return say(serde_json::to_string_pretty(&object(machine))?);
    }
    let mut table = listing::table(["what", "value", "unit", "origin", "source"]);
    for (path, figure) in &machine.figures {
        let origin = format!("{:?}", figure.origin).to_lowercase();
        table.add_row([path, &figure.value.to_string(), &figure.unit, &origin, &figure.note]);
    }
    say(format!("{}: {}\n{table}", machine.name, machine.about))
}

fn object(machine: &Machine) -> serde_json::Value {
    serde_json::json!({ "name": machine.name, "about": machine.about, "figures": machine.figures })
}
