//! What goes from stage to stage: a connection, whole, with its deadline.

use std::io;
use std::mem;

use h1::{Lookup, Miss, Status, Tag, Want};
use measure::{Duration, Instant};
use os::poller::Interest;
use os::{File, Socket};

use super::plant::Plant;
use crate::connection::books::Books;
use crate::connection::calls::{Calls, Ready, interest};
use crate::connection::perform::{InPlace, Load, Progress, Service, Share, Until, step_of};
use crate::connection::{Connection, Dialog};
use crate::session::Event;
use crate::shared::counters::Counter;
use crate::shared::verifiers::Verdict;

/// Wants of one connection performed before the others' turn.
const WANTS_MAX: u32 = 64;

/// See the head of this file.
pub(crate) struct Carried {
    pub(crate) connection: Connection<Ready>,
    /// What was received, where another stage parses it, and when.
    packet: Option<(Box<[u8]>, Instant)>,
    /// Since when its request is there, and whether it is known that it is admitted.
    asked: Option<(Instant, bool)>,
    /// How long the reply has taken that was sent last, until somebody wants to know.
    took: Option<Duration>,
    /// To be loaded for it, since who asks was let in.
    due: Option<(Tag, Miss<File>)>,
    /// It has waited while another's helper looked for the path that it asks for.
    pub(super) has_waited: bool,
    /// It has heard that the server ends.
    has_heard: bool,
    /// The stages whose pollers know its socket, a bit each.
    pub(super) armed: u8,
    /// It has come to a stage that waits for sockets, and has not waited there yet.
    pub(super) is_new_here: bool,
    /// It has had no reply yet.
    is_new: bool,
    /// Since when it waits for a stage, and whether that holds up others.
    since: Instant,
    is_counted: bool,
}

/// What a connection wants of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Its next bytes.
    Receive,
    /// What was received is to be parsed.
    Parse,
    /// A look at what is in memory.
    Find,
    /// A password is to be verified.
    Verify,
    /// A path is to be translated, a file opened.
    Path,
    /// Pages are to be read.
    Pages,
    /// Bytes from memory are to be sent: a head, and a small file.
    Head,
    /// A part of a file is to be sent.
    Part,
    /// Nothing, until something happens.
    Rest,
    /// Its end, which any stage makes.
    End,
}

/// What becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It has had its turn, and wants more of the same stage.
    Again,
    /// What it wants is another stage's.
    Moves(Does),
    /// It waits for its socket, or for a verdict.
    Rests(Interest),
    /// It is to be closed.
    Over,
}

impl Carried {
    pub(super) fn new(socket: Socket, dialog: Dialog, books: &Books<'_>) -> Box<Self> {
        let mut calls = Ready::new(socket, books.server.settings.sendfile);
        // Its request has perhaps come while it was passed on.
        calls.expect();
        Box::new(Self {
            connection: Connection::new(calls, dialog),
            packet: None,
            asked: None,
            took: None,
            due: None,
            has_waited: false,
            has_heard: false,
            armed: 0,
            is_new_here: true,
            is_new: true,
            since: books.now.at,
            is_counted: false,
        })
    }

    /// It waits for a stage from now on. Returns whether that holds up others, as newcomers do
    /// where they are counted: who has been let in does not keep them out by asking again.
    pub(super) fn waits_in_queue(&mut self, now: Instant, is_counted: bool) -> bool {
        (self.since, self.is_counted) = (now, is_counted && self.is_new);
        self.is_counted
    }

    /// Since when it does.
    pub(super) const fn since(&self) -> Instant {
        self.since
    }

    /// Somebody works on it.
    pub(super) fn is_worked_on(&mut self, plant: &Plant<'_>) {
        if mem::take(&mut self.is_counted) {
            plant.unqueues();
        }
    }

    /// Whether something can be written to its client, or is to be heard from him first, or nothing
    /// more is to be.
    pub(super) fn is_ready_to_write(&mut self) -> bool {
        let Connection { calls, hears, .. } = &mut self.connection;
        let is_heard = *hears && calls.lies_unread();
        calls.is_writable() || is_heard || self.wants() == Does::End
    }

