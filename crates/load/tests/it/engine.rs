//! Runs against tiny servers over real sockets, of which most misbehave.

mod ends;
mod faults;
mod loops;
mod observers;
mod parts;
mod reads;
mod server;
mod sessions;
