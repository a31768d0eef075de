//! Requests: converted, copied and queued on the rank that makes them, without a word to the others.

use tributary::{Error, Extents, Result};

use super::Dataset;
use crate::schema::VariableId;
use crate::value::Value;

impl Dataset {
    /// Queues one part of a variable: `count` elements from `start` on along each dimension, `values` in row-major order.
    /// Local; the values are converted and copied here. Data mode.
    ///
    /// # Errors
    /// Define mode, a part that leaves the variable, another number of values, a value beyond the variable's type (see
    /// [`Value`]); nothing is queued then.
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

    /// Queues many parts of a variable as one request: (start, count) each, `values` of one part after the other. Local;
    /// allocates nothing for each part, and packs them as they come.
    ///
    /// # Errors
    /// As [`Dataset::iput_vara`].
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

    /// As [`Dataset::iput_vara`] with the elements as they lie in the file: text, or big-endian numbers of the variable's
    /// type. Local.
    ///
    /// # Errors
    /// As [`Dataset::iput_vara`], but for conversion.
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

    /// As [`Dataset::iput_varn`] with the elements as they lie in the file. Local.
    ///
    /// # Errors
    /// As [`Dataset::iput_vara_external`].
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

    /// Queues extents whose bytes are in the queue from `memory` on.
    fn queue_extents(&mut self, variable: VariableId, extents: Extents, memory: usize) {
        let records = self.layout.as_ref().map_or(0, |layout| layout.records_of(variable, &extents));
        self.records_asked = self.records_asked.max(records);
        self.queue.push(extents, memory as u64);
    }
}
