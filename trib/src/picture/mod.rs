//! Parts of which pictures are drawn.
//!
//! | module | holds |
//! |---|---|
//! | [`axis`] | the places of values, and ticks |
//! | [`ink`] | colours, rectangles, text |

pub mod axis;
pub mod ink;
