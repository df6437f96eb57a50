//! Places at which a worker stands still until a signal lets it go on, or kills it there: for tests
//! of what becomes of clients when a worker dies between two steps. Only builds with debug
//! assertions have them, and only where the environment says so: `WEIR_STOP=woken*2` stops the
//! first two workers that come to that place.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use os::SharedWords;

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
        let stops = Self { left: SharedWords::new(STOPS.len())? };
        if cfg!(debug_assertions)
            && let Ok(text) = std::env::var(VARIABLE)
            && let Some((name, count)) = text.split_once('*')
        {
            for (stop, _) in STOPS.iter().filter(|(_, known)| *known == name) {
                stops.left[*stop as usize].store(count.parse().unwrap_or(0), Relaxed);
            }
        }
        Ok(stops)
    }

    /// The calling worker is there.
    pub(crate) fn at(&self, stop: Stop) {
        if cfg!(debug_assertions) {
            let left = &self.left[stop as usize];
            if left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                os::process::stand_still();
            }
        }
    }
}
