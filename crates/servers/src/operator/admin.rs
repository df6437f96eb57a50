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

use h1::{Found, Head, Limits, Loaded, Miss, Now, Shared, Status, Tag};
use measure::{Duration, Instant};
use os::poller::{Interest, Mechanism, Poller};
use os::{Address, Blocking, File, Listener, Signal, Signals};

use crate::connection::books::Books;
use crate::connection::calls::Ready;
use crate::connection::gate::REFUSED_FOR;
use crate::connection::perform::{Load, Progress, Service, Share, Until};
use crate::connection::places::{Places, TOKENS_END};
use crate::connection::{Connection, Dialog};
use crate::session::Event;
use crate::shared::failure::Failure;
use crate::shared::server::{Clock, Server, Worker};
use crate::shared::settings::{ADMIN_DEFAULT, AdminAt, Level, Settings};

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
    clients: Places<Client>,
    limits: Shared<Limits>,
    clock: Clock,
    buffer: Vec<u8>,
}

enum Listening {
    /// `rests`: until then, because there was no room for who waits.
    At { listener: Arc<Listener>, is_unix: bool, rests: Option<Instant> },
    /// It does not, and the operator is to be told why, unless he wanted it so.
    Not { why: Option<String> },
}

struct Client {
    connection: Connection<Ready>,
    from: From,
}

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    /// The Unix socket, which browsers do not open. Every user who may open it may read.
    Socket { is_operator: bool },
    /// This machine: perhaps a page of somebody else's in a browser.
    ThisMachine { is_operator: bool },
    /// Another machine.
    Elsewhere,
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

