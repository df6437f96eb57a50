//! A fiber, as its body has it: it accepts, takes a connection, parks.

use std::cell::Cell;
use std::io;
use std::net::IpAddr;

use h1::{Deadline, Loaded, Lookup, Miss, Tag};
use measure::Instant;
use os::File;
use os::fiber::Parking;
use os::poller::{Event, Interest};
use site::Verification;

use super::scheduler::Scheduler;
use super::slots::Mail;
use crate::connection::books::Books;
use crate::connection::perform::{Load, Service};
use crate::loops::helpers::Part;
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::settings::Sendfile;
use crate::shared::trace::Who;
use crate::shared::verifiers::{Refusal, Verifiers};
use crate::threads::life::{Does, Ends, Keeper};

/// See the head of this file.
pub(crate) struct Running<'f, 's> {
    pub(super) scheduler: &'f Scheduler<'s>,
    parking: &'f Parking<'f>,
    pub(super) number: u32,
    /// What it sends next of a file was in memory when that was asked, so that it sends it itself.
    pub(super) has_pages: Cell<bool>,
}

impl<'f, 's> Running<'f, 's> {
    pub(super) const fn new(
        scheduler: &'f Scheduler<'s>,
        parking: &'f Parking<'f>,
        number: u32,
    ) -> Self {
        Self { scheduler, parking, number, has_pages: Cell::new(false) }
    }

    /// Whether it is the one that accepts for all others.
    pub(crate) fn is_acceptor(&self) -> bool {
        self.scheduler.is_acceptor(self.number)
    }

    /// Who finds and loads for it.
    pub(crate) const fn service(&self) -> &Self {
        self
    }

    /// Its own books.
    pub(crate) fn books(&self) -> Books<'s> {
        let mut books = Books::new(self.scheduler.worker, Performer::Fiber);
        books.fiber = Some(self.number);
        books
    }

    /// Parks until somebody can be accepted; `false`: nobody comes any more.
    pub(crate) fn waits_to_accept(&self) -> bool {
        if self.scheduler.is_to_wait(self.number) {
            self.parking.park();
        }
        !self.scheduler.is_shut()
    }

    /// Accepts as many connections from each listening socket as the intake lets in, unless some
    /// that were accepted have no fiber yet.
    pub(crate) fn accept(&self) {
        self.scheduler.accept(self.number, |goes| {
            self.scheduler.hurry([goes, self.number]);
            self.parking.park();
        });
    }

    /// Parks until its socket is ready for one of these, its deadline has passed, or it is to look
    /// what there is; what the poller has told.
    ///
    /// # Errors
    /// The machine cannot look.
    pub(super) fn parks(
        &self,
        interest: Interest,
        deadline: Option<Deadline>,
    ) -> io::Result<Option<Event>> {
        let told = self.scheduler.parks(self.number, interest, deadline)?;
        Ok(told.or_else(|| {
            self.parking.park();
            self.scheduler.goes_on(self.number)
        }))
    }

    /// Lets all others run whose turn it is.
    pub(super) fn yields(&self) {
        self.scheduler.yields(self.number);
        self.parking.park();
    }

    /// A worker sends.
    pub(super) fn sends(
        &self,
        part: Part,
        deadline: Option<Deadline>,
    ) -> (io::Result<u64>, Option<Who>) {
        self.scheduler.send(self.number, part, deadline);
        match self.hears() {
            Mail::Sent(sent, who) => (sent, who),
            Mail::Loaded(_) | Mail::Verdict(_) => unreachable!("a part was to be sent"),
        }
    }

    /// Parks until there is an answer.
    fn hears(&self) -> Mail {
        loop {
            if let Some(mail) = self.scheduler.mail(self.number) {
                return mail;
            }
            self.parking.park();
        }
    }
}

/// Who finds and loads for fibers: what may touch the disk workers do.
impl Service for &Running<'_, '_> {
    fn load(&mut self, _: u64, tag: Tag, miss: Miss<File>, books: &mut Books<'_>) -> Load {
        let how = books.server.settings.sendfile;
        if let (Miss::Pages(part), true) = (&miss, how != Some(Sendfile::Off)) {
            // The paper's workers send all that is a file's.
            let looks = matches!(how, None | Some(Sendfile::NonblockingPolled));
            let is_here = looks && self.scheduler.has_pages(part);
            self.has_pages.set(is_here);
            return if is_here { Load::Came(Loaded::Pages, None) } else { Load::InSend };
        }
        match self.scheduler.load(self.number, tag, miss, books) {
            Load::HandedOver => books.tally.add(Counter::HandOvers, 1),
            Load::Joined => {}
            other => return other,
        }
        let (loaded, who): (Loaded<File>, _) = match self.hears() {
            Mail::Loaded(fetched) => (fetched.loaded, fetched.who),
            Mail::Sent(..) | Mail::Verdict(_) => unreachable!("something was to be loaded"),
        };
        Load::Came(loaded, who)
    }

    fn verdict(
        &mut self,
        verifiers: &Verifiers,
        of: Verification,
        from: Option<IpAddr>,
        now: Instant,
        (tag, lookup): (Tag, &Lookup),
    ) -> Result<bool, Refusal> {
        verifiers.ask(of, from, now, (self.number.into(), tag, lookup.clone()))?;
        self.scheduler.waits_for_mail(self.number, None);
        match self.hears() {
            Mail::Verdict(lets_in) => Ok(lets_in),
            Mail::Loaded(_) | Mail::Sent(..) => unreachable!("a password was to be verified"),
        }
    }
}

impl Keeper for Running<'_, '_> {
    /// The scheduler sees for itself who waits.
    fn says(&self, _: bool, _: Does) -> bool {
        false
    }

    fn is_draining(&self) -> bool {
        self.scheduler.is_draining()
    }

    /// Who is idle is told when it is sure that nothing of his lies unread.
    fn ends(&self, is_idle: bool) -> Ends {
        let is_told = self.is_draining() && (!is_idle || self.scheduler.has_looked(self.number));
        if is_told { Ends::IsTold } else { Ends::GoesOn }
    }

    fn is_cut(&self) -> bool {
        self.scheduler.is_cut(self.number)
    }

    fn is_wanted(&self) -> bool {
        false
    }
}
