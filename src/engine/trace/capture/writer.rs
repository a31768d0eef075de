//! Writes a capture of calls that are in memory, by one process.

use std::io::Write;
use std::path::Path;

use crate::access::{BufferLayout, Extents};
use crate::engine::trace::capture::block::{BlockWriter, Call, ListPlace};
use crate::engine::trace::capture::layout::{Header, PartEntry, front, front_len};
use crate::engine::trace::capture::reader::CallOutcome;
use crate::error::{Error, FileOperation, Result};
use crate::topology::Rank;

/// Number of earlier lists that a new list is compared with.
const COMPARED: usize = 8;

/// Writes a capture. `calls(rank)` returns the calls of a rank of the header, one for each outcome. Local. Memory O(encoded
/// capture).
///
/// # Errors
/// The errors of `calls`; [`Error::Io`] if the file cannot be written.
pub fn write(
    path: &Path,
    header: &Header,
    outcomes: &[CallOutcome],
    calls: &mut dyn FnMut(Rank) -> Result<Vec<Call>>,
) -> Result<()> {
    let mut reports = Vec::new();
    for outcome in outcomes {
        let internal = |cause| Error::internal(0, format!("reports of a capture: {cause}"));
        serde_json::to_writer(&mut reports, outcome).map_err(internal)?;
        reports.push(b'\n');
    }
    let mut end = front_len(header, header.ranks + 1)?;
    let mut index = Vec::new();
    let mut add = |bytes: &[u8], calls: usize| {
        let checksum = crc32fast::hash(bytes);
        index.push(PartEntry {
            offset: end,
            len: bytes.len() as u64,
            recorded: calls as u64,
            made: calls as u32,
            checksum,
        });
        end += bytes.len() as u64;
    };
    add(&reports, outcomes.len());
    let mut body = reports;
    for rank in 0..header.ranks {
        let calls = calls(rank)?;
        let block = encode(&calls);
        add(&block, calls.len());
        body.extend_from_slice(&block);
    }
    let io = |operation: FileOperation| move |cause| Error::io(0, operation, path, None, &cause);
    let mut file = std::fs::File::create(path).map_err(io(FileOperation::Create))?;
    file.write_all(&front(header, &index)?).and_then(|()| file.write_all(&body)).map_err(io(FileOperation::Write))
}

/// Encodes the calls of one rank as a block.
fn encode(calls: &[Call]) -> Vec<u8> {
    let mut lists = ListWriter::default();
    for call in calls {
        let file = lists.place(&call.file);
        let memory = match &call.memory {
            BufferLayout::Contiguous => None,
            BufferLayout::Extents(extents) => Some(lists.place(extents)),
        };
        lists.block.add_call(call.direction, call.failed, (file, memory), call.start, call.took);
    }
    lists.block.finish()
}

#[derive(Default)]
struct ListWriter {
    block: BlockWriter,
    lately: Vec<(usize, Extents)>,
}

impl ListWriter {
    fn place(&mut self, list: &Extents) -> ListPlace {
        let Some((start, _)) = list.span() else {
            return ListPlace::default();
        };
        let found = self.lately.iter().find(|(_, before)| list.shift_from(before).is_some()).map(|(number, _)| *number);
        let number = found.unwrap_or_else(|| {
            self.block.add_list(list);
            self.lately.push((self.block.lists() - 1, list.clone()));
            if self.lately.len() > COMPARED {
                self.lately.remove(0);
            }
            self.block.lists() - 1
        });
        ListPlace { list: Some(number), start }
    }
}
