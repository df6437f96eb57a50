//! Verbs of fibers, each with a connection, all on one thread.
//!
//! A fiber's calls look as if they blocked. Where one would, the fiber parks, and the scheduler
//! resumes it when the poller, a worker, a verdict or a deadline tells of it. Nothing of the
//! scheduler is borrowed while a fiber is parked: another one that asked for it would panic.

mod calls;
mod running;
pub(crate) mod scheduler;
mod slots;
mod stacks;

pub(crate) use self::running::Running;
pub(crate) use self::scheduler::Scheduler;
pub(crate) use self::stacks::Fibers;
