//! The parts of which pictures are composed.
//!
//! | module | holds |
//! |---|---|
//! | [`axis`] | the coordinates of values on an axis, and its ticks |
//! | [`ink`] | colours, rectangles, text |

pub mod axis;
pub mod ink;
