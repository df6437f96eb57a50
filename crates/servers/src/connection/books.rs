//! The books: what is counted, logged and traced of connections, whoever performs their wants. All
//! that happens to a session beside its bytes it is told from here.

use std::io;
use std::net::IpAddr;

use h1::{Found, Head, Loaded, Lookup, Miss, Now, Status, Tag, Want};
use measure::{Duration, Instant};
use os::File;
use site::{Hint, Opening};

use super::Dialog;
use super::disk_waits::DiskWaits;
use super::journal::Journal;
use crate::session::Event;
use crate::shared::counters::Counter;
use crate::shared::log::AccessLog;
use crate::shared::performer::Performer;
use crate::shared::server::Worker;
use crate::shared::server::{Clock, Server};
use crate::shared::tally::Tally;
use crate::shared::trace::{Step, Who};

/// Those of a loop or a thread.
pub(crate) struct Books<'s> {
    pub(crate) server: &'s Server,
    pub(crate) worker: &'s Worker<'s>,
    pub(crate) now: Now,
    pub(crate) tally: Tally,
    pub(crate) disk: DiskWaits<'s>,
    /// Who performs what is told of here, unless another is named.
    pub(crate) by: Performer,
    /// Which of the fibers, where it is one.
    pub(crate) fiber: Option<u32>,
    clock: Clock,
    log: Option<AccessLog>,
}

impl<'s> Books<'s> {
    pub(crate) fn new(worker: &'s Worker<'s>, by: Performer) -> Self {
        let (server, log) = (worker.server, worker.log.clone());
        let mut clock = Clock::new();
        let disk = match by {
            Performer::Thread | Performer::Process | Performer::Acceptor => DiskWaits::of_thread(),
            // Who waits for a disk there does so for nobody else.
            Performer::Fiber | Performer::Helper | Performer::Finder | Performer::Header => {
                DiskWaits::of_fiber()
            }
            Performer::Reader | Performer::Receiver | Performer::Selector | Performer::Writer => {
                DiskWaits::of_thread()
            }
            _ => DiskWaits::of_loop(&worker.schedule),
        };
        let (now, tally) = (clock.now(), Tally::default());
        Self { server, worker, now, tally, disk, by, fiber: None, clock, log }
    }

    /// Those of the supervisor, whom nobody counts, for one moment.
    pub(crate) fn at(worker: &'s Worker<'s>, now: Now) -> Self {
        let (server, log) = (worker.server, None);
        let (tally, by, clock) = (Tally::default(), Performer::Loop, Clock::at(now.date));
        let disk = DiskWaits::of_thread();
        Self { server, worker, now, tally, disk, by, fiber: None, clock, log }
    }

    /// Looks at the clock; how much time has passed.
    pub(crate) fn look_at_clock(&mut self) -> Duration {
        let before = self.now.at;
        self.now = self.clock.now();
        self.now.at - before
    }

    /// That of a connection just accepted on the listening socket at that place, and introduced.
    pub(crate) fn dialog(&self, listener: usize, ip: impl FnOnce() -> Option<IpAddr>) -> Dialog {
        let mut dialog = self.begin(listener);
        self.introduce(&mut dialog, ip);
        dialog
    }

    /// The same, to be introduced by whoever goes on with it.
    pub(crate) fn begin(&self, listener: usize) -> Dialog {
        let mut journal = Journal::new(self.server, self.log.is_some(), None);
        if let Some(journal) = &mut journal {
            journal.mark_before(Step::Accept, || self.me());
        }
        Dialog::new((self.server.sessions)(listener, &self.now), journal)
    }

    /// Its address has come to be known, or cannot be: to who wants to know it.
    pub(crate) fn introduce(&self, dialog: &mut Dialog, ip: impl FnOnce() -> Option<IpAddr>) {
        if dialog.journal.is_none() && !self.server.asks_who {
            return;
        }
        let ip = ip();
        if self.server.asks_who {
            dialog.session.tell(Event::Introduced(ip), &self.now);
        }
        if let Some(journal) = &mut dialog.journal {
            journal.introduce(ip);
        }
    }

    pub(crate) fn received(&self, dialog: &mut Dialog, bytes: &[u8]) {
        dialog.session.tell(Event::Bytes(bytes), &self.now);
        if let Some(journal) = &mut dialog.journal {
            journal.mark_before(Step::Receive, || self.me());
        }
    }

