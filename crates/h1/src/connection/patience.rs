//! How long a connection waits, and what it does then.

use measure::{Duration, Instant};

use super::{Connection, Ending, State};
use crate::reply::Rate;
use crate::{Now, Refusal, Status, state::Event};

/// Which patience of ours a deadline belongs to. All deadlines of one kind lie equally far ahead
/// when they are set, so a driver can keep one first-in-first-out list for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// [`crate::Limits::head_timeout`]
    Head,
    /// [`crate::Limits::idle_timeout`]
    Idle,
    /// [`crate::Limits::rate_window`], in which a body or an answer must get on.
    Rate,
    /// [`crate::Limits::linger_timeout`]
    Linger,
}

/// When [`Connection::expired`] is due, and by which patience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// The patience.
    pub timeout: Timeout,
    /// The moment.
    pub at: Instant,
    /// Since when the peer has kept the connection waiting, so that it can be closed for another
    /// one; while a body is received or an answer is sent, since when it has been slower than
    /// [`crate::Limits::crowded_rate_min`]. `None`: it cannot.
    pub waits_since: Option<Instant>,
}

impl<F> Connection<F> {
    /// The deadline has passed: refuses (408), closes, or goes on where the rate was good enough.
    /// Before the deadline it does nothing. Returns whether patience was over.
    pub fn expired(&mut self, now: &Now) -> bool {
        if self.deadline().is_none_or(|due| due.at > now.at) {
            return false;
        }
        let goes_on = match &mut self.state {
            State::Body { rate, .. } => rate.goes_on(&self.limits, now.at),
            State::Send { sending, .. } | State::Continue { sending, .. } => {
                sending.rate.goes_on(&self.limits, now.at)
            }
            _ => false,
        };
        let asks = match self.state {
            State::Head { .. } => self.inbox.len() > 0,
            State::Body { .. } => true,
            _ => false,
        };
        match () {
            () if goes_on => {}
            () if self.may_be_silent() => self.go(Event::Shuts, State::Shut),
            () if asks => self.refused(Refusal(Status::REQUEST_TIMEOUT), now),
            // Who has asked nothing is told nothing; who does not take a reply gets no other.
            () => self.go(Event::Over, State::Closed),
        }
        !goes_on
    }

    /// Whether it is drained and has asked nothing.
    fn may_be_silent(&self) -> bool {
        let waits = matches!(self.state, State::Head { .. } | State::Idle { .. });
        self.ending != Ending::No && waits && self.inbox.len() == 0
    }

    /// When and by which patience `expired` is due; nothing while the disk is waited for.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        let due = |timeout, since: Instant, patience: Duration| {
            Some(Deadline { timeout, at: since + patience, waits_since: Some(since) })
        };
        let rate_due = |rate: &Rate| {
            let at = rate.since + self.limits.rate_window;
            let waits_since = (self.limits.crowded_rate_min > 0).then_some(rate.behind_since);
            Some(Deadline { timeout: Timeout::Rate, at, waits_since })
        };
        match &self.state {
            // A request already on its way still comes; the last reply may have promised so.
            State::Head { since, .. } | State::Idle { since } if self.may_be_silent() => {
                match self.ending {
                    Ending::Retires => due(Timeout::Idle, *since, self.limits.idle_grace),
                    _ => due(Timeout::Linger, *since, self.limits.linger_timeout),
                }
            }
            State::Idle { since } => due(Timeout::Idle, *since, self.limits.idle_timeout),
            State::Head { since, .. } => due(Timeout::Head, *since, self.limits.head_timeout),
            State::Body { rate, .. } => rate_due(rate),
            State::Send { sending, .. } | State::Continue { sending, .. } => {
                rate_due(&sending.rate)
            }
            State::Linger { begun, since } => {
                let at = *since + self.limits.linger_timeout;
                let at = at.min(*begun + self.limits.linger_max);
                Some(Deadline { timeout: Timeout::Linger, at, waits_since: None })
            }
            _ => None,
        }
    }
}
