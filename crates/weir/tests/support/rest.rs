//! Whether a server rests while nobody does anything.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::combination::Combination;
use super::metrics::counted;
use super::processes::{ticks, workers_of};
use super::server::Server;

/// There is nothing to wait for but time in which somebody could spin.
const LOOK: Duration = Duration::from_secs(1);

/// A full worker looks every 50 ms whether others have capacity, and a clock is looked at once in a
/// while. A server that spins makes thousands of calls, however busy the machine is.
const CALLS_MAX: u64 = 50;

/// Of a hundred in a second, for those who ask for no events: who spins has all that others leave.
const TICKS_MAX: u64 = 10;

/// Nobody wakes up again and again for what is no event. `admin` is where the server answers.
pub(crate) fn check_rests(combination: &Combination, server: &Server, admin: SocketAddr) {
    let workers = workers_of(server.pid());
    let asked = || counted(admin, "getevents_calls") as u64;
    let begun = Instant::now();
    let before = (asked(), ticks(&workers));
    std::thread::sleep(LOOK);
    let (calls, ran) = (asked() - before.0, ticks(&workers) - before.1);
    // On a slow machine the sleep takes longer, and a clock is looked at more often in it.
    let looked_for = begun.elapsed().as_secs_f64() / LOOK.as_secs_f64();
    let most = |of_look: u64| of_look as f64 * looked_for;
    let told = format!("{combination}: in {looked_for:.1} s");
    assert!(calls as f64 <= most(CALLS_MAX), "{told}: asks for events {calls} times");
    assert!(ran as f64 <= most(TICKS_MAX), "{told}: runs for {ran} ticks");
}
