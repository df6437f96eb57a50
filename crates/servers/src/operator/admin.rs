//! The admin listener: health, metrics, knobs and the live page, served by the supervisor.
//!
//! The supervisor has one thread and waits for signals; this waits in its place, for signals and
//! for admin connections together, and never blocks for one of these. What it tells it reads from
//! memory that the workers share, so it answers as fast while they are overloaded. The connections
//! speak through [`h1::Connection`], as the site's do; all content is in memory.

mod answers;
mod metrics;
mod state;

use std::io;
use std::sync::Arc;

use h1::{Connection, Limits, Loaded, Now, Shared, Status, Want};
use measure::{Duration, Instant};
use os::poller::{Interest, Mechanism, Poller};
use os::{Address, Blocking, Listener, Signal, Signals, Socket};

use crate::connection::gate::REFUSED_FOR;
use crate::connection::slots::{Slots, TOKENS_END};
use crate::shared::failure::Failure;
use crate::shared::server::Clock;
use crate::shared::server::Server;
use crate::shared::settings::{ADMIN_DEFAULT, AdminAt, Settings};

/// What the supervisor lends for an answer.
pub(crate) struct View<'v> {
    /// Counters, listeners and settings of those who serve; its orders say whether they drain.
    pub(crate) server: &'v Server,
    /// Which generation of workers they are, the first being 1.
    pub(crate) generation: u32,
}

/// The listener and its connections.
pub(crate) struct Admin<'s> {
    signals: &'s Signals,
    listening: Listening,
    poller: Poller,
    peers: Slots<Client>,
    limits: Shared<Limits>,
    clock: Clock,
    buffer: Vec<u8>,
}

/// No content of the admin listener is in a file.
#[derive(Debug)]
enum NoFile {}

enum Listening {
    /// `rests`: until then, because there was no room for who waits.
    At { listener: Arc<Listener>, is_unix: bool, rests: Option<Instant> },
    /// It does not, and the operator is to be told why, unless he wanted it so.
    Not { why: Option<String> },
}

struct Client {
    socket: Socket,
    connection: Connection<NoFile>,
    from: From,
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// Who may open the Unix socket: no browser can.
    Socket,
    /// This machine: perhaps a page of somebody else's in a browser.
    ThisMachine,
    /// Another machine.
    Elsewhere,
}

/// Where a connection stands after one want.
enum Progress {
    /// Performed.
    Went,
    /// Nothing more until the socket is ready for this.
    Blocked(Interest),
    /// It is to be dropped.
    Over,
}

/// A page for each person of a large team, and a scraper or two; the supervisor has descriptors
/// enough for so many whatever the limit is.
const CONNECTIONS_MAX: usize = 32;
/// Who waits beyond these.
const BACKLOG: u32 = 64;
/// Taken at once: signals wait meanwhile, and who was taken just now is not to make room unheard.
const ACCEPTS_MAX: usize = 8;
/// Wants of one connection performed before it is the others' turn.
const WANTS_MAX: u32 = 16;
/// A head fits, and so do several.
const BUFFER_BYTES: usize = 16 << 10;
/// A scraper that asks every 15 s, which is usual, or every 30 s keeps its connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(35);
const SIGNALS: u64 = TOKENS_END;
const LISTENER: u64 = TOKENS_END + 1;

