//! What connections tell: that they have come about, bytes, their end.

use measure::Instant;
use os::clock::monotonic;
use os::poller::Event;

use super::Engine;
use super::asked::Asked;
use super::asking::assign;
use super::connection::{Connection, Loss, State};
use super::slab::Token;
use super::talk::{Garbled, What};

/// Receives of one connection before others have their turn: a megabyte.
const RECEIVES_MAX: usize = 16;

/// What some bytes were.
enum Told {
    /// There is no more.
    Nothing,
    Part,
    /// The reply to this request is whole, and the connection may be used on or not.
    Whole(Asked, bool),
}

impl Engine<'_> {
    /// Does what an event asks for.
    pub(super) fn happened(&mut self, event: Event) {
        let token = Token(event.token);
        let Some(connection) = self.connections.named(token) else { return };
        match connection.state {
            State::Connecting => match connection.wire.connected(event) {
                Ok(false) => return,
                Ok(true) => self.opened(token),
                Err(error) => return self.lost(token, Loss::of(&error), monotonic()),
            },
            State::Open if event.writable && connection.is_full() => {
                connection.send_rest(monotonic());
                self.watch(token);
            }
            State::Open => {}
            // What else comes is nobody's.
            State::Parting if event.ended => return self.close(token),
            State::Parting => return,
            State::Lost(loss) => return self.lost(token, loss, monotonic()),
        }
        if event.readable || event.ended {
            self.hear(token, event.ended);
        }
    }

    fn opened(&mut self, token: Token) {
        let now = monotonic();
        let Some(connection) = self.connections.named(token) else { return };
        connection.state = State::Open;
        connection.moved = now;
        if let Some(first) = connection.asked.front_mut() {
            first.connected = Some(now);
        }
        self.write_all(token);
    }

    /// Receives what has come. Only changes are reported, so it goes on until there is no more, or
    /// in the next round.
    pub(super) fn hear(&mut self, token: Token, has_ended: bool) {
        if self.reads.is_some() && self.is_paused(token, has_ended) {
            return;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let is_done = (0..RECEIVES_MAX).any(|_| self.receive(token, &mut buffer, has_ended));
        self.buffer = buffer;
        if !is_done {
            self.unread.push((token, has_ended));
        }
    }

    /// Receives once; says whether that was all.
    fn receive(&mut self, token: Token, buffer: &mut [u8], has_ended: bool) -> bool {
        let Some(connection) = self.connections.named(token) else { return true };
        match connection.state {
            State::Open => {}
            State::Parting if has_ended => {
                self.close(token);
                return true;
            }
            // A send that failed is told by its alarm.
            State::Connecting | State::Parting | State::Lost(_) => return true,
        }
        let received = connection.wire.recv(buffer);
        let now = monotonic();
        match received {
            Ok(0) => self.ended(token, now),
            Ok(count) => {
                self.digest(token, &buffer[..count], now);
                if self.pause(token, count, has_ended, now) {
                    return true;
                }
                // A receive that does not fill the buffer has emptied the socket; but behind it FIN
                // may stand.
                return count < buffer.len() && !has_ended;
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => self.lost(token, Loss::of(&error), now),
        }
        true
    }

    /// Takes bytes of a connection for what they are.
    fn digest(&mut self, token: Token, mut bytes: &[u8], now: Instant) {
        let Some(visit) = self.connections.named(token).map(|connection| connection.visit) else {
            return;
        };
        let mut is_settled = false;
        while let Some(connection) = self.connections.named(token)
            && connection.state == State::Open
        {
            connection.moved = now;
            match self.told(token, &mut bytes, now) {
                Ok(Told::Nothing) => break,
                Ok(Told::Part) => {}
                Ok(Told::Whole(asked, keeps)) => {
                    is_settled = true;
                    self.answered(token, &asked, keeps, !bytes.is_empty(), now);
                }
                Err(garbled) => return self.lost(token, Loss::Garbled(garbled), now),
            }
        }
        if is_settled {
            self.advance(visit, now);
        }
        self.watch(token);
    }

    /// Takes the beginning of `bytes`.
    fn told(&mut self, token: Token, bytes: &mut &[u8], now: Instant) -> Result<Told, Garbled> {
        let Some(Connection { talk, asked, .. }) = self.connections.named(token) else {
            return Ok(Told::Nothing);
        };
        let from = self.out.len();
        let heard = talk.hear(bytes, &mut self.out);
        assign(&mut self.outgoing, token, from..self.out.len());
        let Some(heard) = heard? else { return Ok(Told::Nothing) };
        *bytes = &bytes[heard.taken..];
        // Mostly the first of them.
        let at = asked.iter().position(|asked| asked.tag == heard.tag);
        let at = at.ok_or(Garbled::Malformed)?;
        let of = &mut asked[at];
        of.received(heard.taken, now);
        match heard.what {
            What::Part => {}
            What::Head(head) => {
                (of.status, of.length) = (head.status, head.length);
                if of.is_conditional
                    && let Some(copy) = head.validators()
                {
                    self.copies.insert(of.file, copy);
                }
            }
            What::Content(piece) => of.content(piece),
            What::Whole => {
                let whole = asked.remove(at).ok_or(Garbled::Malformed)?;
                return Ok(Told::Whole(whole, talk.keeps()));
            }
        }
        Ok(Told::Part)
    }

    /// A reply is whole; `has_more`: bytes have come behind it.
    fn answered(&mut self, token: Token, asked: &Asked, keeps: bool, has_more: bool, now: Instant) {
        let Some(connection) = self.connections.named(token) else { return };
        let visit = connection.visit;
        // Bytes that belong to no reply: this one is longer than it said.
        let is_alone = !has_more || !connection.asked.is_empty();
        let outcome = asked.outcome(self.workload.files(), is_alone);
        self.finish(visit, asked, outcome, now);
        if !keeps || !is_alone {
            self.part(token, now);
        }
    }

    /// The server has ended the connection.
    fn ended(&mut self, token: Token, now: Instant) {
        let Some(connection) = self.connections.named(token) else { return };
        let visit = connection.visit;
        let whole = connection.talk.ended().and_then(|tag| connection.remove(tag));
        if let Some(asked) = whole {
            self.answered(token, &asked, false, false, now);
            self.close(token);
            self.advance(visit, now);
        } else {
            self.lost(token, Loss::End, now);
        }
    }
}
