//! Finds the pieces of a rank's memory in the first call, and the position of each piece in the file.

use tributary::access::Piece;
use tributary::access::walk::pieces;
use tributary_benchmarks::Pattern;

use super::strip::Strip;
use trib::Failure;

/// Maximum number of ranks whose memory is drawn.
const LANES: usize = 4;
/// Maximum number of pieces that are drawn for a rank.
const PIECES: usize = 64;

/// Memory of one rank, as it is drawn.
#[derive(Debug)]
pub struct Lane {
    /// Number of the rank.
    pub rank: usize,
    /// Pieces of memory that are contiguous in memory and in the file, within the drawn part of the file.
    pub pieces: Vec<Piece>,
    /// Number of all pieces of the rank in the drawn part of the file.
    pub count: usize,
    /// Range of memory from the first to the last piece, in bytes.
    pub span: (u64, u64),
}

/// Returns the memory of the first ranks that write into the part of the file that is drawn.
///
/// # Errors
/// Errors of the pattern.
pub fn lanes(pattern: &dyn Pattern, strip: &Strip) -> Result<Vec<Lane>, Failure> {
    let mut lanes = Vec::new();
    for rank in 0..pattern.ranks() {
        if lanes.len() == LANES {
            break;
        }
        let access = pattern.rank_access(rank, 0)?;
        let mut lane = Lane { rank, pieces: Vec::new(), count: 0, span: (u64::MAX, 0) };
        let mut last: Option<Piece> = None;
        for piece in pieces(&access.file, &access.layout).filter_map(|piece| clipped(piece, strip)) {
            lane.span = (lane.span.0.min(piece.memory), lane.span.1.max(piece.memory + piece.len));
            match &mut last {
                Some(last) if last.offset + last.len == piece.offset && last.memory + last.len == piece.memory => {
                    last.len += piece.len;
                }
                _ => lane.take(last.replace(piece)),
            }
        }
        lane.take(last);
        if lane.count > 0 {
            lanes.push(lane);
        }
    }
    Ok(lanes)
}

impl Lane {
    fn take(&mut self, piece: Option<Piece>) {
        self.count += usize::from(piece.is_some());
        if self.pieces.len() < PIECES {
            self.pieces.extend(piece);
        }
    }
}

/// Returns the part of a piece that lies in the part of the file that is drawn.
fn clipped(piece: Piece, strip: &Strip) -> Option<Piece> {
    let (offset, end) = (piece.offset.max(strip.from), (piece.offset + piece.len).min(strip.to));
    (offset < end).then(|| Piece { offset, memory: piece.memory + (offset - piece.offset), len: end - offset })
}
