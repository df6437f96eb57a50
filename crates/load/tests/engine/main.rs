//! Runs against tiny servers over real sockets, of which most misbehave.

mod faults;
mod loops;
mod server;
mod sessions;
