//! Controllers, in closed loops with models of what they control.
#![forbid(unsafe_code)]

mod admission;
mod queue;
