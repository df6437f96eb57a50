//! Whether a server rests while nobody does anything.

use std::net::SocketAddr;
use std::time::Duration;

use super::metrics::counted;
use super::processes::{ticks, workers_of};
use super::server::{Combination, Server};

/// There is nothing to wait for but time in which somebody could spin.
const LOOK: Duration = Duration::from_secs(1);

/// A clock that is looked at once in a while, and some for good measure: who spins makes thousands,
/// however many others want the processor.
const CALLS_MAX: u64 = 20;

/// Of a hundred in a second, for those who ask for no events: who spins has all that others leave.
const TICKS_MAX: u64 = 10;

/// Nobody wakes up again and again for what is no event. `admin` is where the server answers.
pub(crate) fn check_rests(combination: &Combination, server: &Server, admin: SocketAddr) {
    let workers = workers_of(server.pid());
    let asked = || counted(admin, "getevents_calls") as u64;
    let before = (asked(), ticks(&workers));
    std::thread::sleep(LOOK);
    let (calls, ran) = (asked() - before.0, ticks(&workers) - before.1);
    assert!(calls <= CALLS_MAX, "{combination}: asks for events {calls} times");
    assert!(ran <= TICKS_MAX, "{combination}: runs for {ran} ticks");
}
