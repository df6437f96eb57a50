//! Processes and threads: started, signalled, bounded, ended, and the memory that they share.

pub(crate) mod alone;
pub(crate) mod handed;
pub mod limits;
mod memory;
mod notices;
pub mod notify;
mod pid_file;
pub mod placement;
pub mod process;
mod queue;
mod shared_words;
pub mod signals;
pub(crate) mod still;
mod sync;
pub mod terminal;
pub mod thread;
pub mod usage;
pub mod users;

pub use notices::Notices;
pub use pid_file::PidFile;
pub use shared_words::SharedWords;
pub use signals::{Signal, Signals};
