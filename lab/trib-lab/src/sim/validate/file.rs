//! Writes the fitted machine as a machine file.

use tributary_lab::sim::Machine;

/// Returns the machine's parameters that were fitted or set: path, value and unit.
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

/// Returns the text of `before`, a machine file with one parameter per line, with the fitted parameters replaced by
/// this machine's, in three digits.
pub fn text(machine: &Machine, before: &str, fabric: &str) -> String {
    let found = found(machine);
    let mut table = "";
    let mut text = String::new();
    for line in before.lines() {
        if let Some(name) = line.strip_prefix('[') {
            table = name.trim_end_matches(']');
        }
        let key = line.split(" = ").next().unwrap_or("");
        let path = format!("{table}.{key}");
        match found.iter().find(|(name, ..)| *name == path) {
            Some((_, value, unit)) => text.push_str(&format!("{key} = {}", figure(*value, unit, fabric))),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

fn figure(value: f64, unit: &str, fabric: &str) -> String {
    if value == 0.0 {
        return format!("{{ value = 0, unit = \"{unit}\", assumed = \"the hosts move the bytes\" }}");
    }
    let value: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    format!("{{ value = {value}, unit = \"{unit}\", fitted = \"trib-lab sim validate, {fabric}\" }}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tributary_lab::machines::{MACHINES, named};

    #[test]
    fn a_written_file_is_read_back() {
        let (_, before) = MACHINES.iter().find(|(name, _)| *name == "laptop").unwrap();
        let mut laptop = named("laptop").unwrap();
        laptop.host.send = 1.2345e6;
        laptop.paths[1].short.latency = 7.0e6;
        let read = Machine::parse("laptop", &text(&laptop, before, "threads")).unwrap();
        assert_eq!(read.host.send, 1.23e6);
        assert_eq!(read.paths[1].short.latency, 7.0e6);
        assert_eq!(read.figures["host.send"].note, "trib-lab sim validate, threads");
        assert_eq!(read.figures.keys().collect::<Vec<_>>(), laptop.figures.keys().collect::<Vec<_>>());
        let unfitted = |machine: &Machine| (machine.eager_limit, machine.host.walk, machine.node, machine.noise);
        assert_eq!(unfitted(&read), unfitted(&laptop));
    }
}
