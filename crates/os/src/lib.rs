//! Every system call of the server, and all of its `unsafe`.
//!
//! This crate holds mechanism and no policy: it accepts, receives, sends, opens, waits and forks,
//! and leaves to others when and how much. What it hands out is safe to use in any way.
#![deny(unsafe_op_in_unsafe_fn)]

mod address;
mod cachestat;
pub mod clock;
mod file;
pub mod limits;
mod listener;
pub mod poller;
pub mod process;
mod shm;
pub mod signals;
mod socket;
mod spare;
pub mod thread;
mod wait;
mod wake;

pub use address::Address;
pub use file::{Directory, File, Kind, Opened, Stat, stat_path};
pub use listener::{Blocking, Listener, Queue};
pub use poller::Poller;
pub use shm::SharedWords;
pub use socket::{Socket, is_out_of_buffers, is_out_of_descriptors, is_peer_gone};
pub use spare::SpareDescriptor;
pub use wait::wait_readable;
pub use wake::Wake;