    /// A connection could not be taken.
    pub(crate) fn refused(&mut self, error: &io::Error) -> Counter {
        let whose = fault(error);
        self.tally.add(whose, 1);
        if whose == Counter::MachineFaults {
            self.server.errors.refused(self.worker.number, error, self.now.at);
        }
        whose
    }

    /// What may touch the disk, here and now.
    pub(crate) fn load_here(&self, miss: &Miss<File>) -> Loaded<File> {
        self.server.load(self.worker.number, miss, &self.now)
    }

    /// Takes what was opened into the cache, and answers with it.
    pub(crate) fn keep(&self, opening: Opening) -> Loaded<File> {
        self.server.keep(self.worker.number, opening, &self.now)
    }

    /// FIN has come from the peer.
    pub(crate) fn ended(&self, dialog: &mut Dialog) {
        dialog.session.tell(Event::Fin, &self.now);
    }

    /// Whether there is a trace.
    pub(crate) const fn traces(&self) -> bool {
        self.server.trace.is_some()
    }

    /// Looks a request up: memory only.
    pub(crate) fn find(&mut self, head: &Head<'_>) -> Found<os::File> {
        let found = self.server.site.find(head, &self.now);
        if let Found::Status(Status::MISDIRECTED_REQUEST) = found {
            self.server.errors.hint(self.worker.number, &Hint::NoHost, self.now.at);
        }
        found
    }

    /// `host`: as [`site::Site::host_number`] gives it.
    pub(crate) fn found(
        &mut self,
        dialog: &mut Dialog,
        (tag, host): (Tag, u8),
        found: Found<os::File>,
    ) {
        self.tally.add(Counter::Requests, 1);
        if host != 0 {
            dialog.session.tell(Event::Host(tag, host), &self.now);
        }
        self.tally.add(Counter::Loads, u64::from(matches!(found, Found::Miss(_))));
        if let Some(journal) = &mut dialog.journal {
            journal.note(&*dialog.session, tag);
            journal.mark(tag, Step::Find, || self.finder());
        }
        if self.worker.order.is_end_near() {
            dialog.session.tell(Event::Retire, &self.now);
        }
        match found {
            Found::Miss(lookup) => self.missed(dialog, tag, lookup),
            found => dialog.session.tell(Event::Found(tag, found), &self.now),
        }
    }

    /// Others get an old answer while this one looks whether it still holds. If it does not go on
    /// to do so, because it was refused or has a body first, the next one is to look.
    fn missed(&self, dialog: &mut Dialog, tag: Tag, lookup: Lookup) {
        let looks_for = lookup.clone();
        dialog.session.tell(Event::Found(tag, Found::Miss(lookup)), &self.now);
        if !matches!(dialog.session.want(), Want::Load(..)) {
            self.server.site.give_up(&looks_for, &self.now);
        }
    }

    /// A load is somebody else's to do.
    pub(crate) fn handed_over(&self, dialog: &mut Dialog, tag: Tag) {
        dialog.loads += 1;
        dialog.session.tell(Event::HandedOver(tag), &self.now);
    }

    /// Such a load has come back.
    pub(crate) fn came_back(
        &mut self,
        dialog: &mut Dialog,
        tag: Tag,
        (step, who): (Step, Option<Who>),
        loaded: Loaded<os::File>,
    ) {
        self.taken_back(dialog);
        self.loaded_by(dialog, tag, (step, who), loaded);
    }

    /// Such a load is to be done in another way.
    pub(crate) fn taken_back(&self, dialog: &mut Dialog) {
        dialog.loads = dialog.loads.checked_sub(1).expect("it was handed over");
    }

    /// A path was translated for a request, which is not yet loaded.
    pub(crate) fn translated(&self, dialog: &mut Dialog, tag: Tag, who: Option<Who>) {
        if let (Some(journal), Some(who)) = (&mut dialog.journal, who) {
            journal.mark(tag, Step::Path, || who);
        }
    }

    /// A load was done in place, by who performs.
    pub(crate) fn loaded_here(
        &mut self,
        dialog: &mut Dialog,
        tag: Tag,
        step: Step,
        loaded: Loaded<os::File>,
    ) {
        if let Some(journal) = &mut dialog.journal {
            journal.mark(tag, step, || self.finder());
        }
        self.loaded(dialog, tag, loaded);
    }

    /// The same, by whom it was.
    pub(crate) fn loaded_by(
        &mut self,
        dialog: &mut Dialog,
        tag: Tag,
        (step, who): (Step, Option<Who>),
        loaded: Loaded<os::File>,
    ) {
        if let (Some(journal), Some(who)) = (&mut dialog.journal, who) {
            journal.mark(tag, step, || who);
        }
        self.loaded(dialog, tag, loaded);
    }

