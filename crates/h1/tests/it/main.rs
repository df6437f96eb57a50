//! HTTP/1.1: heads, bodies, conditions, ranges and the connection, without a socket.
#![forbid(unsafe_code)]

mod client;
mod compose;
mod conditional;
mod connection;
mod date;
mod errors;
mod forwarded;
mod head;
mod negotiation;
mod proxy;
mod range;
