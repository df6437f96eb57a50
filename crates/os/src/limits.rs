//! What the machine allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that a process may have; raises its soft limit to the hard one.
#[must_use]
pub fn descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let raised = setrlimit(Resource::Nofile, raised).is_ok();
    let limit = if raised { limit.maximum } else { limit.current };
    limit.unwrap_or(1 << 20)
}
