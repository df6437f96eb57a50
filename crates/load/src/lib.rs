//! The load generator: it asks a web server more than it can answer, and tells what happened.
//!
//! A run is five values, each of which can be any of several, with a stream of random numbers of
//! its own: [`Arrivals`](arrivals::Arrivals) say when a client comes, a
//! [`Workload`](source::Workload) what its [`Session`](session::Session) asks, a
//! [`Behaviour`](behaviour::Behaviour) how patient it is, a [`Stop`](stop::Stop) when it is over,
//! and collectors what is kept of each [`Record`](record::Record). The engine performs them and
//! knows nothing of distributions; they know nothing of sockets.
#![forbid(unsafe_code)]

pub mod arrivals;
pub mod behaviour;
pub mod bracket;
pub mod choices;
pub mod collector;
pub mod description;
pub mod engine;
pub mod expectation;
pub mod files;
pub mod gates;
pub mod knob;
pub mod knobs;
pub mod machine;
pub mod record;
pub mod report;
pub mod run;
pub mod session;
pub mod site_files;
pub mod source;
pub mod stop;
pub mod task;
pub mod trace;
pub mod units;
pub mod url;
pub mod workload;

/// What the streams of random numbers of a run are for: each purpose has one of its own, so that a
/// change of one choice leaves the others' draws as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// When sessions begin.
    Arrivals = 1,
    /// What they ask.
    Sessions = 2,
    /// How long they think.
    Thinking = 3,
    /// Which requests are conditional.
    Behaviour = 4,
    /// What a synthesised trace looks like.
    Synthesis = 5,
    /// How long clients of a closed loop rest between two sessions.
    Resting = 6,
    /// Whose content is verified.
    Verifying = 7,
}
