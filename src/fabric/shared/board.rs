//! The collective call that each rank of a host is in, in the memory that these ranks share. A rank that waits long for
//! others prints which calls they are in.
//!
//! Each rank has a cache line ([`Shared`]): the number of agreements at which it has arrived, the state of its call, and
//! the first bytes of the call's name. Other ranks read the line only to print it, so it needs no order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::combine::Shared;
use crate::topology::Rank;

/// Number of 64-bit integers that hold the first bytes of a call's name.
pub(super) const NAME: usize = 7;

/// The state of a rank in the last collective call that it has begun on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownState {
    /// The rank has begun no call.
    Nothing,
    /// The rank is in the call.
    Inside,
    /// The rank is in the call, which the MPI library runs.
    InsideMpi,
    /// The call has ended.
    Left,
    /// The call has ended with an error.
    Failed,
}

impl ShownState {
    fn from_integer(integer: u32) -> Self {
        [Self::Nothing, Self::Inside, Self::InsideMpi, Self::Left, Self::Failed]
            .into_iter()
            .find(|state| *state as u32 == integer)
            .unwrap_or(Self::Nothing)
    }
}

/// The last collective call of one rank on a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCall {
    /// Rank that has begun the call.
    pub rank: Rank,
    /// Name of the call; the first bytes if it is long.
    pub call: String,
    /// State of the rank in the call.
    pub state: ShownState,
}

impl ShownCall {
    /// Returns true if the rank is in the call.
    pub fn is_inside(&self) -> bool {
        matches!(self.state, ShownState::Inside | ShownState::InsideMpi)
    }
}

impl Shared {
    /// Shows the other ranks that this rank is in a call. One thread at a time.
    #[inline]
    pub fn enter_call(&self, call: &'static str, state: ShownState) {
        // Most calls have the same name as the call before.
        if self.named().load(Ordering::Relaxed) != call.as_ptr().addr() {
            self.named().store(call.as_ptr().addr(), Ordering::Relaxed);
            put(call, &self.own_state().name);
        }
        self.own_state().state.store(state as u32, Ordering::Relaxed);
    }

    /// Shows the other ranks that the last call of this rank has ended. One thread at a time.
    #[inline]
    pub fn leave_call(&self, failed: bool) {
        let state = if failed { ShownState::Failed } else { ShownState::Left };
        self.own_state().state.store(state as u32, Ordering::Relaxed);
    }

    /// Returns the last call of each rank, in rank order. Any thread may call it.
    pub fn shown_calls(&self) -> Vec<ShownCall> {
        let shown = |(place, &rank): (usize, &Rank)| ShownCall {
            rank,
            call: get(&self.rank_state(place).name),
            state: ShownState::from_integer(self.rank_state(place).state.load(Ordering::Relaxed)),
        };
        self.ranks().iter().enumerate().map(shown).collect()
    }
}

/// Stores the first bytes of a text; fills the rest with zeros.
fn put(text: &str, integers: &[AtomicU64]) {
    let mut bytes = [0; 8 * NAME];
    let len = text.len().min(bytes.len());
    bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
    integers
        .iter()
        .zip(bytes.as_chunks().0)
        .for_each(|(integer, bytes)| integer.store(u64::from_le_bytes(*bytes), Ordering::Relaxed));
}

fn get(integers: &[AtomicU64]) -> String {
    let bytes: Vec<u8> = integers.iter().flat_map(|integer| integer.load(Ordering::Relaxed).to_le_bytes()).collect();
    String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
}

/// Shows other ranks the calls on a file that the MPI library runs for this rank, in the memory that the rank's endpoint
/// shares at the time, if there is any.
#[derive(Debug, Default)]
pub struct CallBoard(Mutex<Option<Arc<Shared>>>);

impl CallBoard {
    pub(in crate::fabric) fn set(&self, memory: Option<Arc<Shared>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = memory;
    }

    /// Shows that this rank is in a call that the MPI library runs. Local.
    pub fn enter(&self, call: &'static str) {
        self.with(|memory| memory.enter_call(call, ShownState::InsideMpi));
    }

    /// Shows that the call has ended. Local.
    pub fn leave(&self, failed: bool) {
        self.with(|memory| memory.leave_call(failed));
    }

    fn with(&self, show: impl FnOnce(&Shared)) {
        if let Some(memory) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            show(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_storing_as_far_as_there_is_room() {
        let integers = [const { AtomicU64::new(u64::MAX) }; NAME];
        let long = "x".repeat(100);
        for (text, expected) in
            [("MPI_File_write_at_all_begin_c", "MPI_File_write_at_all_begin_c"), ("", ""), (&long, &long[..56])]
        {
            put(text, &integers);
            assert_eq!(get(&integers), expected);
        }
        for state in [ShownState::Nothing, ShownState::InsideMpi, ShownState::Failed] {
            assert_eq!(ShownState::from_integer(state as u32), state);
        }
    }
}
