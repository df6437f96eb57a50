//! What the tests of all crates share: what a test needs of its machine, the record of tests that
//! were skipped, how much is to be tested, other programs, and a runner for tests that need a
//! process of their own.
//!
//! Only tests depend on this crate.
#![forbid(unsafe_code)]

mod alone;
mod command;
mod draw;
mod extent;
mod need;
mod record;

pub use alone::{Test, run_alone};
pub use command::{KilledOnDrop, await_end, output, output_of};
pub use draw::{all_or_some, drawn_by, listed, shuffle, tell};
pub use extent::is_full;
pub use need::{Need, lacks, path_of};
pub use record::{Skip, does_not_apply, recorded, skip};
