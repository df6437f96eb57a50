//! How a completion loop loads and sends: a path is translated and its file opened by a helper;
//! what is in the file is read by the ring, and sent by the ring; or what is in memory of it is
//! sent by the loop, without a copy.

use std::io;

use h1::{Chunk, FilePart, Loaded, Lookup, Miss, Shared, Status, Tag, Want};
use measure::Duration;
use os::File;

use super::{
    Completions, HELPERS, PIECES_BYTES_MAX, READ_BYTES, READ_BYTES_MIN, SENT_THEN_SHUT_MAX,
    VERDICTS, forget,
};
use crate::connection::places::{tag_of, tagged};
use crate::loops::helpers::Opened;
use crate::rings::connection::{Ending, Piece, Read, ReadOf, Resident};
use crate::shared::counters::Counter;
use crate::shared::performer::Performer;
use crate::shared::trace::{Step, Who};

/// What was in memory so long ago may be gone, and a slow client takes minutes: it is asked again.
const RESIDENT_FOR: Duration = Duration::from_millis(100);

/// The tag of a read that no request has asked for: no session gives as many of them.
const REST: Tag = Tag(u8::MAX);

impl Completions<'_> {
    pub(super) fn load(&mut self, token: u64, tag: Tag, miss: Miss<File>) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        let dialog = &mut connection.dialog;
        let Some(miss) = self.books.let_in(None, (token, tag), dialog, miss) else {
            return Ok(());
        };
        match miss {
            Miss::Path(lookup) => {
                self.open(token, tag, lookup);
                Ok(())
            }
            Miss::Pages(part) if self.sends_files && self.fetches.are_over(&part) => {
                self.is_in_memory(token, tag, part);
                Ok(())
            }
            Miss::Pages(part) => self.read(token, tag, part.clone(), ReadOf::Pages(part)),
            Miss::More(part) => self.read(token, tag, part, ReadOf::More),
        }
    }

    /// A part of a file is sent from there, unless it is gone again by then: that the loop waits
    /// for, as a session has asked for it.
    fn is_in_memory(&mut self, token: u64, tag: Tag, part: FilePart<File>) {
        let Some(connection) = self.connections.named(token) else { return };
        if connection.reads.is_empty() {
            // What it had is sent.
            forget(&mut self.pieces_bytes, connection.let_go());
        }
        connection.resident = Some(Resident { part, at: self.books.now.at });
        self.books.loaded_here(&mut connection.dialog, tag, Step::Pages, Loaded::Pages);
    }

    /// Verdicts on passwords have fallen; more are waited for.
    pub(super) fn hear_verdicts(&mut self) -> io::Result<()> {
        let Some(verifiers) = &self.books.worker.verifiers else { return Ok(()) };
        for verdict in verifiers.verdicts() {
            let (token, tag) = (verdict.token, verdict.tag);
            let Some(connection) = self.connections.named(token) else { continue };
            if let Some(miss) = self.books.judged(&mut connection.dialog, verdict) {
                self.load(token, tag, miss)?;
            }
            self.start(token)?;
        }
        self.ring.poll(verifiers.wake(), VERDICTS)
    }

    /// Has a path translated and its file opened by a helper.
    fn open(&mut self, token: u64, tag: Tag, lookup: Lookup) {
        let Some(connection) = self.connections.named(token) else { return };
        let loads = self.helpers.open((token, tag), lookup, &self.books);
        self.books.load_became(&mut connection.dialog, tag, Step::Path, loads);
    }

    /// Files have been opened by helpers; more are waited for.
    pub(super) fn hear_helpers(&mut self) -> io::Result<()> {
        let opened: Vec<Opened> = self.helpers.opened().collect();
        for opened in opened {
            self.opened(opened)?;
        }
        self.ring.poll(self.helpers.wake(), HELPERS)
    }

    /// A small file is read now, for the connection that asked first and is still there. What else
    /// a path leads to is the answer to all that asked for it.
    fn opened(&mut self, opened: Opened) -> io::Result<()> {
        let Opened { token, tag, lookup, who, opening } = opened;
        let Some(part) = opening.unread().filter(|part| !part.is_empty()) else {
            let loaded = self.books.keep(*opening);
            let waiting = self.helpers.ended(&lookup).into_iter().chain([(token, tag)]);
            return self.answer(waiting, (Step::Path, who), &loaded);
        };
        let mut asker = Some((token, tag));
        while let Some((token, tag)) = asker {
            if let Some(connection) = self.connections.named(token) {
                self.books.translated(&mut connection.dialog, tag, who);
                return self.read(token, tag, part, ReadOf::Small(Box::new((lookup, *opening))));
            }
            asker = self.helpers.next(&lookup);
        }
        // All have gone.
        self.helpers.ended(&lookup);
        self.books.server.site.give_up(&lookup, &self.books.now);
        Ok(())
    }

    /// What connections have waited for has come back.
    fn answer(
        &mut self,
        waiting: impl Iterator<Item = (u64, Tag)>,
        step: (Step, Option<Who>),
        loaded: &Loaded<File>,
    ) -> io::Result<()> {
        for (token, tag) in waiting {
            let Some(connection) = self.connections.named(token) else { continue };
            self.books.came_back(&mut connection.dialog, tag, step, loaded.clone());
            self.start(token)?;
        }
        Ok(())
    }

    fn read(&mut self, token: u64, tag: Tag, part: FilePart<File>, of: ReadOf) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        let mut bytes = part.len();
        if !matches!(of, ReadOf::Small(_)) {
            if connection.reads.is_empty() {
                // What it had is sent.
                forget(&mut self.pieces_bytes, connection.let_go());
            }
            let is_much = self.pieces_bytes > PIECES_BYTES_MAX;
            bytes = bytes.min(if is_much { READ_BYTES_MIN } else { READ_BYTES });
            self.pieces_bytes += bytes;
            connection.held_bytes += bytes;
        }
        self.ring.read(&part.file, part.at, bytes as usize, tagged(token, tag))?;
        if let ReadOf::Pages(part) | ReadOf::Rest(part) = &of {
            self.fetches.begin(&part.file);
        }
        self.books.tally.add(Counter::HandOvers, 1);
        if matches!(of, ReadOf::Pages(_) | ReadOf::More) {
            assert_ne!(tag, REST, "no tag of a request");
            self.books.handed_over(&mut connection.dialog, tag);
        }
        connection.reads.reserve_exact(1);
        connection.reads.push(Read { tag, of });
        Ok(())
    }

    /// Bytes of a file: for the cache, for the session, or to be sent as they are.
    pub(super) fn has_read(
        &mut self,
        token: u64,
        read: io::Result<Shared<[u8]>>,
    ) -> io::Result<()> {
        let tag = tag_of(token);
        let token = tagged(token, Tag::default());
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        let step = (Step::Pages, self.books.traces().then(|| Who::me(Performer::Ring)));
        let of = connection.has_read(tag);
        if let ReadOf::Pages(part) | ReadOf::Rest(part) = &of {
            self.fetches.end(&part.file);
        }
        match (of, read) {
            (ReadOf::Small(small), read) => return self.has_read_small(token, tag, *small, read),
            (ReadOf::Rest(part), Ok(bytes)) if !bytes.is_empty() => {
                connection.piece = Some(Piece::new(part, bytes));
            }
            (ReadOf::Rest(_), Ok(_)) => self.books.file_ended(&mut connection.dialog),
            (ReadOf::Rest(_), Err(e)) => connection.broke_off(&e, &mut self.books),
            (of, read) => {
                let loaded = match (of, read) {
                    (ReadOf::Pages(part), Ok(bytes)) if !bytes.is_empty() => {
                        connection.piece = Some(Piece::new(part, bytes));
                        Loaded::Pages
                    }
                    // None where some were promised: a file that has become shorter.
                    (_, Ok(bytes)) => Loaded::More(Chunk::whole(bytes)),
                    (_, Err(_)) => Loaded::Status(Status::INTERNAL_SERVER_ERROR),
                };
                self.books.came_back(&mut connection.dialog, tag, step, loaded);
            }
        }
        self.start(token)
    }

    /// A small file goes into the cache, and to all who asked for it.
    fn has_read_small(
        &mut self,
        token: u64,
        tag: Tag,
        (lookup, mut opening): (Lookup, site::Opening),
        read: io::Result<Shared<[u8]>>,
    ) -> io::Result<()> {
        opening.read(read);
        let loaded = self.books.keep(opening);
        let who = self.books.traces().then(|| Who::me(Performer::Ring));
        let others = self.helpers.ended(&lookup);
        self.answer(others.into_iter().chain([(token, tag)]), (Step::Pages, who), &loaded)
    }

    pub(super) fn send(&mut self, token: u64) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        let dialog = &mut connection.dialog;
        let Want::Send(chunk, part) = dialog.session.want() else { return Ok(()) };
        if let Some(part) = part
            && let Some(resident) = &mut connection.resident
            && resident.covers(part)
        {
            let now = self.books.now.at;
            let is_new = now - resident.at < RESIDENT_FOR;
            if is_new || self.fetches.are_over(part) {
                resident.at = if is_new { resident.at } else { now };
                return self.send_from_memory(token);
            }
            connection.resident = None;
        }
        if let Some(journal) = &mut dialog.journal {
            journal.note_sending(&*dialog.session, || self.books.me());
        }
        let part = part.filter(|part| !part.is_empty());
        let is_head = !chunk.bytes().is_empty();
        let (bytes, range, last) = match (part, &connection.piece) {
            (part, _) if is_head => (chunk.of.owned(), (chunk.at, chunk.end), part.is_none()),
            (Some(part), Some(piece)) if piece.covers(part) => {
                let range = piece.range(part);
                let last = part.at + (range.1 - range.0) as u64 == part.end;
                (piece.bytes.clone(), range, last)
            }
            (Some(part), _) => {
                let part = part.clone();
                return self.read(token, REST, part.clone(), ReadOf::Rest(part));
            }
            (None, _) => {
                self.books.file_ended(dialog);
                return Ok(());
            }
        };
        let small = last && range.1 - range.0 <= SENT_THEN_SHUT_MAX;
        let is_direct = self.ring.socket(connection.handle).is_none();
        if is_direct && small && connection.ending == Ending::Open && dialog.session.view().closes {
            connection.ending = Ending::FinOut;
            connection.shutdowns += 1;
            self.ring.send_then_shut(connection.handle, bytes, range, token)?;
        } else {
            let more = !last && (!is_head || self.books.server.limits.gather);
            self.ring.send(connection.handle, bytes, range, more, token)?;
        }
        connection.sends = true;
        Ok(())
    }

    /// Sends from the page cache, by calls that do not wait for the client: the head, then as much
    /// of the part as is sent in one turn. When the next one begins, when there is room and others
    /// have had theirs, the ring says.
    fn send_from_memory(&mut self, token: u64) -> io::Result<()> {
        let Some(connection) = self.connections.named(token) else { return Ok(()) };
        let dialog = &mut connection.dialog;
        let Want::Send(chunk, Some(part)) = dialog.session.want() else { return Ok(()) };
        let mut rests = connection.had_its_turn;
        if !rests {
            let socket = self.ring.socket(connection.handle);
            let socket = socket.expect("`sendfile` implies ordinary descriptors");
            if let Some(journal) = &mut dialog.journal {
                journal.note_sending(&*dialog.session, || Who::me(Performer::Loop));
            }
            let head = chunk.bytes();
            let sent = if head.is_empty() {
                connection.had_its_turn = true;
                let begun = self.books.disk.begin();
                let sent = socket.send_file(&part.file, part.at, part.len().min(READ_BYTES));
                self.books.disk.end(&begun);
                sent
            } else {
                socket.send_now(head, self.books.server.limits.gather).map(|n| n as u64)
            };
            match sent {
                Ok(0) => self.books.file_ended(dialog),
                Ok(n) => {
                    if self.books.sent(dialog, n) {
                        forget(&mut self.pieces_bytes, connection.let_go());
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => rests = true,
                Err(e) => connection.broke_off(&e, &mut self.books),
            }
        }
        if rests {
            connection.sends = true;
            self.ring.poll_writable(connection.handle, token)?;
        }
        Ok(())
    }
}
