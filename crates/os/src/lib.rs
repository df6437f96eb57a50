//! Every system call of Weir, and all of its `unsafe`: descriptors, sockets, pollers, rings,
//! processes, threads, shared memory, signals, clocks. No policy: who does what, when and how often
//! is decided elsewhere.
//!
//! What is safe to call stays safe whatever a caller does: descriptors are owned, memory that the
//! kernel writes to is owned or borrowed for the length of the call. A call that a signal
//! interrupts is made again, or says that nothing happened.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

mod address;
pub mod calls;
pub mod clock;
mod connect;
mod directory;
mod errors;
mod file;
mod handed;
pub mod landlock;
pub mod limits;
mod listener;
pub mod namespace;
mod net_counts;
pub mod notify;
pub mod output;
pub mod page_cache;
pub mod placement;
pub mod poller;
pub mod process;
pub mod queue_drops;
mod readable;
pub mod ring;
pub mod seccomp;
mod shared_words;
pub mod signals;
mod socket;
pub mod socket_diag;
mod spare;
mod stat;
mod stranger;
pub mod terminal;
pub mod thread;
pub mod tun;
pub mod users;
mod wake;

pub use address::Address;
pub use directory::{Directory, Opened};
pub use errors::{is_cancelled, is_out_of_buffers, is_out_of_descriptors, is_peer_gone};
pub use file::File;
pub use listener::{Blocking, Listener, Queue};
pub use net_counts::NetCounts;
pub use output::Output;
pub use poller::Poller;
pub use readable::wait_readable;
pub use shared_words::SharedWords;
pub use signals::{Signal, Signals};
pub use socket::Socket;
pub use spare::SpareDescriptor;
pub use stat::{Kind, Stat};
pub use stranger::Stranger;
pub use wake::Wake;