impl<'s> Admin<'s> {
    /// Listens where the settings say, on the socket of another program where that has handed one
    /// over.
    ///
    /// # Errors
    /// A given address cannot be had. Of the default one that is no error: see [`Self::announce`].
    pub(crate) fn open(
        settings: &Settings,
        signals: &'s Signals,
        inherited: &dyn Fn(&Address) -> Option<io::Result<Arc<Listener>>>,
    ) -> Result<Self, Failure> {
        let bind = |address: &Address| {
            inherited(address).unwrap_or_else(|| Listener::bind(address, BACKLOG).map(Arc::new))
        };
        let at = |listener: Arc<Listener>| {
            let is_unix = listener.local_address().is_ok_and(|at| at.starts_with("unix:"));
            Listening::At { listener, is_unix, rests: None }
        };
        let listening = match &settings.admin {
            AdminAt::Off => Listening::Not { why: None },
            AdminAt::Default => default_address()
                .and_then(|address| bind(&address))
                .map_or_else(|e| Listening::Not { why: Some(format!("{ADMIN_DEFAULT}: {e}")) }, at),
            AdminAt::At(address) => bind(address).map(at).map_err(|e| {
                let mend = "choose another address, or off";
                Failure::Machine(format!("--admin {address}: {e}; {mend}"))
            })?,
        };
        let blind = |e: io::Error| Failure::Machine(format!("--admin: {e}; off does without"));
        // Not epoll: workers are forked while connections are open, and one that is shared with a
        // child goes on telling of what is closed here.
        let mut poller = Poller::new(Mechanism::Poll, CONNECTIONS_MAX).map_err(blind)?;
        poller.add_level(signals, SIGNALS).map_err(blind)?;
        if let Listening::At { listener, .. } = &listening {
            poller.add_level(&**listener, LISTENER).map_err(blind)?;
        }
        let limits = Limits { idle_timeout: IDLE_TIMEOUT, ..Limits::default() };
        Ok(Self {
            signals,
            listening,
            poller,
            peers: Slots::new(),
            limits: Shared::new(limits),
            clock: Clock::new(),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// What another program is to go on with.
    pub(crate) fn listener(&self, settings: &Settings) -> Option<(Address, &Arc<Listener>)> {
        let Listening::At { listener, .. } = &self.listening else { return None };
        match &settings.admin {
            AdminAt::Off => None,
            AdminAt::Default => Some((default_address().ok()?, listener)),
            AdminAt::At(address) => Some((address.clone(), listener)),
        }
    }

    /// Another program goes on: whoever asks is to hear of its health. Who was let in before may
    /// ask once more: a balancer whose check met no answer would say that all is not well.
    pub(crate) fn hand_on(&mut self) {
        if let Listening::At { listener, .. } = &self.listening {
            self.poller.pause_level(&**listener);
        }
        self.listening = Listening::Not { why: None };
        let now = self.clock.now();
        for token in self.peers.tokens() {
            self.peers.named(token).into_iter().for_each(|peer| peer.connection.retire(&now));
        }
    }

    /// Whether somebody is here who was let in before another program went on.
    pub(crate) fn has_guests(&self) -> bool {
        matches!(self.listening, Listening::Not { .. }) && !self.peers.is_empty()
    }

    /// Whoever is here has had his time.
    pub(crate) fn turn_out(&mut self) {
        for token in self.peers.tokens() {
            drop_peer(token, &mut self.peers, &mut self.poller);
        }
    }

    /// Says where it listens, or why it does not.
    pub(crate) fn announce(&self, say: &mut dyn FnMut(&str)) {
        match &self.listening {
            Listening::At { listener, .. } => {
                let address = listener.local_address().unwrap_or_default();
                let is_unix = address.starts_with("unix:");
                let (before, after) = if is_unix { ("", "") } else { ("http://", "/") };
                say(&format!("admin page on {before}{address}{after}"));
            }
            Listening::Not { why: Some(why) } => {
                say(&format!("warning: no admin page on {why}; --admin names another address"));
            }
            Listening::Not { why: None } => {}
        }
    }

    /// Waits for a signal, and answers meanwhile; `None`: none has come within the timeout, or
    /// until the last guest has gone.
    ///
    /// # Errors
    /// No memory to wait with.
    pub(crate) fn wait(
        &mut self,
        timeout: Option<Duration>,
        view: &View<'_>,
    ) -> io::Result<Option<Signal>> {
        let end = timeout.map(|timeout| os::clock::monotonic() + timeout);
        loop {
            let now = self.clock.now();
            let had_guests = self.has_guests();
            let due = self.expire(&now, view).into_iter().chain(self.rest(&now)).chain(end).min();
            let wakes_at = if had_guests && !self.has_guests() { Some(now.at) } else { due };
            let events = self.poller.wait(wakes_at.map(|at| at - now.at))?.to_vec();
            let now = self.clock.now();
            let mut signal = None;
            for event in events {
                match event.token {
                    SIGNALS => signal = self.signals.next()?,
                    LISTENER => self.accept(&now),
                    token => self.serve(token, &now, view),
                }
            }
            let is_left = had_guests && !self.has_guests();
            if signal.is_some() || is_left || end.is_some_and(|end| end <= now.at) {
                return Ok(signal);
            }
        }
    }

    /// Listens again after a rest; says when the rest is over.
    fn rest(&mut self, now: &Now) -> Option<Instant> {
        let Listening::At { listener, rests, .. } = &mut self.listening else { return None };
        let until = (*rests)?;
        if until <= now.at {
            *rests = match self.poller.add_level(&*listener, LISTENER) {
                Ok(()) => None,
                Err(_) => Some(now.at + REFUSED_FOR),
            };
        }
        *rests
    }

    /// Deadlines that have passed take effect; says which is the next.
    fn expire(&mut self, now: &Now, view: &View<'_>) -> Option<Instant> {
        for token in self.peers.tokens() {
            let expired = self.peers.named(token).is_some_and(|peer| peer.connection.expired(now));
            if expired {
                self.serve(token, now, view);
            }
        }
        let tokens = self.peers.tokens().into_iter();
        let due = |token| Some(self.peers.named(token)?.connection.deadline()?.at);
        tokens.filter_map(due).min()
    }

    /// Takes who waits. Whoever has had most of the patience that there is for it makes room, those
    /// who are idle first: some forget to close, and some never finish what they say.
    fn accept(&mut self, now: &Now) {
        let Listening::At { listener, is_unix, rests } = &mut self.listening else { return };
        for _ in 0..ACCEPTS_MAX {
            match listener.accept(Blocking::No) {
                Ok(socket) => {
                    let is_full = self.peers.len() >= CONNECTIONS_MAX;
                    if is_full && !evict(&mut self.peers, &mut self.poller) {
                        continue;
                    }
                    let from = match socket.peer_ip() {
                        _ if *is_unix => From::Socket,
                        Some(ip) if ip.is_loopback() => From::ThisMachine,
                        // Who is gone already has no address, and its bytes can still be read.
                        _ => From::Elsewhere,
                    };
                    let connection = Connection::new(Shared::clone(&self.limits), now.at);
                    let peer = Client { socket, connection, from };
                    let token = self.peers.insert(peer.socket.id(), peer);
                    let Some(peer) = self.peers.named(token) else { continue };
                    if self.poller.add(&peer.socket, token, Interest::READ).is_err() {
                        self.peers.remove(token);
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if os::is_peer_gone(&e) => {}
                // No descriptor or no memory.
                Err(_) => {
                    self.poller.pause_level(&*listener);
                    *rests = Some(now.at + REFUSED_FOR);
                    return;
                }
            }
        }
    }

    /// Performs what a connection wants until it would block.
    fn serve(&mut self, token: u64, now: &Now, view: &View<'_>) {
        let Some(peer) = self.peers.named(token) else { return };
        for _ in 0..WANTS_MAX {
            match peer.perform(&mut self.buffer, now, view) {
                Progress::Went => {}
                Progress::Blocked(interest) => {
                    // Refused only for what was never added.
                    let _ = self.poller.set(&peer.socket, interest);
                    return;
                }
                Progress::Over => return drop_peer(token, &mut self.peers, &mut self.poller),
            }
        }
        // What it has sent already may be all that it sends: it is ready as long as it can be sent
        // to.
        let _ = self.poller.set(&peer.socket, Interest::BOTH);
    }
}

impl Client {
    fn perform(&mut self, buffer: &mut [u8], now: &Now, view: &View<'_>) -> Progress {
        match self.connection.want() {
            Want::Recv => match self.socket.recv(buffer) {
                Ok(0) => self.connection.ended(now),
                Ok(n) => {
                    self.connection.received(&buffer[..n], now);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return Progress::Blocked(Interest::READ);
                }
                Err(_) => self.connection.failed(),
            },
            Want::Find(head) => {
                let found = answers::found(&head, self.from, view, now.at);
                self.connection.found(found, now);
            }
            // Nothing is found that would have to be loaded.
            Want::Load(_) => {
                self.connection.loaded(Loaded::Status(Status::INTERNAL_SERVER_ERROR), now);
            }
            Want::Send(chunk, _) => match self.socket.send(chunk.bytes(), false) {
                Ok(n) => {
                    self.connection.sent(n as u64, now);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return Progress::Blocked(Interest::WRITE);
                }
                Err(_) => self.connection.failed(),
            },
            Want::Shut => match self.socket.shutdown_write() {
                Ok(()) => self.connection.shut(now),
                Err(_) => self.connection.failed(),
            },
            Want::Close => return Progress::Over,
        }
        Progress::Went
    }
}

fn default_address() -> io::Result<Address> {
    ADMIN_DEFAULT.parse().map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Closes the connection whose patience ends first, one that is idle before all others; `false`:
/// none has an end.
fn evict(peers: &mut Slots<Client>, poller: &mut Poller) -> bool {
    let ends = peers.tokens().into_iter().filter_map(|token| {
        let connection = &peers.named(token)?.connection;
        Some((!connection.is_idle(), connection.deadline()?.at, token))
    });
    let first = ends.min();
    first.is_some_and(|(.., token)| {
        drop_peer(token, peers, poller);
        true
    })
}

fn drop_peer(token: u64, peers: &mut Slots<Client>, poller: &mut Poller) {
    if let Some(peer) = peers.remove(token) {
        poller.remove(&peer.socket);
        // Workers that were forked meanwhile have it, too, and closing alone would not end it.
        let _ = peer.socket.shutdown_both();
    }
}
