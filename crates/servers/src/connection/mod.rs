//! One connection, and what is done with one, whoever does it.

pub(crate) mod books;
pub(crate) mod by_address;
pub(crate) mod calls;
mod disk_waits;
pub(crate) mod fetches;
pub(crate) mod gate;
#[cfg(test)]
mod gate_model;
pub(crate) mod intake;
pub(crate) mod journal;
pub(crate) mod loads;
pub(crate) mod login;
pub(crate) mod pending;
pub(crate) mod perform;
pub(crate) mod places;
pub(crate) mod revalidator;
pub(crate) mod sync;
pub(crate) mod timers;

use self::journal::Journal;
use crate::session::{LOADS_MAX, Session};

/// One connection as a loop or a thread holds it: a session, and the calls by which its wants are
/// performed.
pub(crate) struct Connection<C> {
    pub(crate) calls: C,
    pub(crate) dialog: Dialog,
    /// As its view said when it last had to wait.
    pub(crate) hears: bool,
    /// It is in this round, or in the next.
    pub(crate) queued: bool,
    /// Nothing can be done for it until something happens.
    pub(crate) rests: bool,
}

/// A session, and what is told of it.
pub(crate) struct Dialog {
    pub(crate) session: Box<dyn Session>,
    /// There only if there is a log or a trace.
    pub(crate) journal: Option<Box<Journal>>,
    /// Loads that were handed over and have not come back.
    loads: u8,
}

impl<C> Connection<C> {
    pub(crate) fn new(calls: C, dialog: Dialog) -> Self {
        Self { calls, hears: dialog.session.view().hears, dialog, queued: false, rests: false }
    }
}

impl Dialog {
    pub(crate) fn new(session: Box<dyn Session>, journal: Option<Box<Journal>>) -> Self {
        Self { session, journal, loads: 0 }
    }

    /// Whether somebody else has a load of it in hand.
    pub(crate) const fn has_loads(&self) -> bool {
        self.loads > 0
    }

    /// Whether as many loads are in hand as one connection may have.
    pub(crate) fn is_loaded(&self) -> bool {
        usize::from(self.loads) >= LOADS_MAX
    }
}
