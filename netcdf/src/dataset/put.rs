//! Queues requests: converts and copies their values, locally, without communication.

use tributary::{Error, Extents, Result};

use super::Dataset;
use crate::schema::VariableId;
use crate::value::Value;

impl Dataset {
    /// Queues one part of a variable: `count` elements from `start` on along each dimension, `values` in row-major order.
    /// Local; the values are converted and copied here. Data mode.
    ///
    /// # Errors
    /// The file is in define mode; the part lies outside the variable; the number of values is wrong; or a value is
    /// beyond the variable's type (see [`Value`]). Nothing is queued in these cases.
    pub fn iput_vara<V: Value>(
        &mut self,
        variable: VariableId,
        start: &[u64],
        count: &[u64],
        values: &[V],
    ) -> Result<()> {
        let extents = self.data_mode()?.extents(variable, start, count)?;
        self.queue_values(variable, extents, values)
    }

    /// Queues many parts of a variable as one request: (start, count) of each part, and `values` of all parts one
    /// after the other. Local; packs the parts without an allocation for each.
    ///
    /// # Errors
    /// The errors of [`Dataset::iput_vara`].
    pub fn iput_varn<V, S, C>(
        &mut self,
        variable: VariableId,
        parts: impl IntoIterator<Item = (S, C)>,
        values: &[V],
    ) -> Result<()>
    where
        V: Value,
        S: AsRef<[u64]>,
        C: AsRef<[u64]>,
    {
        let extents = self.data_mode()?.extents_of_all(variable, parts)?;
        self.queue_values(variable, extents, values)
    }

    /// Queues one part as [`Dataset::iput_vara`] does. The elements have the file's form already: text, or big-endian
    /// numbers of the variable's type. Local.
    ///
    /// # Errors
    /// The errors of [`Dataset::iput_vara`], except those of conversion.
    pub fn iput_vara_external(
        &mut self,
        variable: VariableId,
        start: &[u64],
        count: &[u64],
        bytes: &[u8],
    ) -> Result<()> {
        let extents = self.data_mode()?.extents(variable, start, count)?;
        self.queue_bytes(variable, extents, bytes)
    }

    /// Queues many parts as [`Dataset::iput_varn`] does. The elements have the file's form already. Local.
    ///
    /// # Errors
    /// The errors of [`Dataset::iput_vara_external`].
    pub fn iput_varn_external<S, C>(
        &mut self,
        variable: VariableId,
        parts: impl IntoIterator<Item = (S, C)>,
        bytes: &[u8],
    ) -> Result<()>
    where
        S: AsRef<[u64]>,
        C: AsRef<[u64]>,
    {
        let extents = self.data_mode()?.extents_of_all(variable, parts)?;
        self.queue_bytes(variable, extents, bytes)
    }

    fn queue_values<V: Value>(&mut self, variable: VariableId, extents: Extents, values: &[V]) -> Result<()> {
        let target = &self.schema.variables()[variable.0];
        let elements = extents.bytes() / target.kind.size();
        if values.len() as u64 != elements {
            let what = format!("values for variable {}", target.name);
            return Err(Error::argument(what, values.len(), format!("{elements}, as the part has elements")));
        }
        let before = self.queue.data.len();
        if let Err(at) = V::encode(values, target.kind, self.schema.format(), &mut self.queue.data) {
            self.queue.data.truncate(before);
            let what = format!("value {at} for variable {}", target.name);
            let allowed = format!("what a {} holds", target.kind);
            return Err(Error::argument(what, "is out of range", allowed));
        }
        self.queue_extents(variable, extents, before);
        Ok(())
    }

    fn queue_bytes(&mut self, variable: VariableId, extents: Extents, bytes: &[u8]) -> Result<()> {
        if bytes.len() as u64 != extents.bytes() {
            let what = format!("bytes for variable {}", self.schema.variables()[variable.0].name);
            return Err(Error::argument(what, bytes.len(), format!("{}, as the part has", extents.bytes())));
        }
        let before = self.queue.data.len();
        self.queue.data.extend_from_slice(bytes);
        self.queue_extents(variable, extents, before);
        Ok(())
    }

    /// Queues extents. Their bytes are in the queue already, from position `memory` on.
    fn queue_extents(&mut self, variable: VariableId, extents: Extents, memory: usize) {
        let records = self.layout.as_ref().map_or(0, |layout| layout.records_of(variable, &extents));
        self.records_asked = self.records_asked.max(records);
        self.queue.push(extents, memory as u64);
    }
}
