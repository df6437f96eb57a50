//! Requests are made: on a connection that is there, or on a new one.

use std::ops::Range;

use measure::Instant;
use os::clock::monotonic;
use os::poller::Interest;

use super::Engine;
use super::asked::Asked;
use super::connection::{Connection, Loss, State};
use super::reads::Reads;
use super::slab::Token;
use super::talk::Order;
use super::visit::{Due, Next};
use super::wire::Wire;
use crate::behaviour::Keeps;
use crate::record::{Outcome, Step};

impl Engine<'_> {
    /// Makes all requests of a client whose time has come.
    pub(super) fn advance(&mut self, token: Token, now: Instant) {
        let behaviour = &self.plan.behaviour;
        let lanes = if behaviour.pipelines { u32::MAX } else { behaviour.parallel.into() };
        // Ends: each turn makes a request of the session, or none.
        let next = loop {
            let Some(visit) = self.visits.named(token) else { return };
            match visit.next(lanes, self.stop, now) {
                Next::Ask(due) => self.ask(token, due, now),
                next => break next,
            }
        };
        match next {
            Next::Wait(at) => {
                self.wakes.set(token.place(), at);
                self.rest(token);
            }
            Next::Over => self.over(token, now),
            Next::Await | Next::Ask(_) => {}
        }
    }

    fn ask(&mut self, token: Token, due: Due, now: Instant) {
        let Some(visit) = self.visits.named(token) else { return };
        let Some(request) = visit.request(due.burst, due.index) else { return };
        // Nobody set a time for the session of a client who never rests.
        let has_time = due.place > 0 || self.plan.arrivals.have_times();
        let mut asked = Asked::new(due, request, has_time);
        asked.retries_left = self.plan.behaviour.retries;
        asked.make_conditional(self.plan.behaviour.conditional, &mut visit.draws.behaving);
        asked.verify(
            self.plan.behaviour.verified,
            self.workload.files(),
            &mut visit.draws.verifying,
        );
        self.put(token, asked, now);
    }

    /// Puts a request on a connection.
    pub(super) fn put(&mut self, visit: Token, mut asked: Asked, now: Instant) {
        let token = match self.usable(visit).or_else(|| self.take_kept(visit)) {
            Some(token) => token,
            None => {
                asked.leaves(monotonic());
                match self.open(visit, now) {
                    Ok((token, is_connected)) => {
                        asked.connected = is_connected.then(monotonic);
                        token
                    }
                    Err(outcome) => return self.finish(visit, &asked, outcome, monotonic()),
                }
            }
        };
        let Some(connection) = self.connections.named(token) else { return };
        if connection.state == State::Connecting {
            asked.leaves(monotonic());
        }
        connection.take(asked, now);
        if connection.state == State::Open {
            let last = connection.asked.len() - 1;
            self.write(token, last);
        }
        self.watch(token);
    }

    /// A connection of a client that takes another request.
    fn usable(&mut self, visit: Token) -> Option<Token> {
        let visit = self.visits.named(visit)?;
        let pipelines = self.plan.behaviour.pipelines;
        let connections = &mut self.connections;
        visit.connections.iter().copied().find(|&token| {
            connections.named(token).is_some_and(|connection| match connection.state {
                State::Open => pipelines || connection.is_idle(),
                State::Connecting => pipelines,
                State::Parting | State::Lost(_) => false,
            })
        })
    }

    /// A connection that another client of this address has left; the last one left is the one that
    /// the server is the least likely to have given up.
    fn take_kept(&mut self, visit: Token) -> Option<Token> {
        let number = self.visits.named(visit)?.number;
        let kept = &mut self.kept[self.plan.behaviour.client(number)];
        while let Some(token) = kept.pop() {
            let Some(connection) = self.connections.named(token) else { continue };
            if connection.is_idle() {
                connection.visit = visit;
                self.visits.named(visit)?.connections.push(token);
                return Some(token);
            }
        }
        None
    }

    /// A new connection for another request; says whether it has come about already.
    fn open(&mut self, visit: Token, now: Instant) -> Result<(Token, bool), Outcome> {
        let behaviour = &self.plan.behaviour;
        if self.connections.count() >= behaviour.connections_max {
            return Err(Outcome::NotStarted);
        }
        let number = self.visits.named(visit).map_or(0, |visit| visit.number);
        let source = behaviour.source(number);
        self.summary.connections += 1;
        let failed = |error: std::io::Error| Loss::of(&error).outcome(Step::Connect, true);
        let room = self.reads.as_ref().map(Reads::receive_buffer_bytes);
        let opened = Wire::open(self.plan.to, source, behaviour.ports.as_ref(), room);
        let (wire, is_connected) = opened.map_err(failed)?;
        let token = self.connections.insert(Connection::new(visit, wire, is_connected, now));
        if let Some(connection) = self.connections.named(token)
            && let Err(error) = self.poller.add(&connection.wire, token.0, Interest::BOTH)
        {
            self.connections.remove(token);
            return Err(failed(error));
        }
        self.summary.connections_open = self.summary.connections_open.max(self.connections.count());
        if let Some(visit) = self.visits.named(visit) {
            visit.connections.push(token);
        }
        Ok((token, is_connected))
    }

    /// Writes all requests of a connection that has come about.
    pub(super) fn write_all(&mut self, token: Token) {
        let count = self.connections.named(token).map_or(0, |connection| connection.asked.len());
        for at in 0..count {
            self.write(token, at);
        }
    }

    /// Writes one of them, to be sent by [`Self::flush`].
    fn write(&mut self, token: Token, at: usize) {
        let Some(connection) = self.connections.named(token) else { return };
        let Some(asked) = connection.asked.get(at) else { return };
        let Some(visit) = self.visits.named(connection.visit) else { return };
        let Some(request) = visit.request(asked.due.burst, asked.due.index) else { return };
        let keeps = match self.plan.behaviour.keeps {
            Keeps::Request => false,
            // The server is to end it, so that the client's port is free at once.
            Keeps::Session => !visit.is_last(asked.due.burst, asked.due.index),
            Keeps::Client => true,
        };
        let copy = || self.copies.get(&asked.file).unwrap_or(&self.copied_before);
        let order = Order {
            tag: asked.tag,
            request,
            target: &self.workload.files().file(asked.file).target,
            keeps,
            copy: asked.is_conditional.then(copy),
        };
        let from = self.out.len();
        connection.talk.ask(&mut self.out, &self.manner, &order);
        assign(&mut self.outgoing, token, from..self.out.len());
    }

    /// Sends what was written. One after the other, requests of many connections keep the server's
    /// machine awake; each of them sent when it is written would wake it anew, which costs a
    /// virtual machine more than all else that a request does.
    pub(super) fn flush(&mut self) {
        if self.outgoing.is_empty() {
            return;
        }
        let ends = self.outgoing.iter().skip(1).map(|&(_, next)| next).chain([self.out.len()]);
        for (&(token, from), to) in self.outgoing.iter().zip(ends) {
            if let Some(connection) = self.connections.named(token)
                && connection.state == State::Open
            {
                let now = monotonic();
                connection.asked.iter_mut().for_each(|asked| asked.leaves(now));
                connection.send(&self.out[from..to], now);
                if let Some(deadline) = connection.deadline(&self.plan.behaviour) {
                    self.deadlines.set_at_latest(token.place(), deadline);
                }
            }
        }
        self.outgoing.clear();
        self.out.clear();
    }

    /// Sees to it that a connection is looked at when somebody's patience with it is over.
    pub(super) fn watch(&mut self, token: Token) {
        let Some(connection) = self.connections.named(token) else { return };
        if let Some(deadline) = connection.deadline(&self.plan.behaviour) {
            self.deadlines.set_at_latest(token.place(), deadline);
        }
    }

    /// A client thinks: its connections need no memory but their own.
    fn rest(&mut self, visit: Token) {
        let Some(visit) = self.visits.named(visit) else { return };
        for &token in &visit.connections {
            if let Some(connection) = self.connections.named(token) {
                connection.rest();
            }
        }
    }
}

/// Has a part of what was written go by a connection: by one call, all that is written for it in
/// one go.
pub(super) fn assign(outgoing: &mut Vec<(Token, usize)>, token: Token, part: Range<usize>) {
    if !part.is_empty() && outgoing.last().is_none_or(|&(last, _)| last != token) {
        outgoing.push((token, part.start));
    }
}
