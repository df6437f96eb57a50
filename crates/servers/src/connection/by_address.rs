//! The porter: stands before another session where it matters whose connection it is. He hears a
//! balancer's PROXY header, and lets nobody have more than his address may.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use h1::{Found, Loaded, Now, Reply, Status, Want};
use os::File;

use crate::session::{Session, Sessions};
use crate::shared::counters::{Counter, Counters};
use crate::shared::proxy_protocol::{self, HEADER_BYTES_MAX, Header, Network};
use crate::shared::quotas::{Admission, Key, Quota};
use crate::shared::settings::Settings;

/// Bytes that are kept while a ring finds out who has sent them: as many as it has on the way.
const EARLY_BYTES_MAX: usize = 256 << 10;

/// What all porters of a worker know.
struct Lodge {
    /// Who sends a header; nobody: connections are their peers' own.
    balancers: Vec<Network>,
    admission: Mutex<Admission>,
    limits_requests: bool,
    counters: Counters,
}

/// Whether the settings want a porter.
pub(crate) fn is_wanted(settings: &Settings) -> bool {
    !settings.proxy_protocol.is_empty() || settings.quota != Quota::default()
}

/// Puts a porter before each session, if the settings want one.
pub(crate) fn before(sessions: Sessions, settings: &Settings, counters: &Counters) -> Sessions {
    if !is_wanted(settings) {
        return sessions;
    }
    let lodge = Arc::new(Lodge {
        balancers: settings.proxy_protocol.clone(),
        admission: Mutex::new(Admission::new(settings.quota)),
        limits_requests: settings.quota.requests_per_s > 0,
        counters: counters.clone(),
    });
    Arc::new(move |now| {
        let state = State::Stranger { early: Vec::new(), has_ended: false };
        Box::new(Porter { lodge: Arc::clone(&lodge), inner: sessions(now), state })
    })
}

struct Porter {
    lodge: Arc<Lodge>,
    inner: Box<dyn Session>,
    state: State,
}

/// How far a connection has come.
enum State {
    /// Nobody has said from where it is. What it has sent is kept, and whether that was all.
    Stranger { early: Vec<u8>, has_ended: bool },
    /// A balancer's, whose header is not whole yet.
    Balancer(Vec<u8>),
    /// Let in.
    Guest { source: Option<IpAddr>, key: Option<Key> },
    /// Turned away.
    Away,
}

impl Porter {
    /// It is known from where the connection is.
    fn meet(&mut self, peer: Option<IpAddr>, now: &Now) {
        let State::Stranger { early, has_ended } = &mut self.state else { return };
        let (early, has_ended) = (std::mem::take(early), *has_ended);
        if self.lodge.balancers.is_empty() {
            self.admit(peer, &early, now);
        } else if peer.is_some_and(|peer| self.lodge.is_balancer(peer)) {
            self.state = State::Balancer(Vec::new());
            self.hear(&early, now);
        } else {
            self.turn_away();
        }
        if has_ended {
            self.ended(now);
        }
    }

    /// More of a header has come, and perhaps what follows it.
    fn hear(&mut self, bytes: &[u8], now: &Now) {
        let State::Balancer(heard) = &mut self.state else { return };
        // What follows the header is kept out of the buffer, which so has a bound.
        let before = heard.len();
        let taken = bytes.len().min(HEADER_BYTES_MAX - before);
        heard.extend_from_slice(&bytes[..taken]);
        match proxy_protocol::parse(heard) {
            Header::Part => {}
            Header::Whole { bytes: n, source } => self.admit(source, &bytes[n - before..], now),
            Header::Wrong => self.turn_away(),
        }
    }

    fn admit(&mut self, source: Option<IpAddr>, bytes: &[u8], now: &Now) {
        let key = source.map(Key::of);
        if key.is_some_and(|key| !self.lodge.admission().enters(key)) {
            return self.turn_away();
        }
        self.state = State::Guest { source, key };
        if !bytes.is_empty() {
            self.inner.received(bytes, now);
        }
    }

    fn turn_away(&mut self) {
        self.lodge.counters.count(Counter::TurnedAway);
        self.state = State::Away;
    }
}

impl Lodge {
    fn is_balancer(&self, peer: IpAddr) -> bool {
        self.balancers.iter().any(|network| network.contains(peer))
    }

