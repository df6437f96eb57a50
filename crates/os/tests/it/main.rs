//! Sockets, pollers, rings, files, queues and fibers against the kernel, in one program.

mod connect;
mod connection;
mod directory;
mod fiber;
mod following;
mod listener;
mod lock_model;
mod namespace;
mod network;
mod nobody;
mod notify;
mod page_cache;
mod poller;
mod probes;
mod queue;
mod queue_model;
mod reuse_port;
mod ring;
mod ring_sockets;
mod socket;
mod stage;
mod syn_filter;
mod thread;
mod wake;
