//! Sockets: those that listen, those that are connected, and what the kernel tells of them.

mod address;
mod bind;
mod connect;
mod listener;
mod net_counts;
mod network;
pub mod queue_drops;
mod reuse_port;
mod socket;
pub mod socket_diag;
mod socket_file;
mod spare;
mod stranger;
mod syn_filter;

pub use address::{Address, UnixAddress};
pub use listener::{Blocking, Listener, Queue};
pub use net_counts::NetCounts;
pub use network::Network;
pub use socket::Socket;
pub use spare::SpareDescriptor;
pub use stranger::Stranger;
