//! Machines of the simulator by name, and the memory that a simulation may need.

use tributary_lab::machines::{MACHINES, named};
use tributary_lab::sim::Machine;

use crate::{Failure, limits, text};

/// Bytes per message in flight, with its event and its queue entry.
const MESSAGE: u64 = 120;
/// Bytes per rank.
const RANK: u64 = 260;

/// The machine of that name, or of that file.
///
/// # Errors
/// There is no such machine; a file that is none.
pub fn machine(name: &str) -> Result<Machine, Failure> {
    if MACHINES.iter().any(|(known, _)| *known == name) {
        return Ok(named(name)?);
    }
    let known = || MACHINES.map(|(name, _)| name).join("|");
    let text = text::read(name.as_ref())
        .map_err(|cause| Failure::new(format!("machine: {name}: {cause}; allowed: a machine file or {}", known())))?;
    if text.trim_start().starts_with('{') {
        return Err(Failure::new(format!(
            "machine: {name} has the figures of `trib tune machine`, which are for the hint trib_machine: they say nothing of the file \
             system; allowed: a machine file of the simulator or {}",
            known()
        )));
    }
    Ok(Machine::parse(name, &text)?)
}

/// Refuses a run that may need more memory than there is.
///
/// # Errors
/// It needs more.
pub fn check_memory(ranks: u64, messages: u64) -> Result<(), Failure> {
    let needed = messages.checked_mul(MESSAGE).and_then(|messages| messages.checked_add(ranks.checked_mul(RANK)?));
    let what = format!("{ranks} ranks with {messages} messages in flight (a throttle or synchronous sends need less)");
    limits::in_memory(&what, needed)
}
