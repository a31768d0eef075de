//! Writes and reads of one rank without other ranks.

use crate::access::{Extents, WriteAccess};
use crate::engine::file::File;
use crate::engine::staging::ReadMemory;
use crate::engine::storage::window_queue::Outcome;
use crate::engine::storage::{direct, direct_read, guarded, size};
use crate::error::Result;

impl File {
    /// Writes an access that needs no other rank. Local.
    pub(in crate::engine) fn write_directly(&mut self, access: WriteAccess<'_>) -> Outcome {
        if access.file.count() == 0 {
            return Outcome::default();
        }
        match self.storage() {
            Ok(storage) => direct::write(&*storage, access, self.endpoint.rank(), &self.setup.path),
            Err(error) => Outcome { error: Some(error), ..Outcome::default() },
        }
    }

    /// Reads an access that needs no other rank. Local.
    pub(in crate::engine) fn read_directly(
        &mut self,
        extents: &Extents,
        ReadMemory { layout, sink }: ReadMemory<'_>,
    ) -> Outcome {
        if extents.count() == 0 {
            return Outcome::default();
        }
        let bridge = self.setup.read_sieve().bridge();
        let read = self.storage().and_then(|storage| {
            guarded("read", None, || direct_read::read(&*storage, extents, layout, sink, bridge))
                .map_err(|failure| failure.into_error(self.endpoint.rank(), &self.setup.path))
        });
        read.unwrap_or_else(|error| Outcome { error: Some(error), ..Outcome::default() })
    }

    /// Returns the end of the file in bytes on the first aggregator; `u64::MAX` on the other ranks.
    pub(in crate::engine) fn file_end(&mut self) -> Result<u64> {
        let rank = self.endpoint.rank();
        if self.setup.roles.aggregators.first() != Some(&rank) {
            return Ok(u64::MAX);
        }
        self.own_file_end()
    }

    /// Returns the end of the file in bytes, as the system reports it to this rank.
    pub(in crate::engine) fn own_file_end(&mut self) -> Result<u64> {
        size(&self.storage(), self.endpoint.rank(), &self.setup.path)
    }
}
