//! Tests the built-in machine files, and files with errors.

use tributary_lab::machines::MACHINES;
use tributary_lab::sim::Machine;

#[test]
fn all_are_read() {
    for (name, text) in MACHINES {
        let machine = Machine::parse(name, text).unwrap();
        assert!(machine.figures.len() >= 40, "{name}: {}", machine.figures.len());
    }
}

#[test]
fn every_file_is_built_in() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/machines");
    assert_eq!(std::fs::read_dir(directory).unwrap().count(), MACHINES.len());
}

/// Checks the errors of a good file with one line replaced.
#[test]
fn what_is_wrong_is_one_line() {
    let (_, text) = MACHINES[0];
    let line = text.lines().find(|line| line.starts_with("send = ")).unwrap();
    let with = |other: &str| {
        let error = Machine::parse("mine", &text.replacen(line, other, 1)).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    assert_eq!(with(""), "machine mine: host.send: missing; allowed: a figure");
    let negative = with("send = { value = -3, unit = \"us\", assumed = \"x\" }");
    assert_eq!(negative, "machine mine: host.send: -3 us; allowed: 0 or more");
    let unit = with("send = { value = 3, unit = \"furlong\", assumed = \"x\" }");
    assert_eq!(unit, "machine mine: host.send.unit: furlong; allowed: ps|ns|us|ms|s");
    assert!(with("send = { value = 3, unit = \"us\" }").contains("quoted|fitted|assumed"));
    assert!(with("send = 3").contains("host.send: 3; allowed: { value = NUMBER"));
    assert!(
        with(&format!("{line}\nsand = {{ value = 3, unit = \"us\", assumed = \"x\" }}"))
            .contains("host.sand: unknown key")
    );
    assert!(with("send = ").starts_with("machine mine: line "));
    let rate = text.replace("eject_byte = { value = 10,", "eject_byte = { value = 0,");
    let error = Machine::parse("mine", &rate).unwrap_err().to_string();
    assert_eq!(error, "machine mine: node.eject_byte: 0; allowed: a rate above 0");
}

/// Checks the errors of a good file with wrong links.
#[test]
fn wrong_links_are_one_line() {
    let text = |name: &str| MACHINES.iter().find(|(other, _)| *other == name).unwrap().1;
    let error = |text: &str| Machine::parse("mine", text).unwrap_err().to_string();
    let (cori, summit) = (text("cori-knl"), text("summit"));
    let kind = error(&cori.replace("\"dragonfly\"", "\"torus\""));
    assert_eq!(kind, "machine mine: links.kind: torus; allowed: dragonfly|fat-tree");
    assert!(error(&cori.replace("between =", "betwixt =")).contains("links.between: missing"));
    let routers = error(&cori.replace("routers = { value = 96", "routers = { value = 0"));
    assert_eq!(routers, "machine mine: links.routers: 0; allowed: a whole number, 1 or more");
    let odd = error(&summit.replace("radix = { value = 36", "radix = { value = 35"));
    assert_eq!(odd, "machine mine: links.radix: 35; allowed: an even number");
    let many = error(&summit.replace("levels = { value = 3", "levels = { value = 30"));
    assert_eq!(many, "machine mine: links: too many; allowed: 268435456 at most");
    assert!(!Machine::parse("mine", cori).unwrap().hold_links);
}
