//! One connection and the requests on it.

use std::collections::VecDeque;
use std::io;

use measure::{Duration, Instant};

use super::asked::Asked;
use super::slab::Token;
use super::talk::{Garbled, Talk};
use super::wire::Wire;
use crate::behaviour::Behaviour;
use crate::record::{Outcome, Step};

/// How long a server gets to end a connection that it was asked to end, behind the reply; then it
/// is reset. Whoever ends it first has to remember it for a minute (TIME_WAIT), and a client has
/// one port for each.
const PARTING_MAX: Duration = Duration::from_secs(1);

/// See the head of this file.
pub(super) struct Connection {
    /// Whose it is.
    pub(super) visit: Token,
    pub(super) wire: Wire,
    pub(super) talk: Talk,
    pub(super) state: State,
    pub(super) reading: Reading,
    /// Requests that are not over, in the order in which they were made.
    pub(super) asked: VecDeque<Asked>,
    /// What the kernel has not taken yet.
    unsent: Vec<u8>,
    /// When the connect began, or when bytes last went or came.
    pub(super) moved: Instant,
    /// The next request's.
    tag: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Connecting,
    Open,
    /// Of no more use; the server is to end it.
    Parting,
    /// A send has told.
    Lost(Loss),
}

/// When what has come is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    AsItComes,
    /// When an alarm rings; and whether the server has ended the connection, of which nothing tells
    /// again.
    Paused {
        has_ended: bool,
    },
}

/// Why a connection is of no more use, while requests are on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// The client gives up.
    Impatience,
    /// The server has reset it.
    Reset,
    /// The server has ended it.
    End,
    /// What came is no reply.
    Garbled(Garbled),
    /// Anything else.
    Other(Outcome),
}

impl Connection {
    pub(super) fn new(visit: Token, wire: Wire, is_connected: bool, now: Instant) -> Self {
        Self {
            visit,
            wire,
            talk: Talk::default(),
            state: if is_connected { State::Open } else { State::Connecting },
            reading: Reading::AsItComes,
            asked: VecDeque::new(),
            unsent: Vec::new(),
            moved: now,
            tag: 0,
        }
    }

    /// Whether another request may be made on it, where at most one is on its way at a time.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Open && self.asked.is_empty()
    }

    /// Takes a request, which is sent as soon as there is a connection.
    pub(super) fn take(&mut self, mut asked: Asked, now: Instant) {
        asked.tag = self.tag;
        self.tag = self.tag.wrapping_add(1);
        if self.asked.is_empty() {
            self.moved = now;
        }
        self.asked.push_back(asked);
    }

    /// The request of this tag is over.
    pub(super) fn remove(&mut self, tag: u32) -> Option<Asked> {
        let at = self.asked.iter().position(|asked| asked.tag == tag)?;
        self.asked.remove(at)
    }

    /// Sends, behind what has not gone yet.
    pub(super) fn send(&mut self, bytes: &[u8], now: Instant) {
        let sent = if self.is_full() { 0 } else { self.push(bytes, now) };
        self.unsent.extend_from_slice(&bytes[sent..]);
    }

    /// Whether something waits for room.
    pub(super) const fn is_full(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// There is room again.
    pub(super) fn send_rest(&mut self, now: Instant) {
        let unsent = std::mem::take(&mut self.unsent);
        let sent = self.push(&unsent, now);
        self.unsent.extend_from_slice(&unsent[sent..]);
    }

    fn push(&mut self, bytes: &[u8], now: Instant) -> usize {
        match self.wire.send(bytes) {
            Ok(sent) => {
                self.moved = now;
                sent
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => {
                self.state = State::Lost(Loss::of(&error));
                0
            }
        }
    }

    /// What a request on it waits for.
    pub(super) fn step(&self, asked: &Asked) -> Step {
        match asked.first_byte {
            _ if self.state == State::Connecting => Step::Connect,
            Some(_) => Step::Reply,
            None if self.is_full() => Step::Send,
            None => Step::FirstByte,
        }
    }

    /// When somebody's patience is over.
    pub(super) fn deadline(&self, behaviour: &Behaviour) -> Option<Instant> {
        match self.state {
            State::Parting => return Some(self.moved + PARTING_MAX),
            // It is told at once.
            State::Lost(_) => return Some(Instant::ORIGIN),
            State::Connecting | State::Open => {}
        }
        let first = self.asked.front()?;
        let step_max = match self.step(first) {
            Step::Connect => behaviour.connect_max,
            Step::Send => behaviour.send_max,
            Step::FirstByte => behaviour.first_byte_max,
            Step::Reply => behaviour.progress_max,
        };
        let step_ends = step_max.map(|most| self.moved + most);
        let intended = self.asked.iter().map(|asked| asked.due.intended).min();
        let whole_ends = intended.zip(behaviour.patience).map(|(from, most)| from + most);
        [step_ends, whole_ends].into_iter().flatten().min()
    }

    /// Gives memory back, between two requests that are far from each other.
    pub(super) fn rest(&mut self) {
        if self.is_idle() {
            self.talk.rest();
            self.asked = VecDeque::new();
            self.unsent = Vec::new();
        }
    }
}

impl Loss {
    /// What an error of a call on a connection says.
    pub(super) fn of(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        if os::is_out_of_descriptors(error) {
            return Self::Other(Outcome::NoDescriptor);
        }
        Self::Other(match error.kind() {
            Kind::ConnectionReset | Kind::BrokenPipe | Kind::ConnectionAborted => {
                return Self::Reset;
            }
            Kind::ConnectionRefused => Outcome::Refused,
            Kind::TimedOut => Outcome::TimedOut,
            Kind::AddrNotAvailable | Kind::AddrInUse => Outcome::NoAddress,
            Kind::HostUnreachable | Kind::NetworkUnreachable | Kind::NetworkDown => {
                Outcome::Unreachable
            }
            _ => Outcome::Other,
        })
    }

    /// What it was to a request that waited for this; `is_first`: it was the one whose turn it was.
    pub(super) const fn outcome(self, step: Step, is_first: bool) -> Outcome {
        match self {
            Self::Impatience => Outcome::Impatient(step),
            Self::Reset => Outcome::Reset(step),
            Self::Garbled(Garbled::Malformed) if is_first => Outcome::Malformed,
            Self::Garbled(Garbled::Unread) if is_first => Outcome::Unread,
            Self::End | Self::Garbled(_) => Outcome::Ended(step),
            Self::Other(outcome) => outcome,
        }
    }

    /// Whether the request may be made again: it was the server that ended the connection.
    pub(super) const fn may_be_retried(self) -> bool {
        matches!(self, Self::Reset | Self::End)
    }
}
