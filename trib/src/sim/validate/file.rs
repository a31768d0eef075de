//! The fitted machine as a machine file.

use std::fmt::Write;

use tributary::sim::Machine;
use tributary::sim::figures::Origin;

/// Figures of the machine that were fitted or set, by path: value and unit.
fn found(machine: &Machine) -> Vec<(String, f64, &'static str)> {
    let (host, us, ns) = (&machine.host, 1e-6, 1e-3);
    let mut found = vec![
        ("host.send".to_string(), host.send * us, "us"),
        ("host.post_receive".to_string(), host.post_receive * us, "us"),
        ("host.receive".to_string(), host.receive * us, "us"),
        ("host.send_byte".to_string(), host.send_byte * ns, "ns/B"),
        ("host.receive_byte".to_string(), host.receive_byte * ns, "ns/B"),
    ];
    for (path, name) in machine.paths.iter().zip(["socket", "node", "network"]) {
        for (line, protocol) in [(path.short, "short"), (path.eager, "eager"), (path.rendezvous, "rendezvous")] {
            found.push((format!("path.{name}.{protocol}.latency"), line.latency * us, "us"));
            found.push((format!("path.{name}.{protocol}.byte"), line.byte * ns, "ns/B"));
        }
    }
    found
}

/// The text of the file: what was fitted says so, the rest as it was. Three digits.
pub fn text(machine: &Machine, fabric: &str) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let found = found(machine);
    for (path, figure) in &machine.figures {
        let line = match found.iter().find(|(name, ..)| name == path) {
            Some((_, value, unit)) if *value == 0.0 => {
                format!("{{ value = 0, unit = \"{unit}\", assumed = \"the hosts move the bytes\" }}")
            }
            Some((_, value, unit)) => {
                let value: f64 = format!("{value:.2e}").parse().unwrap_or(*value);
                format!("{{ value = {value}, unit = \"{unit}\", fitted = \"trib sim validate, {fabric}\" }}")
            }
            None => {
                let origin = match figure.origin {
                    Origin::Quoted => "quoted",
                    Origin::Fitted => "fitted",
                    Origin::Assumed => "assumed",
                };
                format!("{{ value = {}, unit = {:?}, {origin} = {:?} }}", figure.value, figure.unit, figure.note)
            }
        };
        rows.push((path, line));
    }
    // Tables after what is in none.
    rows.sort_by_key(|(path, _)| path.rsplit_once('.').map_or("", |(table, _)| table));
    let mut text = format!("about = {:?}\n", machine.about);
    let mut now = "";
    for (path, line) in rows {
        let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
        if table != now {
            // Writing to a string does not fail.
            let _ = writeln!(text, "\n[{table}]");
            now = table;
        }
        let _ = writeln!(text, "{key} = {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machines::machine;

    #[test]
    fn is_read_as_it_was_written() {
        let mut laptop = machine("laptop").unwrap();
        laptop.host.send = 1.2345e6;
        laptop.paths[1].short.latency = 7.0e6;
        let read = Machine::parse("again", &text(&laptop, "threads")).unwrap();
        assert_eq!(read.host.send, 1.23e6);
        assert_eq!(read.paths[1].short.latency, 7.0e6);
        assert_eq!((read.eager_limit, read.host.walk, read.node), (laptop.eager_limit, laptop.host.walk, laptop.node));
        assert_eq!(read.figures["host.send"].note, "trib sim validate, threads");
        assert_eq!(read.figures.keys().collect::<Vec<_>>(), laptop.figures.keys().collect::<Vec<_>>());
    }
}
