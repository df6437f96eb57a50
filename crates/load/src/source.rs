//! Where sessions come from: what all workloads are, whether built in, recorded or synthesised.

pub mod model;

use measure::Duration;
use measure::draw::Stream;

use crate::Purpose;
use crate::arrivals::Gaps;
use crate::files::Files;
use crate::session::Session;

use self::model::Model;

/// A source of sessions.
pub trait Workload {
    /// All that may be asked for.
    fn files(&self) -> &Files;

    /// A client's session, by its number in the run: 0 is the first one. `sessions` draws what is
    /// asked, `thinking` the pauses; see [`draws`]. The same number and draws give the same
    /// session, whatever was asked before.
    fn session(&mut self, number: u64, sessions: &mut Stream, thinking: &mut Stream) -> Session;

    /// When its sessions began, where it is a record of such; by default nobody knows.
    fn times(&self) -> Option<Gaps> {
        None
    }

    /// From when its first session began to its last request, where it is a record of such; by
    /// default nobody knows.
    fn lasts(&self) -> Option<Duration> {
        None
    }

    /// How often each of its files was the answer to a GET or a HEAD, in their order, where it is a
    /// record of such; by default nobody knows.
    fn asked(&self) -> Option<Vec<u32>> {
        None
    }

    /// How many sessions it has before the first one comes again, or, where it is drawn to look
    /// like a trace, as many as that had; by default it has no end.
    fn pass(&self) -> Option<u64> {
        None
    }

    /// What whoever uses it has to know, in one line: that it is synthetic, what of a log is left
    /// out. By default nothing.
    fn notes(&self) -> Option<String> {
        None
    }

    /// What its distributions come to, for comparison with what is drawn; by default nothing is
    /// known.
    fn model(&self) -> Model {
        Model::default()
    }
}

/// A workload, or in one line why there is none.
pub type Made = Result<Box<dyn Workload + Send>, String>;

/// What a session is drawn with: what it asks, and how its client thinks. A session is the same
/// whichever process performs it and whatever came before it.
#[must_use]
pub fn draws(seed: u64, number: u64) -> (Stream, Stream) {
    let stream = |purpose: Purpose| Stream::of(seed, purpose as u64, number);
    (stream(Purpose::Sessions), stream(Purpose::Thinking))
}

/// So many sessions, or as many as one pass has.
pub(crate) fn within_pass(workload: &dyn Workload, sessions: u32) -> u32 {
    let pass = workload.pass().and_then(|pass| u32::try_from(pass).ok());
    pass.map_or(sessions, |pass| pass.min(sessions))
}
