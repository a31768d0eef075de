//! The cost parameters of the algorithms' formulas: Hockney's model, and the cost of a combination.

/// Cost parameters of a machine for formulas, in any unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// t_s: startup time of a message.
    pub startup: f64,
    /// t_w: time for each byte of a message.
    pub byte: f64,
    /// t_c: time to combine one byte in a reduction.
    pub combine: f64,
}

impl Rates {
    /// Returns the time of a message: t_s + m t_w.
    pub fn message(&self, bytes: f64) -> f64 {
        self.startup + bytes * self.byte
    }

    /// Returns the time of a message and its combination: t_s + m t_w + m t_c.
    pub fn combined(&self, bytes: f64) -> f64 {
        self.message(bytes) + bytes * self.combine
    }
}
