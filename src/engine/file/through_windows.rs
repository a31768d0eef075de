//! A collective write or read through windows in shared memory, after the first agreement.

use std::cell::OnceCell;
use std::sync::Arc;

use crate::access::{Access, BufferLayout, Extent, Extents, Memory, Sink, Source, Walk};
use crate::collectives::team::Team;
use crate::engine::agree::facts::Agreed;
use crate::engine::agree::last::{CallOutcome, agree_on_outcome};
use crate::engine::choose::{FOOTPRINT_GAP, WANTED_PART};
use crate::engine::exchange::flatten::{in_order, overlap};
use crate::engine::file::setup::Setup;
use crate::engine::io::Storage;
use crate::engine::io::write_behind::WriteBehind;
use crate::engine::shared::window_reader::WindowReader;
use crate::engine::shared::window_writer::{self, DataKnown, Runs, WindowHelper, WindowWriter};
use crate::engine::shared::{Arena, ordered};
use crate::engine::trace::clock::Clock;
use crate::engine::trace::counts::CallTotals;
use crate::error::Result;
use crate::fabric::Endpoint;
use crate::topology::Rank;
use crate::world::clock;

/// One rank's part in a call through windows.
pub struct ThroughWindows<'a> {
    /// Settings of the file.
    pub setup: &'a Setup,
    /// The ranks that share the windows.
    pub team: &'a Team,
    /// Shared memory of the windows.
    pub arena: &'a Arc<Arena>,
    /// The thread beside this rank that writes windows of a slow file.
    pub helper: &'a mut WindowHelper,
    pub rank: Rank,
    /// This rank's handle of the file, or the error of opening it.
    pub storage: Result<Arc<dyn Storage>>,
    /// The write-behind of collective writes; `None` if they do not buffer bytes.
    pub write_behind: Option<&'a WriteBehind>,
    /// The result of the call's first agreement.
    pub agreed: &'a Agreed,
    /// Extents of the file in which every byte has data, unless ranks overlap; empty if they are unknown.
    pub runs: &'a Runs,
}

