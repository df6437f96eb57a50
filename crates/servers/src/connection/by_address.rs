//! A session before another one, where it matters from which address a request is: it hears a
//! balancer's PROXY header, knows which connections are proxies', keeps the quotas of addresses,
//! and tells rules, logs and whoever counts wrong passwords whose a request is.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use h1::proxy::{self, HEADER_BYTES_MAX, Header};
use h1::{Found, LEFTOVER_BYTES_MAX, Now, Reply, Status, Tag, Want, forwarded};
use os::{File, Network};

use crate::session::{Asked, Event, Session, Sessions, View};
use crate::shared::counters::{Counter, Counters};
use crate::shared::ledger::Ledger;
use crate::shared::listening::Listening;
use crate::shared::quotas::{Key, Quota, Quotas};
use crate::shared::settings::{Proxy, Settings};

/// What these sessions of a worker share.
struct Policy {
    /// Who sends a header; nobody: connections are their peers' own.
    balancers: Vec<Network>,
    /// Who says in each request for whom it is.
    proxies: Vec<Proxy>,
    accounts: Accounts,
    limits_connections: bool,
    limits_requests: bool,
    /// Of which listening sockets connections have addresses, by their places.
    are_tcp: Vec<bool>,
    counters: Counters,
}

/// Who keeps what addresses have.
enum Accounts {
    /// Each process by itself.
    Own(Mutex<Quotas>),
    /// All processes, of which each has one connection in hand.
    Common(Arc<Ledger>),
}

/// Whether the settings want such sessions.
pub(crate) fn is_wanted(settings: &Settings) -> bool {
    let counts_failures = settings.auth_failures_per_min > 0;
    !settings.proxy_protocol.is_empty()
        || !settings.trusted_proxies.is_empty()
        || settings.rules.ask_for_addresses()
        || settings.quota != Quota::default()
        || (counts_failures && settings.rules.ask_for_passwords())
}

/// Puts one before each session, if the settings want that. `ledger`: where all processes keep what
/// addresses have.
pub(crate) fn before(
    sessions: Sessions,
    settings: &Settings,
    listeners: &Listening,
    counters: &Counters,
    ledger: Option<&Arc<Ledger>>,
) -> Sessions {
    if !is_wanted(settings) {
        return sessions;
    }
    let policy = Arc::new(Policy {
        balancers: settings.proxy_protocol.clone(),
        proxies: settings.trusted_proxies.clone(),
        accounts: match ledger {
            Some(ledger) => Accounts::Common(Arc::clone(ledger)),
            None => Accounts::Own(Mutex::new(Quotas::new(settings.quota))),
        },
        limits_connections: settings.quota.connections_max > 0,
        limits_requests: settings.quota.requests_per_s > 0,
        are_tcp: listeners.iter().map(|listener| listener.is_tcp()).collect(),
        counters: counters.clone(),
    });
    Arc::new(move |listener, now| {
        let state = State::Unknown { early: Vec::new(), has_ended: false };
        let (policy, inner) = (Arc::clone(&policy), sessions(listener, now));
        Box::new(ByAddress { policy, inner, listener, state })
    })
}

struct ByAddress {
    policy: Arc<Policy>,
    inner: Box<dyn Session>,
    /// The place of its listening socket.
    listener: usize,
    state: State,
}

/// How far a connection has come.
enum State {
    /// Nobody has said from where it is. What it has sent is kept, and whether that was all.
    Unknown { early: Vec<u8>, has_ended: bool },
    /// A balancer's, whose header is not whole yet.
    Balancer(Vec<u8>),
    /// Let in. `key`: whom the connection is counted with.
    Admitted { whose: Whose, key: Option<Key> },
    /// To be closed.
    TurnedAway,
}

/// Whose the requests of a connection are.
#[derive(Debug, Clone, Copy)]
enum Whose {
    /// All of one client, if it has an address.
    Client(Option<IpAddr>),
    /// Of those whom this proxy names in each of them.
    Proxy(Option<IpAddr>),
}

impl ByAddress {
    /// It is known from where the connection is.
    fn meet(&mut self, peer: Option<IpAddr>, now: &Now) {
        let State::Unknown { early, has_ended } = &mut self.state else { return };
        let (early, has_ended) = (std::mem::take(early), *has_ended);
        // Of TCP, one without an address is gone, and what it has sent can still be read: no work
        // is done for it that no account would pay.
        let is_gone = peer.is_none() && self.policy.are_tcp[self.listener];
        if self.policy.balancers.is_empty() && !is_gone {
            let whose = match peer {
                None if self.policy.proxies.contains(&Proxy::Unix) => Whose::Proxy(None),
                peer => self.policy.whose(peer),
            };
            self.admit(whose, &early, now);
        } else if peer.is_some_and(|peer| self.policy.is_balancer(peer)) {
            self.state = State::Balancer(Vec::new());
            self.hear(&early, now);
        } else {
            self.turn_away();
        }
        if has_ended {
            self.tell(Event::Fin, now);
        }
    }

