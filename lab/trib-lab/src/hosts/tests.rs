use std::net::Ipv4Addr;

use clap::Parser;

use super::plan::{self, HostsPlan};
use super::{RunPlace, check, check_shape};
use crate::cli::compare::{CompareOptions, MeasureOptions};
use trib::launcher::Family;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: CompareOptions,
}

fn measure(words: &str) -> MeasureOptions {
    Line::try_parse_from(["trib"].into_iter().chain(words.split(' '))).unwrap().options.measure
}

fn said(words: &str) -> String {
    let measure = measure(words);
    check(&measure).and_then(|()| check_shape(&measure)).err().map_or(String::new(), |failure| failure.to_string())
}

#[test]
fn hosts_that_cannot_be_are_refused_in_a_line() {
    assert_eq!(said("--hosts 4 --ranks 16,6"), "hosts: 4 with 6 ranks; allowed: hosts that divide --ranks");
    assert_eq!(said("--hosts 2 --ranks 2,16"), "");
    let own = said("--hosts 2 --ranks 2 --directory /dev/shm/x");
    assert!(own.starts_with("directory: /dev/shm/x: every host has a /dev/shm of its own"), "{own}");
    let here = |path: &str| plan::shared("current directory", path.as_ref()).map_err(|failure| failure.to_string());
    assert_eq!(here("/tmp"), Ok(()));
    assert_eq!(
        here("/dev/shm/x").unwrap_err(),
        "current directory: /dev/shm/x: every host has a /dev/shm of its own; allowed: others"
    );
    for bad in
        ["--hosts 0", "--cores 1", "--hosts 2 --ranks 2 --cores 0", "--shape 1gbit", "--hosts 2 --ranks-per-host 2"]
    {
        assert!(Line::try_parse_from(["trib"].into_iter().chain(bad.split(' '))).is_err(), "{bad}");
    }
}

#[test]
fn rates_are_numbers_with_units() {
    for good in ["1gbit", "100mbit", "2.5gbit", "1000bit", "10mbps", "3kibit"] {
        assert_eq!(said(&format!("--hosts 2 --ranks 2 --shape {good}")), "", "{good}");
    }
    for bad in ["fast", "1", "0gbit", "-1gbit", "gbit", "1gbyte", "1.2.3gbit", "infbit", "1gbit;reboot"] {
        let said = said(&format!("--hosts 2 --ranks 2 --shape={bad}"));
        assert!(said.starts_with(&format!("shape: {bad}; allowed: a rate")), "{bad}: {said}");
    }
}

#[test]
fn every_host_has_a_name_and_an_address() {
    let plan = HostsPlan { hosts: 600, shape: None, queue: 20, cores: None };
    let addresses: std::collections::HashSet<Ipv4Addr> = (0..600).map(|host| plan.address(host)).collect();
    assert_eq!(addresses.len(), 600);
    assert!(addresses.iter().all(|address| ![0, 255].contains(&address.octets()[3])));
    let text = HostsPlan { hosts: 2, shape: None, queue: 20, cores: None }.names_and_addresses();
    assert_eq!(text, "127.0.0.1 localhost\n10.88.0.1 trib-host0\n10.88.0.2 trib-host1\n");
}

#[test]
fn launchers_get_ranks_in_blocks() {
    let plan = HostsPlan { hosts: 2, shape: None, queue: 20, cores: None };
    assert_eq!(plan.list(Family::Mpich, 4), "trib-host0:4\ntrib-host1:4\n");
    assert_eq!(plan.list(Family::OpenMpi, 1), "trib-host0 slots=1\ntrib-host1 slots=1\n");
}

#[test]
fn the_agent_knows_the_hosts_and_no_others() {
    let agent = HostsPlan { hosts: 2, shape: None, queue: 20, cores: None }
        .agent(&[(7, "/dev/null".into()), (8, "/a/b".into())]);
    for due in ["trib-host0) pid=7 group='/dev/null' ;;\n", "trib-host1) pid=8 group='/a/b' ;;\n", "no such host"] {
        assert!(agent.contains(due), "{due}: {agent}");
    }
}

#[test]
fn places_tell_how_many_hosts_they_are() {
    let hosts = |place: &RunPlace| (place.hosts(16), place.pretended(16));
    assert_eq!(hosts(&RunPlace::Here), (1, None));
    assert_eq!(hosts(&RunPlace::Pretended(4)), (4, Some(4)));
    assert_eq!(hosts(&RunPlace::Pretended(5)), (4, Some(5)));
    assert_eq!(hosts(&RunPlace::PretendedHosts(2)), (2, Some(8)));
}
