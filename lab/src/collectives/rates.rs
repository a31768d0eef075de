//! The cost parameters of the algorithms' formulas: Hockney's model, and the cost of a combination.

/// Cost parameters, in any unit of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// t_s: the startup time of a message.
    pub startup: f64,
    /// t_w: the time of a byte of a message.
    pub byte: f64,
    /// t_c: the time to combine a byte.
    pub combine: f64,
}

impl Rates {
    /// The time of a message: t_s + m t_w.
    pub fn message(&self, bytes: f64) -> f64 {
        self.startup + bytes * self.byte
    }

    /// The time of a message and its combination: t_s + m t_w + m t_c.
    pub fn combined(&self, bytes: f64) -> f64 {
        self.message(bytes) + bytes * self.combine
    }
}
