//! Workloads: who asks for what. Each is a file of this folder that says where its numbers are
//! from.

pub mod one_url;

use measure::draw::Stream;

use crate::files::Files;
use crate::session::Session;

/// A source of sessions.
pub trait Workload {
    /// All that may be asked for.
    fn files(&self) -> &Files;

    /// The next client's session. `sessions` draws what is asked, `thinking` the pauses.
    fn session(&mut self, sessions: &mut Stream, thinking: &mut Stream) -> Session;
}
