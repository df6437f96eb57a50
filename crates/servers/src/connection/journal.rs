//! What a connection's log lines and traces need, kept until a reply is out.

use std::net::IpAddr;

use h1::log_entry::{Words, json_text};
use h1::{LogFormat, Now, Reply, Tag};

use crate::session::Session;
use crate::shared::log::AccessLog;
use crate::shared::server::Server;
use crate::shared::tally::Tally;
use crate::shared::trace::{self, Step, Steps, Who};

/// Of one connection; there only if there is a log or a trace.
pub(crate) struct Journal {
    /// The peer's.
    ip: Option<IpAddr>,
    /// None if there is no log.
    format: Option<LogFormat>,
    traces: bool,
    /// The steps that come before anybody knows for which request.
    before: Steps,
    /// One for each request in hand, and for one that may come: its allocations serve the next.
    notes: Vec<Note>,
}

/// Of one request.
struct Note {
    tag: Tag,
    /// Nothing as long as nobody has looked.
    words: Words,
    /// Whose it is, if that is not the peer.
    source: Option<IpAddr>,
    steps: Steps,
}

impl Journal {
    /// `None` if nothing is to be told.
    pub(crate) fn new(server: &Server, logs: bool, ip: Option<IpAddr>) -> Option<Box<Self>> {
        let traces = server.trace.is_some();
        let format = logs.then_some(server.settings.log_format);
        let journal = || Self { ip, format, traces, before: Steps::default(), notes: Vec::new() };
        (logs || traces).then(|| Box::new(journal()))
    }

    /// Its address has come to be known.
    pub(crate) fn introduce(&mut self, ip: Option<IpAddr>) {
        self.ip = ip;
    }

    /// A step was performed that belongs to no request yet: accept, receive.
    pub(crate) fn mark_before(&mut self, step: Step, who: impl FnOnce() -> Who) {
        if self.traces {
            self.before.mark(step, who());
        }
    }

    /// A step of a request was performed.
    pub(crate) fn mark(&mut self, tag: Tag, step: Step, who: impl FnOnce() -> Who) {
        if self.traces {
            let who = who();
            self.note_of(tag).steps.mark(step, who);
        }
    }

    /// Keeps what is told of a request while its words are there.
    pub(crate) fn note(&mut self, session: &dyn Session, tag: Tag) {
        let format = self.format;
        let note = self.note_of(tag);
        if note.words.line().is_empty()
            && let Some(asked) = session.asked(tag)
        {
            note.words.keep(asked.request, format, os::clock::monotonic);
            note.source = asked.source;
        }
    }

    /// Something of a reply goes out; what it answers may never have been looked up.
    pub(crate) fn note_sending(&mut self, session: &dyn Session, who: impl Fn() -> Who) {
        if self.notes.is_empty() {
            self.note(session, Tag::default());
        }
        if self.traces {
            let who = who();
            self.notes.iter_mut().for_each(|note| note.steps.mark(Step::Send, who));
        }
    }

    /// Another has sent a part of a file, and may have waited for its pages.
    pub(crate) fn note_sender(&mut self, who: Who, pages: bool) {
        for note in self.notes.iter_mut().filter(|_| self.traces) {
            note.steps.mark(Step::Send, who);
            if pages {
                note.steps.mark(Step::Pages, who);
            }
        }
    }

    /// A reply is out: into the log and the trace.
    pub(crate) fn finish(
        &mut self,
        (tag, reply): (Tag, Reply),
        server: &Server,
        log: Option<&mut AccessLog>,
        now: &Now,
        tally: &mut Tally,
    ) {
        let Some(at) = self.notes.iter().position(|note| note.tag == tag) else { return };
        let Note { words, source, steps, .. } = self.notes.swap_remove(at);
        if let Some(file) = &server.trace {
            let steps = self.before.and(&steps);
            file.write(trace::line(&json_text(words.line()), reply.status, &steps));
        }
        if let Some(log) = log {
            log.line(source.or(self.ip), &words, reply, now, tally);
        }
    }

    fn note_of(&mut self, tag: Tag) -> &mut Note {
        let known = self.notes.iter().position(|note| note.tag == tag);
        let at = known.unwrap_or_else(|| {
            self.notes.reserve_exact(1);
            let (words, steps) = (Words::default(), Steps::default());
            self.notes.push(Note { tag, words, source: None, steps });
            self.notes.len() - 1
        });
        &mut self.notes[at]
    }
}
