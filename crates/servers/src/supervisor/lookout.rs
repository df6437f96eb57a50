//! Looks at the listening queues where processes have one connection each.
//!
//! What decides which connections are admitted has to look often, and always be the same. Such a
//! process looks only between two connections, of which one may take minutes. So the supervisor
//! does, which serves none. When more connections wait than processes are free it evicts those that
//! have waited for longest, as many as wait.

use std::mem;

use measure::{Duration, Instant};

use crate::connection::gate::behind_min;
use crate::connection::intake::Intake;
use crate::shared::architecture::Holder;
use crate::shared::server::{Server, Worker};

/// How often it looks: as soon as the controllers ask for it, in a flood and while it evicts; while
/// connections come or no process is free; and else.
const LOOK_FLOOD: Duration = Duration::from_millis(2);
const LOOK_BUSY: Duration = Duration::from_millis(20);
/// A site that nobody asks for costs ten looks a second.
const LOOK_IDLE: Duration = Duration::from_millis(100);

/// For how long a connection waits, while none is accepted, before the supervisor looks whether the
/// processes that should be free are.
const STUCK_FOR: Duration = Duration::from_millis(50);

/// See the head of this file.
pub(crate) struct Lookout {
    intake: Intake,
    due: Instant,
    /// Connections that were accepted by the last look.
    accepted: u64,
    /// Since when some connection has waited, while none was accepted. `None`: none waits.
    waits_since: Option<Instant>,
    /// Processes that should be free and were seen not to be: they are stopped, or have not closed
    /// an evicted connection yet.
    late: usize,
}

impl Lookout {
    /// There where it is needed.
    pub(crate) fn new(server: &Server) -> Option<Self> {
        let is_needed = server.architecture.holder == Holder::Process;
        let intake = || Intake::new(&Worker::lookout(server), 1);
        is_needed.then(|| Self {
            intake: intake(),
            due: Instant::ORIGIN,
            accepted: 0,
            waits_since: None,
            late: 0,
        })
    }

    /// When to look again.
    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    /// Looks, if that is due, and sets what follows.
    pub(crate) fn look(&mut self, server: &Server, now: Instant) {
        if now < self.due {
            return;
        }
        let accepted = (0..server.listeners.len()).map(|place| server.admissions.accepted(place));
        let accepted = accepted.sum();
        let is_busy = mem::replace(&mut self.accepted, accepted) != accepted;
        self.intake.watch(&Worker::lookout(server), now);
        let need = self.make_room(server, now, is_busy);
        self.due = now
            + match need {
                Need::Room => LOOK_FLOOD,
                _ if server.is_flooded() => LOOK_FLOOD,
                Need::None { is_any_free: true } if !is_busy => LOOK_IDLE,
                Need::None { .. } => LOOK_BUSY,
            };
    }

    /// Evicts as many connections as wait and have no process. If none may be evicted, and none has
    /// been, processes that are busy close their connections after the reply. `is_busy`: some were
    /// accepted since the last look.
    fn make_room(&mut self, server: &Server, now: Instant, is_busy: bool) -> Need {
        let Some(common) = &server.common else { return Need::None { is_any_free: true } };
        let (board, Server { counters, orders, .. }) = (&common.scoreboard, server);
        let is_there = |n: usize| counters.is_ready(n) && !orders.of(n).is_draining();
        let waiting = Worker::lookout(server).waiting();
        if waiting == 0 || is_busy {
            self.waits_since = None;
        }
        if now - *self.waits_since.get_or_insert(now) >= STUCK_FOR {
            self.waits_since = None;
            let is_late = |n| board.is_evicted(n) || !counters.runs(n);
            self.late = board.free_soon(|n| is_there(n) && is_late(n));
        } else if waiting == 0 {
            self.late = 0;
        }
        let free = board.free_soon(is_there).saturating_sub(self.late);
        let wanted = waiting.saturating_sub(free);
        let slow_since = now - behind_min(counters.workers(), wanted);
        let wake = |worker| orders.wake(worker).wake();
        let evicted = board.evict(wanted, (now, slow_since), is_there, wake);
        board.press(wanted > 0 && free + evicted == 0);
        match wanted {
            0 => Need::None { is_any_free: free > 0 },
            _ if free + evicted > 0 || board.has_evictable(is_there) => Need::Room,
            _ => Need::None { is_any_free: false },
        }
    }
}

/// Whether connections need processes.
enum Need {
    /// More wait than processes are free, and connections are evicted for them, or soon will be.
    Room,
    None {
        is_any_free: bool,
    },
}
