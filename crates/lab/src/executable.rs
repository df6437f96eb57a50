//! The program of this process: all loads and Weir's own servers are started from it, also where
//! its file was replaced meanwhile.

use std::fs;
use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use crate::Failure;

/// What the kernel calls it, whatever its name is by now; a child's is its parent's until it runs
/// another.
pub const OWN: &str = "/proc/self/exe";

/// What tells this build from others. It compares what the same program has written of itself, so
/// any hash will do.
///
/// # Errors
/// The program cannot be read.
pub fn build() -> Result<String, Failure> {
    let program = fs::read(OWN).map_err(|error| Failure::machine(OWN, error))?;
    Ok(format!("{:016x}", FixedState::default().hash_one(program)))
}
