//! What an architecture drives.

use std::net::IpAddr;
use std::sync::Arc;

use h1::{Connection, Deadline, Found, Limits, Loaded, Now, Reply, Shared, Status, Tag, Want};
use os::File;

/// What an architecture drives: one conversation with one peer, without I/O.
///
/// [`h1::Connection`] is one; a session that re-codes every byte (TLS, say) wraps another, answers
/// the events that it minds and passes the others on. The architectures know no other type, so that
/// neither adds a line to them.
pub trait Session: Send {
    /// What is to be done next. Asking changes nothing.
    fn want(&self) -> Want<'_, File>;
    /// Something has happened to it.
    fn tell(&mut self, event: Event<'_>, now: &Now);
    /// The deadline of its view has passed; `true`: patience is over.
    fn expired(&mut self, now: &Now) -> bool;
    /// A reply that has become complete by what was sent, told once: to be asked for after each
    /// [`Event::Sent`] until there is none.
    fn next_reply(&mut self) -> Option<(Tag, Reply)>;
    /// How it stands.
    fn view(&self) -> View;
    /// The request of that tag, for logs and traces: there from `Find` until its reply is complete.
    fn asked(&self, tag: Tag) -> Option<Asked<'_>>;
}

/// What can happen to a session.
#[derive(Debug)]
pub enum Event<'e> {
    /// Where its peer connects from, as far as that can be found out: told once, to those who want
    /// to know (`Server::asks_who`), perhaps after the first bytes.
    Introduced(Option<IpAddr>),
    /// Bytes from the peer, in any state.
    Bytes(&'e [u8]),
    /// FIN from the peer.
    Fin,
    /// Of which host a request is: a number of [`site::Site::host_number`], for its reply. Told
    /// before [`Event::Found`], unless it is 0.
    Host(Tag, u8),
    /// The answer to `Find`.
    Found(Tag, Found<File>),
    /// What `Load` wants is done by somebody else; [`Event::Loaded`] follows in its time. Told
    /// again when another one goes on with it.
    HandedOver(Tag),
    /// The answer to `Load`.
    Loaded(Tag, Loaded<File>),
    /// So many bytes of what `Send` wants are out.
    Sent(u64),
    /// FIN is out.
    Shut,
    /// It broke off: the peer is gone, or what was announced cannot be sent.
    Failed,
    /// It is to be answered with a status and closed.
    Refused(Status),
    /// It is to be closed after the reply in hand, at once if there is none.
    Drain,
    /// It is to be closed after the reply in hand, or after the next if one is asked for soon.
    Retire,
}

/// How a session stands, as far as drivers have to know.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// When [`Session::expired`] is due.
    pub deadline: Option<Deadline>,
    /// Between two requests.
    pub is_idle: bool,
    /// It closes once what `Send` wants is out.
    pub closes: bool,
    /// It then wants `Close` at once, without FIN before: what is known to lie unread is to be
    /// received first, or it makes the socket reset its peer.
    pub drops: bool,
    /// It takes bytes also while it wants to send or to wait. Not behind FIN: a socket is readable
    /// for ever then, and whoever hears first would do nothing else.
    pub hears: bool,
}

/// A request, and whose it is where that is somebody else than the peer.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'s> {
    /// In the client's own words.
    pub request: h1::Asked<'s>,
    /// As a balancer or a proxy has said.
    pub source: Option<IpAddr>,
}

/// Loads of one connection that may be in hand at once: it must not have all helpers to itself.
pub const LOADS_MAX: usize = 4;

/// Makes the session of a connection just accepted, by the place of its listening socket among all
/// of them.
pub type Sessions = Arc<dyn Fn(usize, &Now) -> Box<dyn Session> + Send + Sync>;

/// Sessions that speak HTTP/1.1 as it is on the wire.
#[must_use]
pub fn plain(limits: &Shared<Limits>) -> Sessions {
    let limits = Shared::clone(limits);
    Arc::new(move |_, now| Box::new(Connection::new(Shared::clone(&limits), now.at)))
}

impl Session for Connection<File> {
    fn want(&self) -> Want<'_, File> {
        self.want()
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        let has_one = |tag: Tag| debug_assert_eq!(tag, Tag::default(), "HTTP/1.1 has one request");
        match event {
            Event::Introduced(_) => {}
            Event::Bytes(bytes) => {
                self.received(bytes, now);
            }
            Event::Fin => self.ended(now),
            Event::Host(tag, host) => {
                has_one(tag);
                self.count_under(host);
            }
            Event::Found(tag, found) => {
                has_one(tag);
                self.found(found, now);
            }
            Event::HandedOver(tag) => {
                has_one(tag);
                self.handed_over();
            }
            Event::Loaded(tag, loaded) => {
                has_one(tag);
                self.loaded(loaded, now);
            }
            Event::Sent(n) => self.sent(n, now),
            Event::Shut => self.shut(now),
            Event::Failed => self.failed(),
            Event::Refused(status) => self.refuse(status, now),
            Event::Drain => self.drain(),
            Event::Retire => self.retire(now),
        }
    }

    fn expired(&mut self, now: &Now) -> bool {
        self.expired(now)
    }

    fn next_reply(&mut self) -> Option<(Tag, Reply)> {
        self.next_reply().map(|reply| (Tag::default(), reply))
    }

    fn view(&self) -> View {
        View {
            deadline: self.deadline(),
            is_idle: self.is_idle(),
            closes: self.closes(),
            drops: self.drops(),
            hears: false,
        }
    }

    fn asked(&self, _: Tag) -> Option<Asked<'_>> {
        self.asked().map(|request| Asked { request, source: None })
    }
}