    /// More of a header has come, and perhaps what follows it.
    fn hear(&mut self, bytes: &[u8], now: &Now) {
        let State::Balancer(heard) = &mut self.state else { return };
        // What follows the header is kept out of the buffer, which so has a bound.
        let before = heard.len();
        let taken = bytes.len().min(HEADER_BYTES_MAX - before);
        heard.extend_from_slice(&bytes[..taken]);
        match proxy::parse(heard) {
            Header::Part => {}
            Header::Whole { bytes: n, source } => {
                self.admit(self.policy.whose(source), &bytes[n - before..], now);
            }
            Header::Wrong => self.turn_away(),
        }
    }

    fn admit(&mut self, whose: Whose, bytes: &[u8], now: &Now) {
        let policy = &self.policy;
        let is_limited = policy.limits_connections || policy.limits_requests;
        let key = match whose {
            Whose::Client(source) => source.filter(|_| is_limited).map(Key::of),
            // It carries many clients, and would soon have as many as one may.
            Whose::Proxy(_) => None,
        };
        if key.is_some_and(|key| !policy.enters(key)) {
            return self.turn_away();
        }
        self.state = State::Admitted { whose, key };
        if !bytes.is_empty() {
            self.inner.tell(Event::Bytes(bytes), now);
        }
    }

    fn turn_away(&mut self) {
        self.policy.counters.count(Counter::TurnedAway);
        self.state = State::TurnedAway;
    }

    /// The client whose the request of that tag is, if it has an address.
    fn source(&self, tag: Tag) -> Option<IpAddr> {
        self.asked(tag).and_then(|asked| asked.source)
    }
}

impl Policy {
    fn is_balancer(&self, peer: IpAddr) -> bool {
        self.balancers.iter().any(|network| network.contains(peer))
    }

    fn is_proxy(&self, address: IpAddr) -> bool {
        let mut proxies = self.proxies.iter();
        proxies.any(|proxy| matches!(proxy, Proxy::Of(network) if network.contains(address)))
    }

    /// Whose the requests of a connection from there are.
    fn whose(&self, source: Option<IpAddr>) -> Whose {
        if source.is_some_and(|address| self.is_proxy(address)) {
            Whose::Proxy(source)
        } else {
            Whose::Client(source)
        }
    }

    /// What was found for a client, unless that asks too often. Counted here, where the address is
    /// known, and before a disk is touched.
    fn throttled(&self, source: Option<IpAddr>, found: Found<File>, now: &Now) -> Found<File> {
        let key = source.filter(|_| self.limits_requests).map(Key::of);
        if key.is_none_or(|key| self.asks(key, now)) {
            return found;
        }
        self.counters.count(Counter::Throttled);
        Found::Status(Status::TOO_MANY_REQUESTS)
    }

    fn enters(&self, key: Key) -> bool {
        match &self.accounts {
            Accounts::Own(quotas) => locked(quotas).enters(key),
            Accounts::Common(ledger) => ledger.enters(self.counters.worker_here(), key),
        }
    }

    fn leaves(&self, key: Key) {
        match &self.accounts {
            Accounts::Own(quotas) => locked(quotas).leaves(key),
            Accounts::Common(ledger) => ledger.leaves(self.counters.worker_here()),
        }
    }

    fn asks(&self, key: Key, now: &Now) -> bool {
        match &self.accounts {
            Accounts::Own(quotas) => locked(quotas).asks(key, now.at),
            Accounts::Common(ledger) => ledger.asks(key, now.at),
        }
    }
}

// A thread that panicked has not left an account half changed.
fn locked(quotas: &Mutex<Quotas>) -> MutexGuard<'_, Quotas> {
    quotas.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for ByAddress {
    fn drop(&mut self) {
        if let State::Admitted { key: Some(key), .. } = self.state {
            self.policy.leaves(key);
        }
    }
}

