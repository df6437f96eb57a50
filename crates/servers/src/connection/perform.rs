//! One want, performed: what loops, threads and the admin listener share.

use std::io;
use std::net::IpAddr;

use h1::{FilePart, Found, Head, Loaded, Lookup, Miss, Tag, Want};
use measure::Instant;
use os::File;
use os::poller::Interest;
use site::Verification;

use super::books::Books;
use super::calls::{Calls, interest};
use super::disk_waits::DiskWaits;
use super::{Connection, Dialog};
use crate::session::Event;
use crate::shared::counters::Counter;
use crate::shared::trace::{Step, Who};
use crate::shared::verifiers::{Refusal, Verifiers};

/// Where a connection stands after one want.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Performed; it wants something else now.
    Went,
    /// It wants to send, which is not its turn yet.
    Sends,
    /// Nothing more until its socket is ready for this, or a load has come back.
    Blocked(Interest),
    /// It is to be dropped.
    Over,
}

/// How much of a connection's work is done before the others' turn, and what is lent for it.
pub(crate) struct Share<'b> {
    pub(crate) until: Until,
    /// Wants that are performed.
    pub(crate) wants: u32,
    /// Bytes that are sent.
    pub(crate) bytes: u64,
    /// What is received goes through here.
    pub(crate) buffer: &'b mut [u8],
}

/// How far a connection is worked on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until it has something to send.
    Send,
    /// Until it would block.
    Blocked,
}

/// Whoever finds and loads what connections want.
pub(crate) trait Service {
    /// Looks a request up: memory only.
    fn find(&mut self, head: &Head<'_>, books: &mut Books<'_>) -> Found<File> {
        books.find(head)
    }

    /// Takes a miss of the connection with that token: answers now, or later.
    fn load(&mut self, token: u64, tag: Tag, miss: Miss<File>, books: &mut Books<'_>) -> Load;

    /// Waits for the verdict on a password, where calls wait.
    ///
    /// # Errors
    /// None will fall.
    fn verdict(
        &mut self,
        verifiers: &Verifiers,
        of: Verification,
        from: Option<IpAddr>,
        now: Instant,
        _: (Tag, &Lookup),
    ) -> Result<bool, Refusal> {
        verifiers.wait(of, from, now)
    }
}

/// What became of a miss.
pub(crate) enum Load {
    /// Done here and now.
    Done(Loaded<File>),
    /// Done by another, for whom the connection has waited; or there already, and done by nobody.
    Came(Loaded<File>, Option<Who>),
    /// Pages: whoever sends them waits for the disk.
    InSend,
    HandedOver,
    /// Handed over before, for another connection that asked for the same.
    Joined,
    /// Too much waits already.
    Refused,
}

/// Nobody to hand over to: whoever performs waits until the disk has answered.
pub(crate) struct InPlace;

impl Service for InPlace {
    fn load(&mut self, _: u64, _: Tag, miss: Miss<File>, books: &mut Books<'_>) -> Load {
        Load::Done(books.load_here(&miss))
    }
}

impl<C: Calls> Connection<C> {
    /// Prepares it to be closed for another one: as below, nothing is kept for its peer.
    pub(crate) fn evicted(&mut self, books: &mut Books<'_>) {
        books.evicted(&self.dialog);
        if matches!(self.dialog.session.want(), Want::Send(..)) {
            self.calls.reset_on_close();
        }
    }

    /// Its deadline has passed at `at`. What a peer has not taken by then the kernel does not keep
    /// for it: that is up to megabytes, for minutes. By a reset, because TCP_USER_TIMEOUT counts
    /// from a window's first end on, and so also breaks off who reads slowly.
    pub(crate) fn expired(&mut self, at: Instant, books: &mut Books<'_>) {
        let sends = matches!(self.dialog.session.want(), Want::Send(..));
        if books.expired(&mut self.dialog, at) && sends {
            self.calls.reset_on_close();
        }
    }
}

impl Books<'_> {
    /// Performs wants of a connection until its share is used up, or one has to wait.
    pub(crate) fn work<C: Calls>(
        &mut self,
        token: u64,
        connection: &mut Connection<C>,
        share: &mut Share<'_>,
        service: &mut dyn Service,
    ) -> Progress {
        for _ in 0..share.wants {
            match self.perform(token, connection, share, service) {
                Progress::Went if share.bytes > 0 => {}
                progress => return progress,
            }
        }
        Progress::Went
    }