    /// What it wants now.
    pub(crate) fn wants(&self) -> Does {
        if self.packet.is_some() {
            return Does::Parse;
        }
        if let Some((_, miss)) = &self.due {
            return of_miss(miss);
        }
        match self.connection.dialog.session.want() {
            Want::Recv => Does::Receive,
            Want::Find(..) => Does::Find,
            Want::Load(..) if self.connection.dialog.is_loaded() => Does::Rest,
            Want::Load(_, miss) => of_miss(&miss),
            Want::Send(chunk, _) if chunk.bytes().is_empty() => Does::Part,
            Want::Send(..) => Does::Head,
            Want::Wait => Does::Rest,
            Want::Shut | Want::Close => Does::End,
        }
    }

    /// Performs what a stage does of its wants, and whatever is in memory, until it wants something
    /// else, would block or has had its turn. `token`: by which a verdict finds it; until that has
    /// fallen it stays.
    pub(crate) fn work(
        &mut self,
        token: u64,
        does: &[Does],
        buffer: &mut [u8],
        (service, books, plant): (&mut dyn Service, &mut Books<'_>, &Plant<'_>),
    ) -> Next {
        let replies = books.tally.pending(Counter::Replies);
        let next = self.work_on(token, does, buffer, (service, books, plant));
        if books.tally.pending(Counter::Replies) > replies {
            self.is_new = false;
            self.took = self.asked.take().map(|(asked, _)| books.now.at - asked);
        }
        next
    }

    fn work_on(
        &mut self,
        token: u64,
        does: &[Does],
        buffer: &mut [u8],
        (service, books, plant): (&mut dyn Service, &mut Books<'_>, &Plant<'_>),
    ) -> Next {
        let bytes = books.server.work_bytes_max();
        let mut share = Share { until: Until::Blocked, wants: 1, bytes, buffer };
        for _ in 0..WANTS_MAX {
            let wants = self.wants();
            if self.connection.dialog.has_loads() && wants != Does::Rest && wants != Does::End {
                return Next::Rests(Interest::NONE);
            }
            if !does.contains(&wants) && wants != Does::End {
                if self.is_loaded(books, plant) {
                    continue;
                }
                return Next::Moves(wants);
            }
            match self.perform((token, wants, does), &mut share, (service, books)) {
                Progress::Went if share.bytes == 0 => break,
                Progress::Went | Progress::Sends => {}
                Progress::Blocked(interest) => return Next::Rests(interest),
                Progress::Over => return Next::Over,
            }
        }
        Next::Again
    }

