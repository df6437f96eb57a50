//! Who hears of a run while it goes on, and may end it.

use measure::{Duration, Instant};

use crate::record::Record;

/// Who hears of a run while it goes on.
pub trait Observer {
    /// A request is over.
    fn record(&mut self, record: &Record);

    /// Time passes: called some ten times a second ([`BEAT`]). Says whether the run goes on.
    fn beat(&mut self, _: Beat) -> Course {
        Course::On
    }
}

/// Who hears of records alone.
impl<F: FnMut(&Record)> Observer for F {
    fn record(&mut self, record: &Record) {
        self(record);
    }
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// The time.
    pub now: Instant,
    /// Connections that are open.
    pub open: usize,
    /// Sessions that have begun and are not over.
    pub asking: usize,
    /// Nothing begins any more; `None`: something may.
    pub over: Option<Over>,
    /// For how long it has spun in vain so far: time of its processor that it did not need.
    pub spun: Duration,
}

/// What is left of a run in which no session begins any more, and no request of one: replies are
/// waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over {
    /// From when on nothing began.
    pub since: Instant,
    /// When the waiting ends at the latest.
    pub until: Instant,
}

/// What an observer wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Course {
    /// It goes on as planned.
    On,
    /// Nothing begins any more; replies are waited for.
    Stop,
    /// Nothing is waited for any more: who has no reply by now has given up.
    Cut,
}

/// Between two calls of [`Observer::beat`].
pub const BEAT: Duration = Duration::from_millis(100);