    /// Performs what `connection` wants, once.
    fn perform<C: Calls>(
        &mut self,
        token: u64,
        connection: &mut Connection<C>,
        share: &mut Share<'_>,
        service: &mut dyn Service,
    ) -> Progress {
        let dialog = &mut connection.dialog;
        match dialog.session.want() {
            Want::Recv => self.receive(connection, share, false),
            Want::Find(tag, head) => {
                let host = self.server.site.host_number(&head);
                let found = service.find(&head, self);
                self.found(dialog, (tag, host), found);
                Progress::Went
            }
            Want::Load(..) if dialog.is_loaded() => self.wait(connection, share),
            Want::Load(tag, miss) => self.load(token, connection, tag, miss, service),
            Want::Send(..) if share.until == Until::Send => Progress::Sends,
            Want::Send(chunk, part) => {
                if connection.hears && connection.calls.hears(true).unwrap_or(true) {
                    return self.receive(connection, share, true);
                }
                if dialog.session.view().drops && connection.calls.lies_unread() {
                    return self.receive_behind(connection, share);
                }
                if let Some(journal) = &mut dialog.journal {
                    journal.note_sending(&*dialog.session, || self.me());
                }
                let (calls, bytes) = (&mut connection.calls, chunk.bytes());
                // Whether the call may wait, and how much it sends at least if it has not.
                let (waits, at_once, sent) = match part {
                    Some(part) if bytes.is_empty() => {
                        let sent = send_part(calls, part, share, &mut self.disk);
                        if let (Some((who, pages)), Some(journal)) =
                            (calls.sender(), &mut dialog.journal)
                        {
                            journal.note_sender(who, pages);
                        }
                        (calls.parts_wait(), u64::MAX, sent)
                    }
                    _ => {
                        let more = part.is_some_and(|part| !part.is_empty());
                        let more = more && self.server.limits.gather;
                        let sent = calls.send(bytes, more).map(|n| n as u64);
                        (C::WAIT, bytes.len() as u64, sent)
                    }
                };
                if waits && sent.as_ref().is_ok_and(|n| *n < at_once) {
                    self.look_at_clock();
                }
                self.has_sent(connection, share, sent)
            }
            Want::Wait => self.wait(connection, share),
            Want::Shut => match connection.calls.shut() {
                Ok(()) => {
                    dialog.session.tell(Event::Shut, &self.now);
                    Progress::Went
                }
                Err(e) => {
                    self.broke_off(dialog, &e);
                    Progress::Over
                }
            },
            Want::Close => Progress::Over,
        }
    }

