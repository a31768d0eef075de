//! Translates parts of variables to file extents: a regular part takes O(dimensions) memory, lists of parts are
//! packed.

use tributary::access::Extent;
use tributary::{Error, Extents, Result};

use crate::format::Format;
use crate::layout::{Layout, Slot, too_far};
use crate::runs::Runs;
use crate::schema::VariableId;

impl Layout {
    /// Returns the file extents of a part of a variable: `count` elements from `start` on along each dimension, the
    /// unlimited one included. O(dimensions) memory and time, for any number of elements and records.
    ///
    /// # Errors
    /// The variable does not exist; the length of a list is not the variable's number of dimensions; the part lies
    /// outside the variable; or it ends beyond 2^63 - 1.
    pub fn extents(&self, variable: VariableId, start: &[u64], count: &[u64]) -> Result<Extents> {
        let slot = self.slot(variable)?;
        slot.check(self.format, start, count)?;
        let (first, records, start, count) = match (slot.record, start, count) {
            (true, [first, start @ ..], [records, count @ ..]) => (*first, *records, start, count),
            _ => (0, 1, start, count),
        };
        if records == 0 || count.contains(&0) {
            return Ok(Extents::empty());
        }
        let begin = self.begin_of_record(slot, first)?;
        let stride = i64::try_from(self.record_size).map_err(|_| too_far(slot))?;
        Extents::subarray(begin, slot.size, &slot.shape, count, start)?.repeat(stride, records)
    }

    /// Returns the file extents of many parts of a variable, one after the other, packed without an allocation for
    /// each part; takes memory only for irregular parts.
    ///
    /// # Errors
    /// The errors of [`Layout::extents`], for the first part that has one.
    pub fn extents_of_all<S, C>(&self, variable: VariableId, parts: impl IntoIterator<Item = (S, C)>) -> Result<Extents>
    where
        S: AsRef<[u64]>,
        C: AsRef<[u64]>,
    {
        let slot = self.slot(variable)?;
        let mut runs = Runs::new(slot, self.record_size);
        let mut parts = parts.into_iter();
        let mut failed = None;
        let list = std::iter::from_fn(|| {
            loop {
                if let Some(extent) = runs.next() {
                    return Some(extent);
                }
                let (start, count) = parts.next()?;
                let (start, count) = (start.as_ref(), count.as_ref());
                let begun = slot.check(self.format, start, count).and_then(|()| {
                    let first = if slot.record { start[0] } else { 0 };
                    let last = if slot.record { count[0].saturating_sub(1) } else { 0 };
                    self.begin_of_record(slot, first.saturating_add(last))?;
                    self.begin_of_record(slot, first)
                });
                match begun {
                    Ok(begin) => runs.start(begin, start, count),
                    Err(error) => {
                        failed = Some(error);
                        return None;
                    }
                }
            }
        });
        let extents = Extents::from_list(list)?;
        failed.map_or(Ok(extents), Err)
    }

    /// Returns the file extents of elements of one record of a variable (`record` is 0 for a fixed-size variable),
    /// packed. Each item of `runs` is a first element and a number of elements, in row-major order over the
    /// dimensions without the unlimited one.
    ///
    /// # Errors
    /// The errors of [`Layout::extents`].
    pub fn elements(
        &self,
        variable: VariableId,
        record: u64,
        runs: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<Extents> {
        let slot = self.slot(variable)?;
        if record > 0 && !slot.record {
            return Err(Error::argument(format!("record of variable {}", slot.name), record, "0: it has no records"));
        }
        let begin = self.begin_of_record(slot, record)?;
        let elements = slot.bytes / slot.size;
        let mut outside = None;
        let list = runs.into_iter().map_while(|(first, number)| {
            if first.checked_add(number).is_none_or(|end| end > elements) {
                outside = Some((first, number));
                return None;
            }
            Some(Extent { offset: begin + first * slot.size, len: number * slot.size })
        });
        let extents = Extents::from_list(list)?;
        match outside {
            None => Ok(extents),
            Some((first, number)) => {
                let what = format!("elements of variable {}", slot.name);
                Err(Error::argument(what, format!("{number} from {first} on"), format!("below {elements}")))
            }
        }
    }
}

impl Slot {
    /// Checks that a part lies inside the variable.
    fn check(&self, format: Format, start: &[u64], count: &[u64]) -> Result<()> {
        let dimensions = self.shape.len() + usize::from(self.record);
        if start.len() != dimensions || count.len() != dimensions {
            let given = format!("{} start(s), {} count(s)", start.len(), count.len());
            return Err(Error::argument(
                format!("part of variable {}", self.name),
                given,
                format!("{dimensions} each"),
            ));
        }
        let unlimited = self.record.then_some(format.largest_count());
        for (at, length) in unlimited.into_iter().chain(self.shape.iter().copied()).enumerate() {
            if start[at].checked_add(count[at]).is_none_or(|end| end > length) {
                let what = format!("dimension {at} of variable {}", self.name);
                let given = format!("start {}, count {}", start[at], count[at]);
                return Err(Error::argument(what, given, format!("start + count <= {length}")));
            }
        }
        Ok(())
    }
}
