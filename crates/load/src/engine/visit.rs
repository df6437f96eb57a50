//! How far a client is in its session: which request is to be made next, and when.

use measure::Instant;
use measure::draw::Stream;

use super::slab::Token;
use crate::Purpose;
use crate::session::{Request, Session};

/// A client.
#[derive(Debug)]
pub(super) struct Visit {
    /// Of the session, over the whole run.
    pub(super) number: u64,
    /// None: the client is between two of them.
    session: Option<Session>,
    /// What is left to chance in it.
    pub(super) draws: Draws,
    /// The place of the next request: burst, and request in it.
    burst: u32,
    index: u32,
    /// Requests made so far.
    made: u32,
    /// Requests that are not over.
    outstanding: u32,
    /// When the session or the burst was to begin, or the last request was over.
    ready: Instant,
    /// A request has failed, which ends the session as soon as the others are over.
    has_failed: bool,
    /// Its connections, but for those that only wait for the server to end them.
    pub(super) connections: Vec<Token>,
}

/// What a session draws that its workload leaves open: streams of its own, so that what a client
/// does depends on no other's.
#[derive(Debug)]
pub(super) struct Draws {
    /// Which requests are conditional.
    pub(super) behaving: Stream,
    /// Whose content is compared.
    pub(super) verifying: Stream,
}

impl Draws {
    /// Those of the session of this number.
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let of = |purpose: Purpose| Stream::of(seed, purpose as u64, number);
        Self { behaving: of(Purpose::Behaviour), verifying: of(Purpose::Verifying) }
    }
}

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Makes a request.
    Ask(Due),
    /// Nothing until then.
    Wait(Instant),
    /// Nothing until a request is over.
    Await,
    /// The session is over.
    Over,
}

/// A request whose time has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) burst: u32,
    pub(super) index: u32,
    /// In the session, from 0.
    pub(super) place: u32,
    pub(super) intended: Instant,
}

impl Visit {
    /// A client that begins its first session at `at`.
    pub(super) fn new(at: Instant) -> Self {
        Self {
            number: 0,
            session: None,
            draws: Draws::new(0, 0),
            burst: 0,
            index: 0,
            made: 0,
            outstanding: 0,
            ready: at,
            has_failed: false,
            connections: Vec::new(),
        }
    }

    /// Begins a session that was to begin at `at`.
    pub(super) fn begin(&mut self, number: u64, session: Session, draws: Draws, at: Instant) {
        let connections = std::mem::take(&mut self.connections);
        let session = Some(session);
        *self = Self { number, session, draws, connections, ..Self::new(at) };
    }

    /// Is between two sessions; the next one is to begin at `at`.
    pub(super) fn rest(&mut self, at: Instant) {
        self.session = None;
        self.ready = at;
    }

    /// When the next session is to begin, if the client is between two.
    pub(super) fn begins(&self) -> Option<Instant> {
        self.session.is_none().then_some(self.ready)
    }

    /// Whether all requests of the session were answered, and there was one.
    pub(super) const fn was_answered(&self) -> bool {
        self.made > 0 && !self.has_failed
    }

    /// A request of the session.
    pub(super) fn request(&self, burst: u32, index: u32) -> Option<&Request> {
        self.session.as_ref()?.bursts.get(burst as usize)?.requests.get(index as usize)
    }

    /// Whether no request of the session comes behind this one.
    pub(super) fn is_last(&self, burst: u32, index: u32) -> bool {
        !self.has_from(burst, index + 1)
    }

    /// Whether the session has a request that is not made yet, and may be.
    pub(super) fn asks_on(&self) -> bool {
        !self.has_failed && self.has_from(self.burst, self.index)
    }

    /// Whether the session has a request from this place on.
    fn has_from(&self, burst: u32, index: u32) -> bool {
        let bursts = self.session.as_ref().map_or(&[][..], |session| &session.bursts);
        let mut from = bursts.iter().skip(burst as usize);
        let in_burst = from.next().is_some_and(|burst| burst.requests.len() > index as usize);
        in_burst || from.any(|burst| !burst.requests.is_empty())
    }

    /// A request that was made is over.
    pub(super) fn settled(&mut self, has_failed: bool, now: Instant) {
        self.outstanding = self.outstanding.saturating_sub(1);
        self.has_failed |= has_failed;
        self.ready = self.ready.max(now);
    }

    /// What is to be done now, with at most `lanes` requests at the same time, of which none begins
    /// from `stop` on; nobody leaves before then because of it. A request that is told counts as
    /// made.
    pub(super) fn next(&mut self, lanes: u32, stop: Instant, now: Instant) -> Next {
        let Some(session) = &self.session else { return Next::Await };
        let idle = if self.outstanding == 0 { Next::Over } else { Next::Await };
        while !self.has_failed {
            let Some(burst) = session.bursts.get(self.burst as usize) else { break };
            let Some(request) = burst.requests.get(self.index as usize) else {
                if self.outstanding > 0 {
                    return Next::Await;
                }
                self.ready = self.ready + burst.think;
                (self.burst, self.index) = (self.burst + 1, 0);
                continue;
            };
            let room = match self.index {
                0 | 1 => 1,
                _ => lanes,
            };
            if self.outstanding >= room {
                return Next::Await;
            }
            let intended = self.ready + request.pause;
            if intended >= stop {
                // Thinks on, and keeps its connections: what a server holds at the end of a run
                // is what it held all along.
                if now < stop {
                    return Next::Wait(stop);
                }
                break;
            }
            if intended > now {
                return Next::Wait(intended);
            }
            let due = Due { burst: self.burst, index: self.index, place: self.made, intended };
            self.index += 1;
            self.made += 1;
            self.outstanding += 1;
            return Next::Ask(due);
        }
        idle
    }
}