    /// Too much waits already for who would do a load.
    pub(crate) fn load_refused(&mut self, dialog: &mut Dialog, tag: Tag) {
        self.tally.add(Counter::LoadRefusals, 1);
        let refused = Loaded::Status(Status::SERVICE_UNAVAILABLE);
        dialog.session.tell(Event::Loaded(tag, refused), &self.now);
    }

    /// Who performs, for the trace.
    pub(crate) fn me(&self) -> Who {
        self.fiber.map_or_else(|| Who::me(self.by), Who::fiber)
    }

    /// The same where nothing is handed to a ring.
    fn finder(&self) -> Who {
        self.fiber.map_or_else(|| Who::me(self.by.finder()), Who::fiber)
    }

    /// So many bytes are out; the replies that they complete are told.
    pub(crate) fn sent(&mut self, dialog: &mut Dialog, n: u64) -> bool {
        let Self { server, now, tally, log, .. } = self;
        tally.add(Counter::Bytes, n);
        dialog.session.tell(Event::Sent(n), now);
        let mut replied = false;
        while let Some((tag, reply)) = dialog.session.next_reply() {
            tally.replied(reply, os::clock::monotonic() - reply.begun);
            replied = true;
            if let Some(journal) = &mut dialog.journal {
                journal.finish((tag, reply), server, log.as_mut(), now, tally);
            }
        }
        replied
    }

    /// A file has become shorter than its reply has promised.
    pub(crate) fn file_ended(&mut self, dialog: &mut Dialog) {
        self.tally.add(Counter::FileFaults, 1);
        dialog.session.tell(Event::Failed, &self.now);
    }

    /// A call on its socket or its file has failed.
    pub(crate) fn broke_off(&mut self, dialog: &mut Dialog, error: &io::Error) {
        self.tally.add(fault(error), 1);
        dialog.session.tell(Event::Failed, &self.now);
    }

    /// Counts a connection that is closed for another one.
    pub(crate) fn evicted(&mut self, dialog: &Dialog) {
        self.tally.add(Counter::Evicted, 1);
        self.tally.add(Counter::EvictedSlow, (!dialog.session.view().is_idle).into());
    }

    /// Its deadline has passed at `at`.
    pub(crate) fn expired(&mut self, dialog: &mut Dialog, at: Instant) -> bool {
        let is_over = dialog.session.expired(&Now { at, ..self.now });
        self.tally.add(Counter::Timeouts, u64::from(is_over));
        is_over
    }

    /// The order to end has come: without haste where others serve in its place.
    pub(crate) fn tell_end(&self, dialog: &mut Dialog) {
        let is_retiring = self.worker.order.is_retiring();
        let event = if is_retiring { Event::Retire } else { Event::Drain };
        dialog.session.tell(event, &self.now);
    }

    /// What was counted is published.
    pub(crate) fn publish(&mut self) {
        let second = self.now.date.seconds;
        let blocked = self.disk.told(second);
        self.tally.add(Counter::Blocked, blocked.as_nanos() as u64);
        self.tally.publish(&self.server.counters, self.worker.row);
        self.server.counters.count_switches(second);
    }

    /// What a load has come to.
    pub(crate) fn loaded(&mut self, dialog: &mut Dialog, tag: Tag, loaded: Loaded<os::File>) {
        count_fault(&loaded, &mut self.tally);
        dialog.session.tell(Event::Loaded(tag, loaded), &self.now);
    }
}

/// Whose fault an error on a socket or a file is.
pub(crate) fn fault(error: &io::Error) -> Counter {
    if os::is_peer_gone(error) { Counter::PeerFaults } else { Counter::MachineFaults }
}

/// Counts what a load came to, if that is somebody's fault: no page of a file that shrank, or a
/// disk or a machine that refused.
fn count_fault(loaded: &Loaded<os::File>, tally: &mut Tally) {
    let status = match loaded {
        Loaded::More(piece) if piece.bytes().is_empty() => {
            return tally.add(Counter::FileFaults, 1);
        }
        Loaded::Status(status) => *status,
        Loaded::Answer(answer) => answer.representation.status,
        _ => return,
    };
    if status >= Status::INTERNAL_SERVER_ERROR {
        tally.add(Counter::MachineFaults, 1);
    }
}
