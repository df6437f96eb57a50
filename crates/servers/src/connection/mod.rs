//! One connection, as the loop or the thread that serves it holds it.

pub(crate) mod by_address;
pub(crate) mod gate;
pub(crate) mod perform;
pub(crate) mod slots;
pub(crate) mod timers;

use std::borrow::Borrow;
use std::net::IpAddr;

use h1::{Now, Reply, Status};
use os::Socket;

use crate::session::Session;
use crate::shared::counters::{Counter, Tally};
use crate::shared::log::{AccessLog, Asked};
use crate::shared::performer::Performer;
use crate::shared::server::Server;
use crate::shared::settings::LogFormat;
use crate::shared::trace::{Step, Trace, Who, quoted};

/// One connection as the loop or the thread that serves it holds it.
pub(crate) struct Connection<S = Socket> {
    pub(crate) socket: S,
    pub(crate) session: Box<dyn Session>,
    /// There may be bytes, or a FIN, to receive.
    pub(crate) readable: bool,
    /// The socket may take bytes.
    pub(crate) writable: bool,
    /// FIN or an error was signalled: the next receive must see it.
    pub(crate) ended: bool,
    /// A helper works for it; until it comes back nothing else touches it.
    pub(crate) away: bool,
    /// It is in this round, or in the next.
    pub(crate) queued: bool,
    pub(crate) journal: Option<Box<Journal>>,
}

/// What a connection's log line and trace need; there only if one of the two is on.
pub(crate) struct Journal {
    ip: Option<IpAddr>,
    asked: Asked,
    /// None if there is no log.
    format: Option<LogFormat>,
    trace: Option<Trace>,
}

impl<S: Borrow<Socket>> Connection<S> {
    pub(crate) fn new(
        socket: S,
        server: &Server,
        accepted_by: Performer,
        logs: bool,
        now: &Now,
    ) -> Self {
        let traces = server.trace.is_some();
        let ip = if logs || traces || server.asks_who { socket.borrow().peer_ip() } else { None };
        let journal = (logs || traces).then(|| Journal::new(ip, server, logs, accepted_by));
        let mut session = (server.sessions)(now);
        if server.asks_who {
            session.introduced(ip, now);
        }
        Self {
            socket,
            session,
            readable: false,
            writable: true,
            ended: false,
            away: false,
            queued: false,
            journal,
        }
    }

    /// A step of its request was just performed by the calling thread.
    pub(crate) fn mark(&mut self, step: Step, by: Performer) {
        if let Some(trace) = self.journal.as_mut().and_then(|journal| journal.trace.as_mut()) {
            trace.mark(step, by);
        }
    }

    /// A step of its request was performed elsewhere.
    pub(crate) fn mark_who(&mut self, step: Step, who: Option<Who>) {
        let trace = self.journal.as_mut().and_then(|journal| journal.trace.as_mut());
        if let (Some(trace), Some(who)) = (trace, who) {
            trace.mark_who(step, who);
        }
    }
}

impl Journal {
    pub(crate) fn new(
        ip: Option<IpAddr>,
        server: &Server,
        logs: bool,
        accepted_by: Performer,
    ) -> Box<Self> {
        let trace = server.trace.is_some().then(|| {
            let mut trace = Trace::default();
            trace.mark(Step::Accept, accepted_by);
            trace
        });
        let format = logs.then_some(server.settings.log_format);
        Box::new(Self { ip, asked: Asked::default(), format, trace })
    }

    /// Its address has come to be known.
    pub(crate) fn introduce(&mut self, ip: Option<IpAddr>) {
        self.ip = ip;
    }

    /// Keeps what is told of the request while it is there.
    pub(crate) fn note(&mut self, session: &dyn Session) {
        self.asked.note(session, self.format);
        self.ip = session.source().or(self.ip);
    }

    pub(crate) fn mark(&mut self, step: Step, by: Performer) {
        if let Some(trace) = &mut self.trace {
            trace.mark(step, by);
        }
    }

    /// A reply is out: into the log and the trace.
    pub(crate) fn finish(
        &mut self,
        reply: Reply,
        server: &Server,
        log: Option<&mut AccessLog>,
        now: &Now,
        tally: &mut Tally,
    ) {
        if let (Some(trace), Some(file)) = (&mut self.trace, &server.trace) {
            trace.finish(&quoted(self.asked.line()), reply.status, file);
        }
        if let Some(log) = log {
            log.line(self.ip, &self.asked, reply, now, tally);
        }
        // Its memory goes with it: who is idle for long holds none.
        self.asked = Asked::default();
    }
}

/// Counts a reply.
pub(crate) fn count(reply: Reply, tally: &mut Tally) {
    tally.add(Counter::Replies, 1);
    if reply.status >= Status::BAD_REQUEST {
        tally.add(Counter::Refusals, 1);
    }
}
