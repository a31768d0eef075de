//! Finds machines of the simulator by name, and checks the memory that a simulation may need.

use tributary::hints::similar;
use tributary_lab::machines::{MACHINES, named};
use tributary_lab::sim::Machine;

use trib::parallel::processors;
use trib::{Failure, limits, text};

/// Number of bytes for each message under way, with its event and its queue entry.
const MESSAGE: u64 = 120;
/// Number of bytes for each rank.
const RANK: u64 = 260;

/// Returns the machine of this name or in this file: a machine of the simulator, or a file that `trib-lab tune machine`
/// wrote, which has no file servers.
///
/// # Errors
/// There is no such machine; the file is not a machine file.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    if MACHINES.iter().any(|(known, _)| *known == name) {
        return Ok(named(name)?);
    }
    let text = text::read(name.as_ref()).map_err(|cause| {
        // A name is no path.
        let why = if name.contains(['/', '.']) { format!("{name}: {cause}") } else { name.to_string() };
        let names = MACHINES.map(|(name, _)| name);
        let next = match similar(name, names).or(names.into_iter().find(|known| known.starts_with(name))) {
            Some(near) => format!("did you mean {near}?"),
            None => "`trib-lab sim machines` describes them".to_string(),
        };
        Failure::new(format!("machine: {why}; allowed: a machine file or {}; {next}", names.join("|")))
    })?;
    if text.trim_start().starts_with('{') {
        return measured(name, &text);
    }
    Ok(Machine::parse(name, &text)?)
}

/// Returns the machine in a file that `trib-lab tune machine` wrote.
fn measured(name: &str, text: &str) -> Result<Machine, Failure> {
    let known = tributary::machine::parse(name, text.as_bytes())?;
    let costs = known.messages.ok_or_else(|| {
        Failure::new(format!(
            "machine: {name}: it has no costs of messages; allowed: a file of `trib-lab tune machine`"
        ))
    })?;
    let file: serde_json::Value = serde_json::from_str(text)?;
    let number = |key| file[key].as_u64().filter(|number| *number > 0).unwrap_or(1);
    let ranks_per_node = number("ranks").div_ceil(number("nodes"));
    Ok(tributary_lab::forecast::costs::measured(name, &costs, ranks_per_node as usize))
}

/// Refuses a run that may need more memory than the machine has.
///
/// # Errors
/// The run needs more.
pub fn check_memory(ranks: u64, messages: u64) -> Result<(), Failure> {
    let needed = messages.checked_mul(MESSAGE).and_then(|messages| messages.checked_add(ranks.checked_mul(RANK)?));
    let what = format!("{ranks} ranks with {messages} messages in flight (a throttle or synchronous sends need less)");
    limits::in_memory(&what, needed)
}

/// Returns the number of simulations of this size to run at a time: one a core, if they fit in memory together.
pub fn at_a_time(ranks: u64, messages: u64) -> usize {
    let fit = |count: &u64| check_memory(ranks * count, messages.saturating_mul(*count)).is_ok();
    (2..=processors() as u64).rev().find(fit).unwrap_or(1) as usize
}