    fn perform(
        &mut self,
        (token, wants, does): (u64, Does, &[Does]),
        share: &mut Share<'_>,
        (service, books): (&mut dyn Service, &mut Books<'_>),
    ) -> Progress {
        if wants == Does::Receive && !does.contains(&Does::Parse) {
            return self.receive(share.buffer, books);
        }
        if let Some((packet, at)) = self.packet.take() {
            books.received(&mut self.connection.dialog, &packet);
            if self.wants() == Does::Find {
                self.asked.get_or_insert((at, false));
            }
            return Progress::Went;
        }
        match self.due.take() {
            Some((tag, miss)) => books.load(token, &mut self.connection, tag, miss, service),
            None => books.work(token, &mut self.connection, share, service),
        }
    }

    /// Takes what the next stage is to parse.
    fn receive(&mut self, buffer: &mut [u8], books: &mut Books<'_>) -> Progress {
        let Connection { calls, dialog, .. } = &mut self.connection;
        match calls.recv(buffer) {
            Ok(0) => books.ended(dialog),
            Ok(n) => self.packet = Some((buffer[..n].into(), books.now.at)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                return Progress::Blocked(interest(calls.may_hear(), false));
            }
            Err(e) => books.broke_off(dialog, &e),
        }
        Progress::Went
    }

    /// Its request is admitted, or it hears that it is not, and goes. Asked once for each.
    pub(super) fn ask_whether_admitted(&mut self, plant: &Plant<'_>, books: &mut Books<'_>) {
        // One that came in the same packet as another has waited for that one's reply.
        let (_, is_known) = self.asked.get_or_insert((books.now.at, false));
        if !mem::replace(is_known, true) && !plant.admits(books.now.at) {
            self.asked = None;
            books.tally.add(Counter::LoadRefusals, 1);
            let refused = Event::Refused(Status::SERVICE_UNAVAILABLE);
            self.connection.dialog.session.tell(refused, &books.now);
        }
    }

    /// How long its last reply has taken; told once.
    pub(super) fn took(&mut self) -> Option<Duration> {
        self.took.take()
    }

    /// Has loaded what it wants from memory, if that is there.
    fn is_loaded(&mut self, books: &mut Books<'_>, plant: &Plant<'_>) -> bool {
        let dialog = &mut self.connection.dialog;
        let own = match dialog.session.want() {
            Want::Load(tag, miss) if self.due.is_none() => Some((tag, miss)),
            _ => None,
        };
        let Some((tag, miss)) = self.due.as_ref().or(own.as_ref()) else { return false };
        let (tag, step) = (*tag, step_of(miss));
        let load = match miss {
            Miss::Path(lookup) if lookup.credentials.is_none() => {
                let compared = books.server.site.compare(lookup, &books.now).map(Load::Done);
                let revalidator = plant.revalidator.as_ref();
                compared.or_else(|| revalidator?.answer(lookup, books))
            }
            // Who sends them waits for them: to ask first costs two calls of each reply.
            Miss::Pages(_) if !plant.has_helpers() => None,
            Miss::Pages(part) | Miss::More(part) if plant.has_pages(part) => {
                Some(Load::Done(books.load_here(miss)))
            }
            _ => None,
        };
        let Some(load) = load else { return false };
        (self.due, self.has_waited) = (None, false);
        books.load_became(dialog, tag, step, load);
        true
    }

    /// What is to be loaded for it cannot be soon: it has its answer.
    pub(super) fn refuse(&mut self, books: &mut Books<'_>) {
        let dialog = &mut self.connection.dialog;
        let due = self.due.take().or_else(|| match dialog.session.want() {
            Want::Load(tag, miss) => Some((tag, miss)),
            _ => None,
        });
        let Some((tag, miss)) = due else { return };
        let known = match &miss {
            Miss::Path(lookup) => books.server.site.give_up(lookup, &books.now),
            Miss::Pages(_) | Miss::More(_) => None,
        };
        match known {
            // An answer that is old is better than none.
            Some(loaded) => books.loaded_here(dialog, tag, step_of(&miss), loaded),
            None => books.load_refused(dialog, tag),
        }
        // It has waited for nothing: how long replies take that tells nothing of.
        self.asked = None;
    }

    /// The path that is to be looked for.
    pub(super) fn lookup(&self) -> Option<Lookup> {
        let of = |miss: &Miss<File>| match miss {
            Miss::Path(lookup) => Some(lookup.clone()),
            _ => None,
        };
        match (&self.due, self.connection.dialog.session.want()) {
            (Some((_, miss)), _) => of(miss),
            (None, Want::Load(_, miss)) => of(&miss),
            _ => None,
        }
    }

    /// The verdict on who asks has fallen.
    pub(super) fn judged(&mut self, verdict: Verdict, books: &mut Books<'_>) {
        let tag = verdict.tag;
        let miss = books.judged(&mut self.connection.dialog, verdict);
        self.due = miss.map(|miss| (tag, miss));
    }

    /// The server ends: it hears so once. What it has asked before is in flight, and is answered:
    /// what another stage was to parse, and what may lie in its socket that nobody has read yet.
    pub(super) fn hear_end(&mut self, buffer: &mut [u8], books: &mut Books<'_>) {
        if mem::replace(&mut self.has_heard, true) {
            return;
        }
        if let Some((packet, _)) = self.packet.take() {
            books.received(&mut self.connection.dialog, &packet);
        }
        if self.wants() == Does::Receive {
            self.connection.calls.expect();
            let bytes = books.server.work_bytes_max();
            let mut share = Share { until: Until::Blocked, wants: 1, bytes, buffer };
            books.work(0, &mut self.connection, &mut share, &mut InPlace);
        }
        books.tell_end(&mut self.connection.dialog);
    }
}

const fn of_miss(miss: &Miss<File>) -> Does {
    match miss {
        Miss::Path(lookup) if lookup.credentials.is_some() => Does::Verify,
        Miss::Path(_) => Does::Path,
        Miss::Pages(_) | Miss::More(_) => Does::Pages,
    }
}