#[cfg(test)]
mod tests {
    use measure::Duration;

    use super::*;
    use crate::files::FileId;
    use crate::session::Burst;

    fn ms(ms: u64) -> Instant {
        Instant::from_ms(ms)
    }

    /// Two bursts, of three requests and of one, with a second between them; the third request
    /// comes after a pause of 100 ms. It begins after 10 ms.
    fn visit() -> Visit {
        let request =
            |pause| Request { pause: Duration::from_millis(pause), ..Request::get(FileId(0)) };
        let burst = |pauses: &[u64]| Burst {
            requests: pauses.iter().copied().map(request).collect(),
            think: Duration::from_secs(1),
        };
        let mut visit = Visit::new(ms(0));
        let session = Session { bursts: vec![burst(&[0, 0, 100]), burst(&[0])] };
        visit.begin(7, session, Draws::new(1, 0), ms(10));
        visit
    }

    fn due(burst: u32, index: u32, place: u32, at: u64) -> Next {
        Next::Ask(Due { burst, index, place, intended: ms(at) })
    }

    #[test]
    fn requests_are_made_one_after_the_other() {
        let mut visit = visit();
        let stop = ms(10_000);
        assert_eq!(visit.next(1, stop, ms(5)), Next::Wait(ms(10)));
        assert_eq!(visit.next(1, stop, ms(12)), due(0, 0, 0, 10));
        assert_eq!(visit.next(1, stop, ms(13)), Next::Await);
        visit.settled(false, ms(20));
        assert_eq!(visit.next(1, stop, ms(20)), due(0, 1, 1, 20));
        assert_eq!(visit.next(1, stop, ms(20)), Next::Await);
        visit.settled(false, ms(30));
        assert_eq!(visit.next(1, stop, ms(30)), Next::Wait(ms(130)));
        assert_eq!(visit.next(1, stop, ms(131)), due(0, 2, 2, 130));
        visit.settled(false, ms(140));
        assert_eq!(visit.next(1, stop, ms(140)), Next::Wait(ms(1140)));
        assert_eq!(visit.next(1, stop, ms(1140)), due(1, 0, 3, 1140));
        visit.settled(false, ms(1150));
        assert_eq!(visit.next(1, stop, ms(1150)), Next::Over);
    }

    #[test]
    fn all_but_the_first_of_a_burst_are_made_together() {
        let mut visit = visit();
        let stop = ms(10_000);
        assert_eq!(visit.next(9, stop, ms(10)), due(0, 0, 0, 10));
        assert_eq!(visit.next(9, stop, ms(10)), Next::Await);
        visit.settled(false, ms(20));
        assert_eq!(visit.next(9, stop, ms(20)), due(0, 1, 1, 20));
        assert_eq!(visit.next(9, stop, ms(20)), Next::Wait(ms(120)));
        assert_eq!(visit.next(9, stop, ms(120)), due(0, 2, 2, 120));
        assert_eq!(visit.next(9, stop, ms(120)), Next::Await);
        visit.settled(false, ms(130));
        assert_eq!(visit.next(9, stop, ms(130)), Next::Await);
        visit.settled(false, ms(131));
        assert_eq!(visit.next(9, stop, ms(131)), Next::Wait(ms(1131)));
    }

    #[test]
    fn the_last_request_is_known() {
        let visit = visit();
        let rows = [(0, 0, false), (0, 2, false), (1, 0, true), (2, 0, true)];
        for (burst, index, expected) in rows {
            assert_eq!(visit.is_last(burst, index), expected, "{burst}, {index}");
        }
        let requests = vec![Request::get(FileId(0)); 2];
        let bursts = vec![Burst { requests, ..Burst::default() }, Burst::default()];
        let mut visit = Visit::new(ms(0));
        visit.begin(0, Session { bursts }, Draws::new(1, 0), ms(0));
        assert_eq!([visit.is_last(0, 0), visit.is_last(0, 1)], [false, true]);
    }

    #[test]
    fn a_session_ends_early_by_a_failure_or_the_runs_end() {
        let mut failed = visit();
        assert_eq!(failed.next(1, ms(10_000), ms(10)), due(0, 0, 0, 10));
        failed.settled(true, ms(20));
        assert_eq!(failed.next(1, ms(10_000), ms(20)), Next::Over);
        let mut stopped = visit();
        assert_eq!(stopped.next(1, ms(20), ms(15)), due(0, 0, 0, 10));
        assert_eq!(stopped.next(1, ms(20), ms(25)), Next::Await);
        stopped.settled(false, ms(30));
        assert_eq!(stopped.next(1, ms(20), ms(30)), Next::Over);
        let mut thinking = visit();
        for at in [10, 20] {
            assert!(matches!(thinking.next(1, ms(50), ms(at)), Next::Ask(_)), "{at}");
            thinking.settled(false, ms(at + 10));
        }
        assert_eq!(thinking.next(1, ms(50), ms(30)), Next::Wait(ms(50)));
        assert_eq!(thinking.next(1, ms(40), ms(35)), Next::Wait(ms(40)));
        assert_eq!(thinking.next(1, ms(50), ms(50)), Next::Over);
        let mut none = Visit::new(ms(10));
        assert_eq!(none.next(1, ms(20), ms(10)), Next::Await);
        none.begin(0, Session::default(), Draws::new(1, 0), ms(10));
        assert_eq!(none.next(1, ms(20), ms(10)), Next::Over);
        none.rest(ms(15));
        assert_eq!((none.next(1, ms(20), ms(10)), none.begins()), (Next::Await, Some(ms(15))));
    }
}