    // A thread that panicked has not left an account half changed.
    fn admission(&self) -> MutexGuard<'_, Admission> {
        self.admission.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        if let State::Guest { key: Some(key), .. } = self.state {
            self.lodge.admission().leaves(key);
        }
    }
}

impl Session for Porter {
    fn introduced(&mut self, peer: Option<IpAddr>, now: &Now) {
        self.meet(peer, now);
    }

    fn source(&self) -> Option<IpAddr> {
        if let State::Guest { source, .. } = self.state { source } else { None }
    }

    fn want(&self) -> Want<'_, File> {
        match &self.state {
            State::Away => Want::Close,
            // A status may be on its way to whoever is not known yet.
            _ => self.inner.want(),
        }
    }

    fn received(&mut self, bytes: &[u8], now: &Now) -> bool {
        match &mut self.state {
            State::Stranger { early, .. } if early.len() + bytes.len() <= EARLY_BYTES_MAX => {
                early.extend_from_slice(bytes);
                true
            }
            State::Stranger { .. } => {
                self.turn_away();
                false
            }
            State::Balancer(_) => {
                self.hear(bytes, now);
                matches!(self.want(), Want::Recv)
            }
            State::Guest { .. } => self.inner.received(bytes, now),
            State::Away => false,
        }
    }

    fn ended(&mut self, now: &Now) {
        match &mut self.state {
            State::Stranger { has_ended, .. } => *has_ended = true,
            _ => self.inner.ended(now),
        }
    }

    /// Counted here, where the address is known, and before a disk is touched.
    fn found(&mut self, found: Found<File>, now: &Now) {
        let found = match self.state {
            State::Guest { key: Some(key), .. }
                if self.lodge.limits_requests && !self.lodge.admission().asks(key, now.at) =>
            {
                self.lodge.counters.count(Counter::Throttled);
                Found::Status(Status::TOO_MANY_REQUESTS)
            }
            _ => found,
        };
        self.inner.found(found, now);
    }

    fn expired(&mut self, now: &Now) -> bool {
        match self.state {
            State::Guest { .. } => self.inner.expired(now),
            _ => {
                self.inner.failed();
                true
            }
        }
    }

    fn failed(&mut self) {
        self.inner.failed();
    }

    fn loaded(&mut self, loaded: Loaded<File>, now: &Now) {
        self.inner.loaded(loaded, now);
    }

    fn sent(&mut self, n: u64, now: &Now) -> Option<Reply> {
        self.inner.sent(n, now)
    }

    fn refuse(&mut self, status: Status, now: &Now) {
        self.inner.refuse(status, now);
    }

    crate::pass_on!(inner);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::plain;
    use h1::{Date, Limits, Shared};
    use measure::Instant;

    /// A ring may bring a request, and that it was the last, before it knows whose it is.
    #[test]
    fn what_came_before_the_address_is_not_lost() {
        let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let header = b"PROXY TCP4 192.0.2.7 198.51.100.1 1 80\r\n";
        let both = [&header[..], request].concat();
        // Who may send a header; what is sent, in which pieces; whether it is asked for.
        let rows: [(&str, &[&[u8]], bool); 6] = [
            ("", &[request], true),
            ("", &[&request[..9], &request[9..]], true),
            ("", &[], false),
            ("127.0.0.1", &[&both], true),
            ("127.0.0.1", &[header], false),
            ("127.0.0.1", &[request], false),
        ];
        let now = Now { at: Instant::ORIGIN, date: Date::new(0) };
        for (balancer, pieces, is_asked) in rows {
            let quota = Quota { connections_max: 1, requests_per_s: 0 };
            let balancers = balancer.parse().into_iter().collect();
            let settings = Settings { quota, proxy_protocol: balancers, ..Settings::default() };
            let counters = Counters::new(1).unwrap();
            let sessions = before(plain(&Shared::new(Limits::default())), &settings, &counters);
            for is_known_late in [false, true] {
                let mut session = sessions(&now);
                let peer = Some(IpAddr::from([127, 0, 0, 1]));
                if !is_known_late {
                    session.introduced(peer, &now);
                }
                for piece in pieces {
                    session.received(piece, &now);
                }
                session.ended(&now);
                if is_known_late {
                    session.introduced(peer, &now);
                }
                let wants = matches!(session.want(), Want::Find(_));
                assert_eq!(wants, is_asked, "{balancer:?} late {is_known_late}: {pieces:?}");
            }
        }
    }
}