    fn receive<C: Calls>(
        &mut self,
        connection: &mut Connection<C>,
        share: &mut Share<'_>,
        sends: bool,
    ) -> Progress {
        let received = connection.calls.recv(share.buffer);
        if C::WAIT {
            self.look_at_clock();
        }
        let dialog = &mut connection.dialog;
        match received {
            Ok(0) => self.ended(dialog),
            Ok(n) => self.received(dialog, &share.buffer[..n]),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                return Progress::Blocked(interest(connection.calls.may_hear(), sends));
            }
            Err(e) => self.broke_off(dialog, &e),
        }
        Progress::Went
    }

    /// What came behind the last request. If there was nothing, the reply goes on all the same.
    #[cold]
    fn receive_behind<C: Calls>(
        &mut self,
        connection: &mut Connection<C>,
        share: &mut Share<'_>,
    ) -> Progress {
        match self.receive(connection, share, true) {
            Progress::Blocked(_) => Progress::Went,
            progress => progress,
        }
    }

    /// Nothing can be done until a load comes back, but to hear.
    fn wait<C: Calls>(
        &mut self,
        connection: &mut Connection<C>,
        share: &mut Share<'_>,
    ) -> Progress {
        connection.hears = connection.dialog.session.view().hears;
        if connection.hears {
            self.receive(connection, share, false)
        } else {
            Progress::Blocked(Interest::NONE)
        }
    }

    /// Lets in who asks, and has a miss loaded.
    pub(crate) fn load<C: Calls>(
        &mut self,
        token: u64,
        connection: &mut Connection<C>,
        tag: Tag,
        miss: Miss<File>,
        service: &mut dyn Service,
    ) -> Progress {
        let dialog = &mut connection.dialog;
        let waits: Option<&mut dyn Service> = if C::WAIT { Some(&mut *service) } else { None };
        let Some(miss) = self.let_in(waits, (token, tag), dialog, miss) else {
            return Progress::Went;
        };
        let step = step_of(&miss);
        // Nobody waits for pages in place: the send does.
        let begun = (!matches!(miss, Miss::Pages(_))).then(|| self.disk.begin());
        let load = service.load(token, tag, miss, self);
        match &load {
            Load::Done(_) => {
                begun.iter().for_each(|begun| self.disk.end(begun));
                if C::WAIT {
                    self.look_at_clock();
                }
            }
            Load::Came(..) => {
                self.look_at_clock();
            }
            Load::InSend => connection.calls.awaits_pages(),
            Load::HandedOver | Load::Joined | Load::Refused => {}
        }
        self.load_became(dialog, tag, step, load);
        Progress::Went
    }

    /// Tells a session what became of its load.
    pub(crate) fn load_became(&mut self, dialog: &mut Dialog, tag: Tag, step: Step, load: Load) {
        match load {
            Load::Done(loaded) => self.loaded_here(dialog, tag, step, loaded),
            Load::Came(loaded, who) => self.loaded_by(dialog, tag, (step, who), loaded),
            Load::InSend => self.loaded_by(dialog, tag, (step, None), Loaded::Pages),
            Load::HandedOver => {
                self.tally.add(Counter::HandOvers, 1);
                self.handed_over(dialog, tag);
            }
            Load::Joined => self.handed_over(dialog, tag),
            Load::Refused => self.load_refused(dialog, tag),
        }
    }

    fn has_sent<C: Calls>(
        &mut self,
        connection: &mut Connection<C>,
        share: &mut Share<'_>,
        sent: io::Result<u64>,
    ) -> Progress {
        let dialog = &mut connection.dialog;
        match sent {
            Ok(0) => self.file_ended(dialog),
            Ok(n) => {
                share.bytes = share.bytes.saturating_sub(n);
                let replied = self.sent(dialog, n);
                if C::WAIT && replied {
                    self.publish();
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if connection.calls.parts_wait() {
                    self.look_at_clock();
                }
                connection.hears = dialog.session.view().hears;
                let hears = connection.hears && connection.calls.may_hear();
                return Progress::Blocked(interest(hears, true));
            }
            Err(e) => self.broke_off(dialog, &e),
        }
        Progress::Went
    }
}

fn send_part(
    calls: &mut impl Calls,
    part: &FilePart<File>,
    share: &mut Share<'_>,
    disk: &mut DiskWaits<'_>,
) -> io::Result<u64> {
    let waits = calls.parts_wait();
    // One that waits does so for its client, too.
    let begun = (!waits).then(|| disk.begin());
    let sent = calls.send_part(part, part.len().min(share.bytes));
    begun.iter().for_each(|begun| disk.end(begun));
    if waits {
        // Others have waited meanwhile.
        share.bytes = 0;
    }
    sent
}

/// The step of a request that a miss belongs to.
pub(crate) fn step_of(miss: &Miss<File>) -> Step {
    match miss {
        Miss::Path(_) => Step::Path,
        Miss::Pages(_) | Miss::More(_) => Step::Pages,
    }
}
