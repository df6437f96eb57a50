//! The architectures: who performs which step of a request, and where.
//!
//! A [`Session`](session::Session) says what it wants; each architecture performs those wants in
//! its own way, in one short file that reads like its paper. The rooms of this crate, each of which
//! uses only those above it:
//!
//! | room | holds |
//! |---|---|
//! | `session` | what an architecture drives |
//! | `shared` | what supervisor, workers and operator share: settings, counters, orders, logs |
//! | `connection` | one connection, and what is done with one, whoever does it |
//! | `loops`, `rings` | the verbs of readiness loops and of pipelines, of completion loops |
//! | `threads` | those of threads with a connection each, and of fibers: user-level ones |
//! | [`architectures`] | one file for each, and the registry |
//! | `operator` | [`knobs`], and the admin listener |
//! | `supervisor` | start, generations of workers, upgrade; [`serve`] |
//!
//! Nothing here knows a header field, opens a socket by itself or calls the kernel: `h1`, `site`
//! and `os` do.
#![forbid(unsafe_code)]

pub mod architectures;
mod connection;
mod loops;
mod operator;
mod rings;
pub mod session;
mod shared;
mod supervisor;
mod threads;

pub use operator::knobs;
pub use session::plain;
pub use shared::failure::Failure;
pub use shared::performer;
pub use shared::server::Server;
pub use shared::{counters, dials, error_log, orders, quotas, settings, tally};
pub use supervisor::judge::judge;
pub use supervisor::{Hangup, Program, Voice, serve};