/// Why it cannot listen there, for the operator.
pub(crate) fn refusal(settings: &Settings, address: &Address, error: &io::Error) -> String {
    let said = settings.said("admin", address);
    format!("{said}: {error}; choose another address, or off")
}

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
            AdminAt::At(address) => bind(address)
                .map(at)
                .map_err(|e| Failure::Machine(refusal(settings, address, &e)))?,
        };
        let blind = |e: io::Error| {
            Failure::Machine(format!("{}: {e}; off does without", settings.said("admin", "")))
        };
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
            clients: Places::new(),
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
        for token in self.clients.tokens() {
            if let Some(client) = self.clients.named(token) {
                client.connection.dialog.session.tell(Event::Retire, &now);
            }
        }
    }

    /// Removes the file of its Unix socket.
    pub(crate) fn remove_file(&self) {
        if let Listening::At { listener, .. } = &self.listening {
            listener.remove_file();
        }
    }

    /// Whether somebody is here who was let in before another program went on.
    pub(crate) fn has_guests(&self) -> bool {
        matches!(self.listening, Listening::Not { .. }) && !self.clients.is_empty()
    }

    /// Whoever is here has had his time.
    pub(crate) fn turn_out(&mut self) {
        for token in self.clients.tokens() {
            drop_client(token, &mut self.clients, &mut self.poller);
        }
    }

    /// Where it listens, or why it does not, for the operator.
    pub(crate) fn announce(&self) -> Option<(Level, String)> {
        match &self.listening {
            Listening::At { listener, .. } => {
                let address = listener.local_address().unwrap_or_default();
                let is_unix = address.starts_with("unix:");
                let (before, after) = if is_unix { ("", "") } else { ("http://", "/") };
                Some((Level::Info, format!("admin page on {before}{address}{after}")))
            }
            Listening::Not { why: Some(why) } => {
                let text = format!("no admin page on {why}; --admin names another address");
                Some((Level::Warn, text))
            }
            Listening::Not { why: None } => None,
        }
    }

    /// Waits for a signal, and answers meanwhile; `None`: none has come within the timeout, or
    /// until the last guest has gone, or the number of workers was turned.
    ///
    /// # Errors
    /// No memory to wait with.
    pub(crate) fn wait(
        &mut self,
        timeout: Option<Duration>,
        view: &View<'_>,
    ) -> io::Result<Option<Signal>> {
        let end = timeout.map(|timeout| os::clock::monotonic() + timeout);
        let workers = view.server.dials.workers();
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
                    token => {
                        if let Some(client) = self.clients.named(token) {
                            client.connection.calls.is(&event);
                        }
                        self.serve(token, &now, view);
                    }
                }
            }
            let is_left = had_guests && !self.has_guests();
            let is_turned = view.server.dials.workers() != workers;
            if signal.is_some() || is_left || is_turned || end.is_some_and(|end| end <= now.at) {
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
        for token in self.clients.tokens() {
            let client = self.clients.named(token);
            let expired = client.is_some_and(|of| of.connection.dialog.session.expired(now));
            if expired {
                self.serve(token, now, view);
            }
        }
        let tokens = self.clients.tokens().into_iter();
        let due =
            |token| Some(self.clients.named(token)?.connection.dialog.session.view().deadline?.at);
        tokens.filter_map(due).min()
    }

    /// Takes who waits. Whoever has had most of the patience that there is for it makes room, those
    /// who are idle first: some forget to close, and some never finish what they say.
    fn accept(&mut self, now: &Now) {
        let Listening::At { listener, is_unix, rests } = &mut self.listening else { return };
        for _ in 0..ACCEPTS_MAX {
            match listener.accept(Blocking::No) {
                Ok(socket) => {
                    let is_full = self.clients.len() >= CONNECTIONS_MAX;
                    if is_full && !evict(&mut self.clients, &mut self.poller) {
                        continue;
                    }
                    let is_operator = || is_operator(socket.peer_user());
                    let from = match socket.peer_ip() {
                        _ if *is_unix => From::Socket { is_operator: is_operator() },
                        Some(ip) if ip.is_loopback() => {
                            From::ThisMachine { is_operator: is_operator() }
                        }
                        // Who is gone already has no address, and its bytes can still be read.
                        _ => From::Elsewhere,
                    };
                    let session = h1::Connection::new(Shared::clone(&self.limits), now.at);
                    let dialog = Dialog::new(Box::new(session), None);
                    let connection = Connection::new(Ready::new(socket, None), dialog);
                    let token = self.clients.insert(Client { connection, from });
                    let Some(client) = self.clients.named(token) else { continue };
                    let socket = &client.connection.calls.socket;
                    if self.poller.add(socket, token, Interest::READ).is_err() {
                        self.clients.remove(token);
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
        let Some(Client { connection, from }) = self.clients.named(token) else { return };
        let worker = Worker::supervisor(view.server);
        let mut books = Books::at(&worker, *now);
        let (wants, bytes) = (WANTS_MAX, u64::MAX);
        let until = Until::Blocked;
        let mut share = Share { until, wants, bytes, buffer: &mut self.buffer };
        let mut page = Page { view, from: *from };
        let interest = match books.work(token, connection, &mut share, &mut page) {
            Progress::Over => return drop_client(token, &mut self.clients, &mut self.poller),
            Progress::Blocked(interest) => interest,
            // What it has sent already may be all that it sends: it is ready as long as it can be
            // sent to.
            Progress::Went | Progress::Sends => Interest::BOTH,
        };
        // Refused only for what was never added.
        let _ = self.poller.set(&connection.calls.socket, interest);
    }
}

/// Answers from memory: nothing is found that would have to be loaded.
struct Page<'v> {
    view: &'v View<'v>,
    from: From,
}

impl Service for Page<'_> {
    fn find(&mut self, head: &Head<'_>, books: &mut Books<'_>) -> Found<File> {
        answers::found(head, self.from, self.view, books.now.at)
    }

    fn load(&mut self, _: u64, _: Tag, _: Miss<File>, _: &mut Books<'_>) -> Load {
        Load::Done(Loaded::Status(Status::INTERNAL_SERVER_ERROR))
    }
}

/// Whether a user may turn knobs: root, and the user who serves. Other users of this machine, and a
/// proxy that lets others in, may only read.
fn is_operator(user: Option<u32>) -> bool {
    user.is_some_and(|user| user == 0 || user == os::users::effective().0)
}

fn default_address() -> io::Result<Address> {
    ADMIN_DEFAULT.parse().map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Closes the connection whose patience ends first, one that is idle before all others; `false`:
/// none has an end.
fn evict(clients: &mut Places<Client>, poller: &mut Poller) -> bool {
    let ends = clients.tokens().into_iter().filter_map(|token| {
        let view = clients.named(token)?.connection.dialog.session.view();
        Some((!view.is_idle, view.deadline?.at, token))
    });
    let first = ends.min();
    first.is_some_and(|(.., token)| {
        drop_client(token, clients, poller);
        true
    })
}

fn drop_client(token: u64, clients: &mut Places<Client>, poller: &mut Poller) {
    if let Some(Client { connection, .. }) = clients.remove(token) {
        poller.remove(&connection.calls.socket);
    }
}
