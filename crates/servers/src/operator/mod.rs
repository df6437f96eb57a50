//! What an operator sees and changes.

pub(crate) mod admin;
pub mod knobs;
