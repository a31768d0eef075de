//! Computes the layout of an algorithm's picture: rows for ranks, on their nodes, and columns for rounds.

use tributary::Topology;

/// Left edge of the bars, in pixels.
pub const LEFT: f64 = 122.0;
/// Right edge of the last bar, in pixels.
const EDGE: f64 = 944.0;

/// Layout of an algorithm's picture, in pixels.
pub struct Grid {
    /// Width of a bar.
    pub bar: f64,
    /// Width of the space for arrows between two bars.
    pub arrows: f64,
    /// Vertical position of the middle of every rank's row.
    pub rows: Vec<f64>,
    /// Upper and lower edge of every node.
    pub nodes: Vec<(f64, f64)>,
}

impl Grid {
    /// Computes the layout of `rounds` rounds, from `top` down.
    pub fn new(topology: &Topology, rounds: usize, top: f64) -> Self {
        let (rounds, width) = (rounds as f64, EDGE - LEFT);
        let bar = (width / (2.4 * rounds + 1.0)).min(104.0);
        let arrows = if rounds > 0.0 { ((width - (rounds + 1.0) * bar) / rounds).min(170.0) } else { 0.0 };
        let pitch = if topology.ranks() <= 8 { 30.0 } else { 25.0 };
        let (mut rows, mut nodes, mut y) = (vec![0.0; topology.ranks()], Vec::new(), top);
        for node in 0..topology.nodes() {
            let (first, ranks) = (y, topology.ranks_on(node));
            (0..ranks)
                .for_each(|index| rows[topology.rank_at(node, index)] = first + (index as f64 + 0.5) * pitch + 3.0);
            y += ranks as f64 * pitch + 6.0;
            nodes.push((first, y));
            y += 9.0;
        }
        Self { bar, arrows, rows, nodes }
    }

    /// Returns the left edge of the bars before round `round`.
    pub fn bars(&self, round: usize) -> f64 {
        LEFT + round as f64 * (self.bar + self.arrows)
    }

    /// Returns the left and right end of the arrows of a round.
    pub fn span(&self, round: usize) -> (f64, f64) {
        (self.bars(round) + self.bar + 2.0, self.bars(round + 1) - 2.0)
    }

    /// Returns the lower edge of the rows.
    pub fn bottom(&self) -> f64 {
        self.nodes.last().map_or(0.0, |node| node.1)
    }

    /// Returns the font size of the text below every round.
    pub fn small(&self) -> u32 {
        if self.bar + self.arrows < 54.0 { 8 } else { 10 }
    }
}
