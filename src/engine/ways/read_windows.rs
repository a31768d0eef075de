//! A collective read through windows in shared memory, after the first agreement.

use std::time::{Duration, Instant};

use crate::access::{BufferLayout, Extents, Walk};
use crate::engine::direction::Direction;
use crate::engine::facts::agreed::Agreed;
use crate::engine::file::File;
use crate::engine::policy::WANTED_PART;
use crate::engine::policy::paths::Way;
use crate::engine::shared::window_reader::WindowReader;
use crate::engine::staging::ReadMemory;
use crate::engine::storage::window_queue::Outcome;
use crate::error::Result;

impl File {
    /// Copies this rank's bytes out of the windows, which the ranks that share them read. Returns this rank's outcome,
    /// and its time in copying and waiting. Collective over these ranks.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn read_windows(
        &mut self,
        extents: &Extents,
        ReadMemory { layout, sink }: ReadMemory<'_>,
        agreed: &Agreed,
    ) -> Result<(Outcome, Duration)> {
        let (begin, storage, arena) = (Instant::now(), self.handle.storage(&self.setup), self.arena()?);
        let taking = WindowReader {
            arena: &arena,
            windows: agreed.decision.windows,
            reads_ahead: agreed.left.bytes >= agreed.left.span() / WANTED_PART,
            rank: self.endpoint.rank(),
            path: &self.setup.path,
            storage: &storage,
            error: None.into(),
            busy: Default::default(),
        };
        // Do not touch the memory of a rank that has nothing left to read.
        let layout = if extents.count() == 0 { &BufferLayout::Contiguous } else { layout };
        let bytes = taking.take(&mut self.endpoint, Walk::new(extents, layout), sink).await?;
        let (error, busy) = (taking.error.take(), taking.busy.get());
        Ok((Outcome { bytes, error, busy, ..Outcome::default() }, begin.elapsed().saturating_sub(busy)))
    }

    /// Reads the bytes that the ranks of this host want, if other hosts want other bytes. Returns this rank's outcome,
    /// on which all ranks still have to agree, and its time in copying and waiting. Collective over the ranks of the
    /// host.
    ///
    /// # Errors
    /// Errors of the message transport.
    pub(in crate::engine) async fn read_on_host(
        &mut self,
        extents: &Extents,
        ReadMemory { layout, mut sink }: ReadMemory<'_>,
    ) -> Result<(Outcome, Duration)> {
        if !self.has_arena() {
            return Ok((self.handle.read_directly(&self.setup, extents, ReadMemory { layout, sink }), Duration::ZERO));
        }
        let itself = self.setup.rules(Direction::Read).in_memory().reads_early(extents, false);
        let mut early = itself
            .then(|| self.handle.read_directly(&self.setup, extents, ReadMemory { layout, sink: sink.reborrow() }));
        let checked = early.as_mut().and_then(|outcome| outcome.error.take()).map_or(Ok(()), Err);
        let (agreed, error) = self.agree_on_host_to_read(extents, checked, early.as_ref()).await?;
        let rest = if early.is_some() { &Extents::empty() } else { extents };
        let (mut outcome, placement) = match agreed.decision.way {
            _ if agreed.failed.is_some() => (Outcome { error, ..Outcome::default() }, Duration::ZERO),
            Way::Windows => self.read_windows(rest, ReadMemory { layout, sink }, &agreed).await?,
            Way::Direct => (self.handle.read_directly(&self.setup, rest, ReadMemory { layout, sink }), Duration::ZERO),
            _ => Default::default(),
        };
        outcome.add(early);
        Ok((outcome, placement))
    }
}
