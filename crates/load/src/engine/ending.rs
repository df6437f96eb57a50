//! How requests, connections and sessions end.

use measure::draw::Stream;
use measure::{Duration, Instant};
use os::clock::monotonic;

use super::Engine;
use super::asked::Asked;
use super::connection::{Loss, State};
use super::slab::Token;
use crate::Purpose;
use crate::arrivals::Arrivals;
use crate::behaviour::{GivesUpBy, Keeps};
use crate::record::{Outcome, Step};

/// How long a client of a closed loop rests who got no answer. One who comes back at once to where
/// nobody listens would take the processor from a server that is about to start again there; a
/// person or a program comes back later than this.
const FAILED_REST: Duration = Duration::from_millis(10);

impl Engine<'_> {
    /// A request is over: its record goes out.
    pub(super) fn finish(&mut self, visit: Token, asked: &Asked, outcome: Outcome, now: Instant) {
        let Some(visit) = self.visits.named(visit) else { return };
        let is_reply = matches!(outcome, Outcome::Good | Outcome::Status(_) | Outcome::Wrong);
        visit.settled(!is_reply, now);
        let of = (visit.number, visit.is_last(asked.due.burst, asked.due.index));
        self.observer.record(&asked.record(of, outcome, now));
    }

    /// A connection is of no more use; the requests on it are made again or have failed.
    pub(super) fn lost(&mut self, token: Token, loss: Loss, now: Instant) {
        let Some(connection) = self.connections.named(token) else { return };
        let visit = connection.visit;
        let asked = std::mem::take(&mut connection.asked);
        let steps: Vec<Step> = asked.iter().map(|asked| connection.step(asked)).collect();
        let gives_up = loss == Loss::Impatience;
        self.forget(token, if gives_up { self.plan.behaviour.gives_up_by } else { GivesUpBy::Fin });
        for (number, (asked, step)) in asked.into_iter().zip(steps).enumerate() {
            self.fail(visit, asked, (loss, step, number == 0), now);
        }
        self.advance(visit, now);
    }

    /// A request has lost its connection.
    fn fail(
        &mut self,
        visit: Token,
        mut asked: Asked,
        (loss, step, is_first): (Loss, Step, bool),
        now: Instant,
    ) {
        let again = loss.may_be_retried() && asked.first_byte.is_none() && step != Step::Connect;
        if again && asked.retries_left > 0 {
            asked.retries_left -= 1;
            asked.connected = None;
            self.put(visit, asked, now);
        } else {
            self.finish(visit, &asked, loss.outcome(step, is_first), now);
        }
    }

    /// A connection is not used on: the server is to end it, so that the client's port is free at
    /// once.
    pub(super) fn part(&mut self, token: Token, now: Instant) {
        let Some(connection) = self.connections.named(token) else { return };
        let visit = connection.visit;
        connection.state = State::Parting;
        connection.moved = now;
        let asked = std::mem::take(&mut connection.asked);
        connection.talk.rest();
        if let Some(visit) = self.visits.named(visit) {
            visit.connections.retain(|&other| other != token);
        }
        for asked in asked {
            self.fail(visit, asked, (Loss::End, Step::FirstByte, true), now);
        }
        self.watch(token);
    }

    /// Ends a connection that nobody waits for.
    pub(super) fn close(&mut self, token: Token) {
        self.forget(token, GivesUpBy::Fin);
    }

    fn forget(&mut self, token: Token, by: GivesUpBy) {
        let Some(connection) = self.connections.remove(token) else { return };
        self.deadlines.clear(token.place());
        if let Some(reads) = &mut self.reads {
            reads.forget(token);
        }
        if let Some(visit) = self.visits.named(connection.visit) {
            visit.connections.retain(|&other| other != token);
        }
        connection.wire.close(by);
    }

    /// An alarm has rung: perhaps somebody's patience with a connection is over.
    pub(super) fn judge_patience(&mut self, token: Token, now: Instant) {
        let Some(connection) = self.connections.named(token) else { return };
        let deadline = connection.deadline(&self.plan.behaviour);
        match connection.state {
            _ if deadline.is_none_or(|deadline| deadline > now) => self.watch(token),
            // It was asked to go, and has not: what is left is no client's.
            State::Parting => self.forget(token, GivesUpBy::Reset),
            State::Lost(loss) => self.lost(token, loss, now),
            State::Connecting | State::Open => self.lost(token, Loss::Impatience, now),
        }
    }

    /// A session is over. In a closed loop its client begins another one: at once if it has been
    /// answered, else not before [`FAILED_REST`]. Who rests beyond the end of the run stays until
    /// then.
    pub(super) fn over(&mut self, token: Token, now: Instant) {
        if matches!(self.plan.arrivals, Arrivals::Open(_)) {
            return self.leave(token);
        }
        let number = self.visits.named(token).map_or(0, |visit| visit.number);
        let mut resting = Stream::of(self.plan.seed, Purpose::Resting as u64, number);
        let at = now + self.drawn_rest(&mut resting);
        if now >= self.stop || !self.may_begin() {
            return self.leave(token);
        }
        if self.plan.behaviour.keeps != Keeps::Client {
            self.close_all(token);
        }
        let Some(visit) = self.visits.named(token) else { return };
        let was_answered = visit.was_answered();
        let at = if was_answered { at } else { at.max(now + FAILED_REST) };
        visit.rest(at);
        if was_answered && at <= now {
            self.begin(token, at, now);
        } else {
            self.wakes.set(token.place(), at.min(self.stop));
        }
    }

    /// A client leaves.
    pub(super) fn leave(&mut self, token: Token) {
        let is_open_loop = matches!(self.plan.arrivals, Arrivals::Open(_));
        if is_open_loop && self.plan.behaviour.keeps == Keeps::Client {
            self.leave_connections(token);
        }
        self.close_all(token);
        self.visits.remove(token);
        self.wakes.clear(token.place());
    }

    /// Leaves connections that can be used on to those who come later.
    fn leave_connections(&mut self, token: Token) {
        let Some(visit) = self.visits.named(token) else { return };
        let kept = &mut self.kept[self.plan.behaviour.client(visit.number)];
        let connections = &mut self.connections;
        visit.connections.retain(|&connection| {
            let can_be_used = connections.named(connection).is_some_and(|it| it.is_idle());
            if can_be_used {
                kept.push(connection);
            }
            !can_be_used
        });
    }

    /// Ends what the server could not be asked to end. Nothing is on its way there, so that a reset
    /// harms nobody; FIN would cost the client its port for a minute.
    fn close_all(&mut self, token: Token) {
        let Some(visit) = self.visits.named(token) else { return };
        for connection in std::mem::take(&mut visit.connections) {
            self.forget(connection, GivesUpBy::Reset);
        }
    }

    /// The run is over: whoever still waits does so no longer.
    pub(super) fn cut(&mut self) {
        let now = monotonic();
        for token in self.connections.tokens() {
            let parting = self.connections.named(token).map(|at| at.state == State::Parting);
            if parting == Some(false) {
                self.lost(token, Loss::Impatience, now);
            }
        }
    }
}
