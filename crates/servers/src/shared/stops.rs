//! Places at which a worker stands still until a signal lets it go on, or kills it there: for tests
//! of what becomes of clients when a worker dies between two steps. Only builds with debug
//! assertions have them, and only where the environment says so: `WEIR_STOP=woken*2` stops the
//! first two workers that come to that place.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use os::SharedWords;
use os::sharing::stops::{self, Stop as Place};

const VARIABLE: &str = "WEIR_STOP";

/// The places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Somebody waits, and is yet to be accepted.
    Woken,
    /// Somebody was accepted, and nothing is noted of him.
    Accepted,
}

const STOPS: [(Stop, &str); 2] = [(Stop::Woken, "woken"), (Stop::Accepted, "accepted")];

/// Places in what workers share that are kept: each is told once it serves that it is to stop when
/// it comes there.
const SHARED: [(Place, &str); 12] = [
    (Place::Made, "made"),
    (Place::Cleared, "cleared"),
    (Place::Closed, "closed"),
    (Place::Unlocked, "unlocked"),
    (Place::Woken, "woken-for-lock"),
    (Place::Locked, "locked"),
    (Place::Copied, "copied"),
    (Place::Given, "given"),
    (Place::Published, "published"),
    (Place::Lent, "lent"),
    (Place::Retired, "retired"),
    (Place::Swept, "swept"),
];

/// How many workers are yet to stop at each place: words of all of them.
pub(crate) struct Stops {
    left: SharedWords,
}

impl Stops {
    /// As the environment says.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub(crate) fn new() -> io::Result<Self> {
        let stops = Self { left: SharedWords::new(STOPS.len() + SHARED.len())? };
        if cfg!(debug_assertions)
            && let Ok(text) = std::env::var(VARIABLE)
            && let Some((name, count)) = text.split_once('*')
        {
            let names = STOPS.map(|(_, known)| known).into_iter();
            let names = names.chain(SHARED.map(|(_, known)| known));
            for (left, _) in stops.left.iter().zip(names).filter(|(_, known)| *known == name) {
                left.store(count.parse().unwrap_or(0), Relaxed);
            }
        }
        Ok(stops)
    }

    /// The calling worker is there.
    pub(crate) fn at(&self, stop: Stop) {
        if cfg!(debug_assertions) && self.is_next(stop as usize) {
            os::process::stand_still();
        }
    }

    /// The calling worker serves.
    pub(crate) fn begin(&self) {
        if cfg!(debug_assertions) {
            let next = (STOPS.len()..).zip(SHARED).find(|(at, _)| self.is_next(*at));
            next.iter().for_each(|(_, (place, _))| stops::stop_at(*place));
        }
    }

    fn is_next(&self, at: usize) -> bool {
        self.left[at].fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}
