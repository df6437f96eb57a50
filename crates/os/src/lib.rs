//! Every system call of Weir, and all of its `unsafe`: descriptors, sockets, pollers, rings,
//! processes, threads, shared memory, signals, clocks. No policy: who does what, when and how often
//! is decided elsewhere.
//!
//! What is safe to call stays safe whatever a caller does: descriptors are owned, memory that the
//! kernel writes to is owned or borrowed for the length of the call. A call that a signal
//! interrupts is made again, or says that nothing happened.
//!
//! Its rooms: `files`, `sockets`, `processes`, [`sharing`] (what processes have in common that are
//! one server), `isolation` (what a process gives up, and hosts made of one machine), [`poller`],
//! [`ring`] and [`fiber`].
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod clock;
mod errors;
pub mod fiber;
mod files;
mod isolation;
pub mod poller;
mod processes;
pub mod ring;
pub mod sharing;
mod sockets;

pub use errors::{is_cancelled, is_out_of_buffers, is_out_of_descriptors, is_peer_gone};
pub use files::{
    Directory, Entry, File, Kind, Opened, Output, Stat, output, page_cache, read_file,
};
pub use isolation::{calls, landlock, namespace, seccomp, tun};
pub use poller::{Poller, Wake, wait_readable, wait_ready};
pub use processes::{Notices, PidFile, SharedWords, Signal, Signals};
pub use processes::{limits, notify, placement, process, signals, terminal, thread, usage, users};
pub use sockets::{
    Address, Blocking, Listener, NetCounts, Network, Queue, Socket, SpareDescriptor, Stranger,
    UnixAddress,
};
pub use sockets::{queue_drops, socket_diag};
