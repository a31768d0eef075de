//! Defines a small pattern that is a NetCDF file, for tests.

use std::fs::File;
use std::os::unix::fs::FileExt;

use tributary::Extents;
use tributary::access::BufferLayout;
use tributary_benchmarks::{ClosedForm, Division, NetcdfCase, Pattern, PatternError, Put, RankAccess, Totals};
use tributary_netcdf::{Alignment, Format, Layout, Requests, Schema, Type, UNLIMITED, VariableId};

/// A pattern that writes a letter of each rank, and in each step a record whose columns are dealt out to the ranks.
pub struct Columns {
    ranks: usize,
    schema: Schema,
    layout: Layout,
}

const COLUMNS: u64 = 29;
const STEPS: usize = 3;

impl Columns {
    /// Creates the pattern on up to 26 ranks.
    pub fn new(ranks: usize, format: Format) -> Self {
        let mut schema = Schema::new(format);
        let time = schema.define_dimension("time", UNLIMITED).unwrap();
        let rank = schema.define_dimension("rank", ranks as u64).unwrap();
        let column = schema.define_dimension("column", COLUMNS).unwrap();
        schema.define_variable("name", Type::Char, &[rank]).unwrap();
        let heat = schema.define_variable("heat", Type::Float, &[time, column]).unwrap();
        schema.put_attribute(heat, "scale", [0.25f32, -8.0]).unwrap();
        schema.put_global_attribute("ranks", ranks as i32).unwrap();
        let layout = schema.layout(Alignment::PACKED).unwrap();
        Self { ranks, schema, layout }
    }

    fn columns(&self, rank: usize) -> impl Iterator<Item = u64> + use<> {
        (rank as u64..COLUMNS).step_by(self.ranks)
    }
}

fn heat(step: usize, column: u64) -> [u8; 4] {
    (1.0 / (step as f32 + column as f32 * 7.0 + 3.0)).to_be_bytes()
}

impl NetcdfCase for Columns {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn alignment(&self) -> Alignment {
        Alignment::PACKED
    }

    fn puts(&self, rank: usize, step: usize) -> Result<Vec<Put>, PatternError> {
        let requests: Requests = self.columns(rank).map(|column| ([step as u64, column], [1, 1])).collect();
        let data = self.columns(rank).flat_map(|column| heat(step, column)).collect();
        let mut puts = vec![Put { variable: VariableId(1), requests, data }];
        if step == 0 {
            let requests = vec![([rank as u64], [1])].into();
            puts.push(Put { variable: VariableId(0), requests, data: vec![b'a' + rank as u8] });
        }
        Ok(puts)
    }
}

impl Pattern for Columns {
    fn name(&self) -> &str {
        "columns"
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn describe(&self) -> String {
        "a test".to_string()
    }

    fn steps(&self) -> usize {
        STEPS
    }

    fn rank_access(&self, rank: usize, step: usize) -> Result<RankAccess, PatternError> {
        let mut file = Extents::empty();
        for put in self.puts(rank, step)? {
            file.push(&self.layout.extents_of_all(put.variable, put.requests.iter())?)?;
        }
        Ok(RankAccess { requests: file.count(), file, layout: BufferLayout::Contiguous })
    }

    fn fill(&self, rank: usize, step: usize, data: &mut [u8]) -> Result<(), PatternError> {
        data.copy_from_slice(&self.puts(rank, step)?.into_iter().flat_map(|put| put.data).collect::<Vec<_>>());
        Ok(())
    }

    fn totals(&self) -> Totals {
        let bytes = self.ranks as u64 + COLUMNS * 4 * STEPS as u64;
        let file_size = self.layout.file_bytes(STEPS as u64).unwrap();
        Totals { requests: COLUMNS * STEPS as u64 + self.ranks as u64, bytes, file_size }
    }

    fn closed_form(&self, _division: Division) -> ClosedForm {
        let Totals { requests, bytes, .. } = self.totals();
        ClosedForm { requests, bytes, metadata_fan_in: None, data_fan_in: None }
    }

    fn write_serially(&self, file: &File) -> Result<(), PatternError> {
        for rank in 0..self.ranks {
            file.write_all_at(&[b'a' + rank as u8], self.layout.begin(VariableId(0)) + rank as u64).unwrap();
        }
        for (step, column) in (0..STEPS).flat_map(|step| (0..COLUMNS).map(move |column| (step, column))) {
            let at = self.layout.begin_of_records() + (step as u64 * COLUMNS + column) * 4;
            file.write_all_at(&heat(step, column), at).unwrap();
        }
        Ok(())
    }

    fn netcdf(&self) -> Option<&dyn NetcdfCase> {
        Some(self)
    }
}
