//! PnetCDF's alignment hints, which decide where the data and the records begin.

use tributary::{Error, Result};

use crate::header::ALIGN;

/// Default alignment of the first fixed-size variable, or of the first record if there is no such variable, in bytes.
const DEFAULT: u64 = 512;

/// PnetCDF's alignment hints, in bytes; `None` stands for PnetCDF's default. Values are rounded up to a multiple of
/// 4. Meanings and defaults are those of PnetCDF 1.14 (`NC_begins` and `ncmpio_hint_extract` of its sources, its pull
/// requests 126, 173): the start of the data is aligned, not each variable, and `nc_var_align_size` wins over its
/// older name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Alignment {
    /// `nc_header_align_size`: alignment of the first fixed-size variable, if `variable` is not set; default 512. Not
    /// used if there is no fixed-size variable.
    pub header: Option<u64>,
    /// `nc_var_align_size`: alignment of the first fixed-size variable; default: the value of `header`.
    pub variable: Option<u64>,
    /// `nc_record_align_size`: alignment of the first record; default 4, or 512 if there is no fixed-size variable.
    pub record: Option<u64>,
}

impl Alignment {
    /// Alignment to only 4 bytes, which the format needs: `nc_var_align_size=1`, as E3SM-IO sets it.
    pub const PACKED: Self = Self { header: None, variable: Some(1), record: Some(1) };

    /// Parses the alignment hints of a text in the form of [`tributary::Hints::parse`]. That function ignores these
    /// hints; other keys are ignored here. If a key occurs twice, the last value counts, as there.
    ///
    /// # Errors
    /// A value is not a number of bytes; 0 stands for the default.
    pub fn parse(text: &str) -> Result<Self> {
        let mut alignment = Self::default();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
        for (key, value) in lines.flat_map(|line| line.split(';')).filter_map(|part| part.split_once('=')) {
            let place = match key.trim() {
                "nc_header_align_size" => &mut alignment.header,
                "nc_var_align_size" => &mut alignment.variable,
                "nc_record_align_size" => &mut alignment.record,
                _ => continue,
            };
            let wrong = |_| Error::hint(key.trim(), value.trim(), "a number of bytes; 0: the default");
            *place = Some(value.trim().parse::<u64>().map_err(wrong)?).filter(|&bytes| bytes > 0);
        }
        Ok(alignment)
    }

    /// Returns the offset of the first byte of data behind a header of this size, in bytes.
    pub(crate) fn begin_of_data(self, header: u64, any_fixed: bool) -> Result<u64> {
        match any_fixed {
            true => round_up(header, self.variable.or(self.header).unwrap_or(DEFAULT)),
            false => round_up(header, ALIGN),
        }
    }

    /// Returns the offset of the first byte of record 0, behind fixed-size variables (or the header) that end at
    /// `end`.
    pub(crate) fn begin_of_records(self, end: u64, any_fixed: bool) -> Result<u64> {
        round_up(end, self.record.unwrap_or(if any_fixed { ALIGN } else { DEFAULT }))
    }
}

/// Rounds `at` up to a multiple of `alignment` and of 4.
fn round_up(at: u64, alignment: u64) -> Result<u64> {
    let rounded = alignment.checked_next_multiple_of(ALIGN).and_then(|all| at.checked_next_multiple_of(all.max(ALIGN)));
    let rounded = rounded.filter(|&at| at <= i64::MAX as u64);
    rounded.ok_or_else(|| Error::argument("alignment", alignment, "below 2^62 bytes"))
}
