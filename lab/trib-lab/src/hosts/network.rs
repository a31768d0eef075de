//! Makes the network of the hosts: a bridge, and a link of each host to it, shaped at both ends.

use super::holder::Holder;
use super::plan::{PREFIX, Plan};
use trib::Failure;

/// Name of the bridge, in the namespace of the switch.
const BRIDGE: &str = "bridge0";
/// Number of bytes that a link sends at once, and how long others may wait, as in tc's manual for about these rates.
const BURST: &str = "64kb";
const LATENCY: &str = "20ms";

/// Connects the hosts to the bridge.
///
/// # Errors
/// A command fails: among them tc's, if it refuses the rate.
pub fn join(plan: &Plan, switch: &Holder, hosts: &[Holder]) -> Result<(), Failure> {
    run(switch, &format!("ip link add {BRIDGE} type bridge"))?;
    run(switch, &format!("ip link set {BRIDGE} up"))?;
    for (number, host) in hosts.iter().enumerate() {
        let port = format!("port{number}");
        run(switch, &format!("ip link add {port} type veth peer name eth0 netns {}", host.pid()))?;
        run(switch, &format!("ip link set {port} master {BRIDGE} up"))?;
        run(host, &format!("ip address add {}/{PREFIX} dev eth0", plan.address(number as u64)))?;
        run(host, "ip link set eth0 up")?;
        if let Some(rate) = &plan.shape {
            shape(rate, switch, &port)?;
            shape(rate, host, "eth0")?;
        }
    }
    Ok(())
}

/// Limits the rate at which a link sends at this end.
fn shape(rate: &str, at: &Holder, link: &str) -> Result<(), Failure> {
    let command = format!("tc qdisc add dev {link} root tbf rate {rate} burst {BURST} latency {LATENCY}");
    run(at, &command)
        .map_err(|failure| Failure::new(format!("shape: {rate}: {failure}; allowed: a rate that tc takes")))
}

fn run(at: &Holder, words: &str) -> Result<(), Failure> {
    let output = at.enter().args(words.split(' ')).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = said.lines().next().unwrap_or("fails");
    if output.status.success() { Ok(()) } else { Err(Failure::new(format!("{words}: {why}"))) }
}
