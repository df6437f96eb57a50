//! HTTP/1.1 without I/O: one connection as a state machine that wants exactly one thing at a time.
//!
//! This crate never opens a socket or a file, never reads a clock and never logs. Whoever drives a
//! [`Connection`] asks what it wants, performs that in its own way, and tells it so:
//!
//! 1. [`Connection::want`] says what is to be done next; asking changes nothing.
//! 2. `Recv`: hand over bytes with [`Connection::received`], or the end with [`Connection::ended`].
//! 3. `Find`: look the request up in memory, answer with [`Connection::found`].
//! 4. `Load`: do what may touch the disk, answer with [`Connection::loaded`]; or have it done, say
//!    so with [`Connection::handed_over`], and answer when it has been.
//! 5. `Send`: put bytes on the wire, report how many with [`Connection::sent`], and ask
//!    [`Connection::next_reply`] whether a reply has become complete by them.
//! 6. `Shut`: send FIN, then call [`Connection::shut`]; the connection then reads away what comes.
//! 7. `Close`: drop the connection.
//!
//! At any time: [`Connection::failed`] when the peer or the machine broke it off,
//! [`Connection::refuse`] to answer with a status and close, [`Connection::drain`] to finish what
//! is in hand and close, [`Connection::retire`] to do so without haste, and
//! [`Connection::expired`] when [`Connection::deadline`] has passed.
//!
//! The client's side is an [`Exchange`](client::Exchange) for each request.
//!
//! HTTP/1.1 has one request in hand. Whatever has several gives each a [`Tag`], which comes back
//! with what was found and loaded for it.
//!
//! What a balancer says before the first byte is read by [`proxy`], what a proxy says in each
//! request by [`forwarded`], and what a log tells of a reply is written by [`log_entry`].
#![forbid(unsafe_code)]

mod block;
pub mod body;
pub mod client;
pub mod compose;
pub mod conditional;
mod connection;
pub mod forwarded;
mod head;
mod inbox;
mod limits;
pub mod log_entry;
pub mod negotiation;
mod now;
pub mod proxy;
pub mod range;
mod reply;
pub mod state;
mod status;
mod want;
mod words;

pub use block::{Block, Shared};
pub use connection::{Connection, Deadline, LEFTOVER_BYTES_MAX, Timeout};
pub use head::{Asked, Field, Framing, Head, Method, Persistence, Refusal, Request, Version};
pub use limits::Limits;
pub use log_entry::LogFormat;
pub use negotiation::{Coding, Codings};
pub use now::{Date, Now};
pub use reply::Reply;
pub use status::Status;
pub use want::{
    Answer, Chunk, Content, Credentials, FilePart, Found, Loaded, Lookup, Miss, Representation,
    Tag, Want,
};
pub use words::{Bounds, Wording, Words};
