//! An aggregator's windows, round after round: who has bytes for them (or wants bytes of them), and which bytes.
//!
//! All of it is known from the metadata before any data moves: the sizes of the messages, the bytes that are covered, and
//! whether sources overlap.

use crate::drivers::{Domains, Window};
use crate::engine::data::coverage::Coverage;
use crate::engine::data::flow::{Agenda, Inflow};
use crate::engine::metadata::variable_exchange::slot;
use crate::engine::plan::Plan;
use crate::exchange::Transfer;
use crate::schedule::{Buffer, Span};
use crate::topology::Rank;

/// The windows of one aggregator; none on any other rank.
pub struct Windows {
    /// By ascending source.
    inflows: Vec<Inflow>,
    agenda: Agenda,
    /// Memory of a coverage that is not needed any more.
    spare: Coverage,
}

/// One window with data.
#[derive(Debug)]
pub struct Opened {
    /// No larger than from the first byte with data (of several stripes: from the start of its stripe) to the last, however
    /// large the hints make a window.
    pub window: Window,
    /// Which of its bytes have data; none where there is no memory even for that.
    pub coverage: Option<Coverage>,
    /// Whether sources overlap.
    pub overlap: bool,
    /// One message for each source, ascending; in the slot of its inflow.
    pub messages: Vec<Transfer<Rank>>,
}

impl Windows {
    /// At the first round.
    pub fn new(own: usize, plan: &Plan) -> Self {
        let inflow = |(source, packed): &(Rank, _)| Inflow::new(*source, own, Clone::clone(packed));
        let inflows: Vec<_> = plan.announced.incoming.iter().map(inflow).collect();
        let mut agenda = Agenda::default();
        inflows.iter().enumerate().for_each(|(id, inflow)| agenda.file(id, &inflow.sizing, &plan.domains));
        Self { inflows, agenda, spare: Coverage::default() }
    }

    /// The next round with a window of this aggregator.
    pub fn next_round(&self) -> Option<u64> {
        self.agenda.next_round()
    }

    /// The window of `round`, if this aggregator has one; its messages have their places in `buffer`. Rounds ascend.
    /// O(extents in the window).
    pub fn open(&mut self, round: u64, domains: &Domains, buffer: Buffer) -> Option<Opened> {
        let due = self.agenda.take(round);
        let whole = self.inflows[*due.first()?].sizing.window(domains)?;
        let starts = due.iter().filter_map(|&id| self.inflows[id].sizing.next_offset());
        let from = starts.min().unwrap_or(whole.start);
        let window = whole.trimmed(from, whole.end);
        let (mut to, mut bytes) = (window.start, 0);
        let mut coverage = Some(std::mem::take(&mut self.spare));
        coverage.iter_mut().for_each(Coverage::clear);
        let mut messages = Vec::with_capacity(due.len());
        for id in due {
            let inflow = &mut self.inflows[id];
            let passed = inflow.sizing.pass_covering(&window, &mut coverage);
            to = to.max(passed.end);
            bytes += passed.bytes;
            messages.push(Transfer { peer: inflow.source, span: Span::new(buffer, slot(id), passed.bytes) });
            self.agenda.file(id, &inflow.sizing, domains);
        }
        let overlap = coverage.as_ref().is_some_and(|coverage| coverage.covered() < bytes);
        Some(Opened { window: whole.trimmed(from, to), coverage, overlap, messages })
    }

    /// The inflow of a slot.
    pub fn inflow(&mut self, id: usize) -> Option<&mut Inflow> {
        self.inflows.get_mut(id)
    }

    /// Takes memory back.
    pub fn recycle(&mut self, coverage: Coverage) {
        self.spare = coverage;
    }
}
