//! Makes the network of the hosts: a bridge, and a link of each host to it, shaped at both ends.

use super::holder::Holder;
use super::plan::{HostsPlan, PREFIX};
use trib::Failure;

/// Name of the bridge, in the namespace of the switch.
const BRIDGE: &str = "bridge0";
/// Number of bytes that a link sends at once, as in tc's manual for about these rates.
const BURST: &str = "64kb";
/// Default number of milliseconds that bytes wait at a link at most, as in tc's manual; more bytes are dropped.
pub const QUEUE: u64 = 20;

/// Connects the hosts to the bridge.
///
/// # Errors
/// A command fails: among them tc's, if it refuses the rate.
pub fn join(plan: &HostsPlan, switch: &Holder, hosts: &[Holder]) -> Result<(), Failure> {
    run(switch, &format!("ip link add {BRIDGE} type bridge"))?;
    run(switch, &format!("ip link set {BRIDGE} up"))?;
    for (number, host) in hosts.iter().enumerate() {
        let port = format!("port{number}");
        run(switch, &format!("ip link add {port} type veth peer name eth0 netns {}", host.pid()))?;
        run(switch, &format!("ip link set {port} master {BRIDGE} up"))?;
        run(host, &format!("ip address add {}/{PREFIX} dev eth0", plan.address(number as u64)))?;
        run(host, "ip link set eth0 up")?;
        if let Some(rate) = &plan.shape {
            shape((rate, plan.queue), switch, &port)?;
            shape((rate, plan.queue), host, "eth0")?;
        }
    }
    Ok(())
}

/// Limits the rate at which a link sends at this end, with a queue of some milliseconds.
fn shape((rate, queue): (&str, u64), at: &Holder, link: &str) -> Result<(), Failure> {
    let command = format!("tc qdisc add dev {link} root tbf rate {rate} burst {BURST} latency {queue}ms");
    run(at, &command)
        .map_err(|failure| Failure::new(format!("shape: {rate}: {failure}; allowed: a rate that tc takes")))
}

fn run(at: &Holder, words: &str) -> Result<(), Failure> {
    let output = at.enter().args(words.split(' ')).output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = said.lines().next().unwrap_or("fails");
    if output.status.success() { Ok(()) } else { Err(Failure::new(format!("{words}: {why}"))) }
}
