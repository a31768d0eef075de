//! stub
pub struct Progress;