impl ThroughWindows<'_> {
    /// Moves this rank's bytes between its memory and the windows. Returns the outcome of all ranks of the team after a
    /// write; after a read they still have to agree on it. Collective over the team.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub async fn run(
        &mut self,
        endpoint: &mut Endpoint,
        Access { file, layout, memory }: Access<'_>,
        clock: &Clock,
        own: &mut CallTotals,
    ) -> Result<Option<CallOutcome>> {
        match memory {
            Memory::Source(memory) => {
                let access = Access { file, layout, memory };
                self.write(endpoint, access, clock, own).await.map(Some)
            }
            Memory::Sink(memory) => self.read(endpoint, Access { file, layout, memory }, own).await.map(|()| None),
        }
    }

    /// Copies this rank's bytes into the windows, writes complete windows, and agrees on the outcome of all ranks of the
    /// team. Adds this rank's times and error to `done`. Collective over the team.
    ///
    /// # Errors
    /// Errors of the message transport.
    async fn write(
        &mut self,
        endpoint: &mut Endpoint,
        Access { file, layout, memory: source }: Access<'_, Source<'_>>,
        clock: &Clock,
        done: &mut CallTotals,
    ) -> Result<CallOutcome> {
        let sieve = self.setup.file.write_sieve(self.agreed.is_sole);
        let mut writer = WindowWriter {
            arena: self.arena.clone(),
            windows: self.agreed.decision.windows,
            known: match self.runs.is_empty() {
                true => DataKnown::ByBits,
                false => DataKnown::BySum(self.setup.votes.tiling, self.runs.clone()),
            },
            storage: self.storage.clone(),
            // Other hosts may write in wider gaps.
            sieve: if self.setup.shares_memory { sieve } else { sieve.within(FOOTPRINT_GAP) },
            end: OnceCell::new(),
            rank: self.rank,
            file: self.setup.file.clone(),
            error: None.into(),
        };
        // Do not touch the memory of a rank that has nothing left to write.
        let layout = if file.count() == 0 { &BufferLayout::Contiguous } else { layout };
        let mut begin = clock::now();
        window_writer::place(endpoint, &writer, self.helper, Walk::new(file, layout), source).await?;
        done.counts.placement = clock::since(begin);
        let own = CallOutcome::new(self.rank, done, clock);
        let mut all = agree_on_outcome(endpoint, self.team, own, Some(&writer)).await?;
        if all.failed.is_none() && all.must_redo {
            if let Some(write_behind) = self.write_behind {
                write_behind.repeat_call();
            }
            writer.known = DataKnown::ByBits;
            begin = clock::now();
            ordered::place(endpoint, &writer, Walk::new(file, layout), source, all.turn).await?;
            done.counts.placement += clock::since(begin);
            let own = CallOutcome::new(self.rank, done, clock);
            all = agree_on_outcome(endpoint, self.team, own, Some(&writer)).await?;
        }
        done.outcome.error = writer.error.take().or(self.helper.take_error());
        Ok(all)
    }

    /// Copies this rank's bytes out of the windows, which the ranks of the team read. Adds this rank's bytes, times and
    /// error to `done`. Collective over the team.
    ///
    /// # Errors
    /// Errors of the message transport.
    async fn read(
        &self,
        endpoint: &mut Endpoint,
        Access { file: extents, layout, memory: sink }: Access<'_, Sink<'_>>,
        done: &mut CallTotals,
    ) -> Result<()> {
        let (begin, left) = (clock::now(), &self.agreed.shape.left);
        let reader = WindowReader {
            arena: self.arena,
            windows: self.agreed.decision.windows,
            reads_ahead: left.bytes >= left.span() / WANTED_PART,
            rank: self.rank,
            path: &self.setup.file.path,
            storage: &self.storage,
            error: None.into(),
            busy: Default::default(),
        };
        // Do not touch the memory of a rank that has nothing left to read.
        let layout = if extents.count() == 0 { &BufferLayout::Contiguous } else { layout };
        done.outcome.bytes = reader.take(endpoint, Walk::new(extents, layout), sink).await?;
        (done.outcome.error, done.outcome.busy) = (reader.error.take(), reader.busy.get());
        done.counts.placement = clock::since(begin).saturating_sub(done.outcome.busy);
        Ok(())
    }
}

/// An access in ascending order: extents of the file, and where their bytes are in memory.
pub type SortedAccess = (Extents, BufferLayout);

/// Returns the access in ascending order, if it does not ascend already; an error if it cannot be sorted.
pub fn sorted(file: &Extents, layout: &BufferLayout) -> (Option<SortedAccess>, Result<()>) {
    match file.is_ascending() {
        true => (None, Ok(())),
        false => ascending(file, layout).map_or_else(|error| (None, Err(error)), |sorted| (Some(sorted), Ok(()))),
    }
}

/// Returns the access in ascending order, without bytes that an earlier extent has. Takes 64 bytes of memory for each piece.
fn ascending(file: &Extents, layout: &BufferLayout) -> Result<SortedAccess> {
    let (mut to, mut from, mut covered) = (Vec::new(), Vec::new(), 0);
    for piece in in_order(file, layout) {
        let piece = piece.skipping(overlap(&piece, covered));
        if piece.len > 0 {
            covered = covered.max(piece.offset + piece.len);
            to.push(Extent { offset: piece.offset, len: piece.len });
            from.push(Extent { offset: piece.memory, len: piece.len });
        }
    }
    Ok((Extents::from_extents(to)?, BufferLayout::Extents(Extents::from_extents(from)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_that_does_not_ascend_is_sorted() {
        let file = Extents::from_list([(20, 5), (0, 4), (2, 4)].map(|(offset, len)| Extent { offset, len })).unwrap();
        let (to, from) = ascending(&file, &BufferLayout::Contiguous).unwrap();
        assert_eq!(to.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>(), [(0, 6), (20, 5)]);
        let BufferLayout::Extents(from) = from else { panic!("a list") };
        assert_eq!(from.iter().map(|e| (e.offset, e.len)).collect::<Vec<_>>(), [(5, 4), (11, 2), (0, 5)]);
    }
}
