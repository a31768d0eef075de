//! `trib-lab hosts`: runs any command on emulated hosts.

use super::Hosts;
use crate::cli::hosts::HostsOptions;
use trib::Failure;
use trib::launcher::child;

/// Runs the command, and ends this program with the command's exit code.
///
/// # Errors
/// Hosts cannot be made here; the command cannot be started.
pub fn run(options: &HostsOptions) -> Result<(), Failure> {
    super::plan::check_rate(options.shape.as_deref())?;
    let slots = options.ranks_per_host.or_else(|| Some(ranks_of(&options.command)?.div_ceil(options.hosts)));
    let hosts = Hosts::of(options.hosts, options.shape.clone(), options.queue, options.cores)?;
    let (mut command, slow_file) = hosts.slow_command(&options.command[0], slots.unwrap_or(1), &options.slow_file)?;
    command.args(&options.command[1..]);
    command.env("TRIB_HOSTS_COUNT", options.hosts.to_string());
    command.env("TRIB_HOSTS_AGENT", hosts.agent()).env("TRIB_HOSTS_DIRECTORY", hosts.directory());
    let status = child::run(&mut command)?;
    drop((slow_file, hosts));
    child::end_as(status)
}

/// Returns the number of ranks that the command line of a launcher asks for.
fn ranks_of(words: &[String]) -> Option<u64> {
    let number = words.iter().position(|word| ["-n", "-np", "--np"].contains(&word.as_str()))?;
    words.get(number + 1)?.parse().ok()
}
