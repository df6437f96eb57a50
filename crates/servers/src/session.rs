//! What an architecture drives.

use std::net::IpAddr;
use std::sync::Arc;

use h1::{Connection, Deadline, Field, Found, Limits, Loaded, Now, Reply, Shared, Status, Want};
use os::File;

/// What an architecture drives: one conversation with one peer, without I/O.
///
/// [`h1::Connection`] is one; a session that re-codes every byte (TLS, say) wraps another. The
/// architectures know no other type, so that neither adds a line to them. The methods mean what
/// they mean in [`h1::Connection`].
pub trait Session: Send {
    /// What is to be done next.
    fn want(&self) -> Want<'_, File>;
    /// Where the peer connects from, as far as that can be found out; told once to those who want
    /// to know (`Server::asks_who`), perhaps after its first bytes.
    fn introduced(&mut self, _: Option<IpAddr>, _: &Now) {}
    /// Whose connection it is, where that is somebody else than the peer.
    fn source(&self) -> Option<IpAddr> {
        None
    }
    /// Bytes from the peer; `false`: enough for now.
    fn received(&mut self, bytes: &[u8], now: &Now) -> bool;
    /// FIN from the peer.
    fn ended(&mut self, now: &Now);
    /// Answers `Find`.
    fn found(&mut self, found: Found<File>, now: &Now);
    /// Answers `Load`.
    fn loaded(&mut self, loaded: Loaded<File>, now: &Now);
    /// So many bytes of what `Send` wants are out.
    fn sent(&mut self, n: u64, now: &Now) -> Option<Reply>;
    /// FIN is out.
    fn shut(&mut self, now: &Now);
    /// It broke off.
    fn failed(&mut self);
    /// To be answered with a status and closed.
    fn refuse(&mut self, status: Status, now: &Now);
    /// To be closed after the reply in hand, at once if there is none.
    fn drain(&mut self);
    /// To be closed after the reply in hand, or after the next if one is asked for soon.
    fn retire(&mut self, now: &Now);
    /// The deadline has passed; `true`: patience is over.
    fn expired(&mut self, now: &Now) -> bool;
    /// When `expired` is due.
    fn deadline(&self) -> Option<Deadline>;
    /// Whether it closes once what `Send` wants is out.
    fn closes(&self) -> bool;
    /// Bytes of the reply in hand still to be sent.
    fn remaining(&self) -> u64;
    /// Between two requests.
    fn is_idle(&self) -> bool;
    /// The request being answered, for logs.
    fn request_line(&self) -> Option<&[u8]>;
    /// A field of that request, for logs.
    fn request_field(&self, field: Field) -> Option<&[u8]>;
}

/// The methods that a [`Session`] around another one leaves to it, by the name of its field: they
/// neither bring bytes nor take any.
#[macro_export]
macro_rules! pass_on {
    ($inner:ident) => {
        fn shut(&mut self, now: &h1::Now) {
            self.$inner.shut(now);
        }
        fn drain(&mut self) {
            self.$inner.drain();
        }
        fn retire(&mut self, now: &h1::Now) {
            self.$inner.retire(now);
        }
        fn deadline(&self) -> Option<h1::Deadline> {
            self.$inner.deadline()
        }
        fn closes(&self) -> bool {
            self.$inner.closes()
        }
        fn remaining(&self) -> u64 {
            self.$inner.remaining()
        }
        fn is_idle(&self) -> bool {
            self.$inner.is_idle()
        }
        fn request_line(&self) -> Option<&[u8]> {
            self.$inner.request_line()
        }
        fn request_field(&self, field: h1::Field) -> Option<&[u8]> {
            self.$inner.request_field(field)
        }
    };
}

/// Makes the session of a connection just accepted.
pub type Sessions = Arc<dyn Fn(&Now) -> Box<dyn Session> + Send + Sync>;

/// Sessions that speak HTTP/1.1 as it is on the wire.
#[must_use]
pub fn plain(limits: &Shared<Limits>) -> Sessions {
    let limits = Shared::clone(limits);
    Arc::new(move |now| Box::new(h1::Connection::new(Shared::clone(&limits), now.at)))
}

impl Session for Connection<File> {
    fn want(&self) -> Want<'_, File> {
        self.want()
    }
    fn received(&mut self, bytes: &[u8], now: &Now) -> bool {
        self.received(bytes, now)
    }
    fn ended(&mut self, now: &Now) {
        self.ended(now);
    }
    fn found(&mut self, found: Found<File>, now: &Now) {
        self.found(found, now);
    }
    fn loaded(&mut self, loaded: Loaded<File>, now: &Now) {
        self.loaded(loaded, now);
    }
    fn sent(&mut self, n: u64, now: &Now) -> Option<Reply> {
        self.sent(n, now)
    }
    fn shut(&mut self, now: &Now) {
        self.shut(now);
    }
    fn failed(&mut self) {
        self.failed();
    }
    fn refuse(&mut self, status: Status, now: &Now) {
        self.refuse(status, now);
    }
    fn drain(&mut self) {
        self.drain();
    }
    fn retire(&mut self, now: &Now) {
        self.retire(now);
    }
    fn expired(&mut self, now: &Now) -> bool {
        self.expired(now)
    }
    fn deadline(&self) -> Option<Deadline> {
        self.deadline()
    }
    fn closes(&self) -> bool {
        self.closes()
    }
    fn remaining(&self) -> u64 {
        self.remaining()
    }
    fn is_idle(&self) -> bool {
        self.is_idle()
    }
    fn request_line(&self) -> Option<&[u8]> {
        self.request_line()
    }
    fn request_field(&self, field: Field) -> Option<&[u8]> {
        self.request_field(field)
    }
}