impl Session for ByAddress {
    fn want(&self) -> Want<'_, File> {
        match &self.state {
            State::TurnedAway => Want::Close,
            // A status may be on its way to whoever is not known yet.
            _ => match self.inner.want() {
                Want::Find(tag, head) => Want::Find(tag, head.sent_by(self.source(tag))),
                want => want,
            },
        }
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        match (&mut self.state, event) {
            (_, Event::Introduced(peer)) => self.meet(peer, now),
            (State::TurnedAway, Event::Bytes(_)) => {}
            (State::Unknown { early, .. }, Event::Bytes(bytes)) => {
                if early.len() + bytes.len() <= LEFTOVER_BYTES_MAX {
                    early.extend_from_slice(bytes);
                } else {
                    self.turn_away();
                }
            }
            (State::Unknown { has_ended, .. }, Event::Fin) => *has_ended = true,
            (State::Balancer(_), Event::Bytes(bytes)) => self.hear(bytes, now),
            (State::Admitted { .. }, Event::Found(tag, found)) => {
                let found = self.policy.throttled(self.source(tag), found, now);
                self.inner.tell(Event::Found(tag, found), now);
            }
            (_, event) => self.inner.tell(event, now),
        }
    }

    fn expired(&mut self, now: &Now) -> bool {
        if let State::Admitted { .. } = self.state {
            return self.inner.expired(now);
        }
        self.inner.tell(Event::Failed, now);
        true
    }

    fn next_reply(&mut self) -> Option<(Tag, Reply)> {
        self.inner.next_reply()
    }

    fn view(&self) -> View {
        self.inner.view()
    }

    fn asked(&self, tag: Tag) -> Option<Asked<'_>> {
        let asked = self.inner.asked(tag)?;
        let State::Admitted { whose, .. } = self.state else { return Some(asked) };
        let source = match whose {
            Whose::Client(source) => source,
            Whose::Proxy(proxy) => {
                forwarded::client(asked.request, proxy, |address| self.policy.is_proxy(address))
            }
        };
        Some(Asked { source: asked.source.or(source), ..asked })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::plain;
    use crate::shared::settings::Queues;
    use h1::{Date, Limits, Shared};
    use measure::Instant;
    use os::Wake;
    use site::Rules;
    use site::rules::{Effect, Host, Origin, Rule};

    /// Where nobody's address matters none is asked for.
    #[test]
    fn it_stands_where_addresses_matter() {
        let with = |effect: Effect| {
            let origin = Origin::flag("weir.toml");
            let rule = Rule { at: "/".into(), effect, origin };
            let host = Host { names: vec!["*".into()], rules: vec![rule] };
            Rules { hosts: vec![host] }
        };
        let asking = with(Effect::Auth { realm: "r".into(), users: Vec::new() });
        let quota = Quota { connections_max: 0, requests_per_s: 1 };
        let rows = [
            (Rules::default(), 20, Quota::default(), "off", false),
            (asking.clone(), 20, Quota::default(), "off", true),
            (asking, 0, Quota::default(), "off", false),
            (Rules::default(), 0, quota, "off", true),
            (Rules::default(), 0, Quota::default(), "10.0.0.1", true),
            (Rules::default(), 0, Quota::default(), "unix", true),
            (with(Effect::Allow(Vec::new())), 0, Quota::default(), "off", true),
            (with(Effect::Deny(Vec::new())), 0, Quota::default(), "off", true),
        ];
        for (rules, auth_failures_per_min, quota, proxy, expected) in rows {
            let trusted_proxies = proxy.parse().into_iter().collect();
            let told = format!("{rules:?} {auth_failures_per_min} {quota:?} {proxy}");
            let settings = Settings { rules, quota, trusted_proxies, ..Settings::default() };
            let settings = Settings { auth_failures_per_min, ..settings };
            assert_eq!(is_wanted(&settings), expected, "{told}");
        }
    }

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
        let bell = Arc::new(Wake::new().unwrap());
        let nobody_listens = Listening::new(Vec::new(), Queues::Shared, 1, bell);
        for (balancer, pieces, is_asked) in rows {
            let quota = Quota { connections_max: 1, requests_per_s: 0 };
            let balancers = balancer.parse().into_iter().collect();
            let settings = Settings { quota, proxy_protocol: balancers, ..Settings::default() };
            let counters = Counters::new(1).unwrap();
            let plain = plain(&Shared::new(Limits::default()));
            let sessions = before(plain, &settings, &nobody_listens, &counters, None);
            for is_known_late in [false, true] {
                let mut session = sessions(0, &now);
                let peer = Some(IpAddr::from([127, 0, 0, 1]));
                if !is_known_late {
                    session.tell(Event::Introduced(peer), &now);
                }
                for piece in pieces {
                    session.tell(Event::Bytes(piece), &now);
                }
                session.tell(Event::Fin, &now);
                if is_known_late {
                    session.tell(Event::Introduced(peer), &now);
                }
                let wants = matches!(session.want(), Want::Find(..));
                assert_eq!(wants, is_asked, "{balancer:?} late {is_known_late}: {pieces:?}");
            }
        }
    }
}
