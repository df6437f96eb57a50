//! Slow readers: a client that has a rate takes a piece of what has come, and nothing more of that
//! connection until the piece has had its time. What comes meanwhile waits in the kernel, in a
//! receive buffer so small that the rest of the reply stays with the server.

use measure::{Duration, Instant};

use super::alarms::Alarms;
use super::connection::{Reading, State};
use super::slab::Token;
use super::{BUFFER_BYTES, Engine, PER_ROUND_MAX};
use crate::behaviour::Behaviour;

/// Pieces in a second: few enough for thousands of readers, and so many that a reader never stands
/// still for as long as a server or a watchdog would notice.
const PIECES_PER_S: u64 = 10;

/// The least receive buffer: less than two packets of Ethernet's is a window that the kernels of
/// both ends put off using (RFC 1122 sections 4.2.3.3 and 4.2.3.4).
const RECEIVE_BUFFER_MIN_BYTES: u64 = 4 << 10;

/// How fast replies are read.
pub(super) struct Reads {
    /// Of each connection.
    bytes_per_s: u64,
    /// When a connection is read on, by its place.
    resumes: Alarms,
}

impl Reads {
    /// `None`: as they come.
    pub(super) fn of(behaviour: &Behaviour) -> Option<Self> {
        let kb_per_s = behaviour.reads_kb_per_s?.get();
        Some(Self { bytes_per_s: u64::from(kb_per_s) << 10, resumes: Alarms::new() })
    }

    /// What is taken at once.
    pub(super) fn piece_bytes(&self) -> usize {
        (self.bytes_per_s / PIECES_PER_S).min(BUFFER_BYTES as u64) as usize
    }

    /// What the kernel is to hold.
    pub(super) fn receive_buffer_bytes(&self) -> u32 {
        let bytes = (self.bytes_per_s / PIECES_PER_S).max(RECEIVE_BUFFER_MIN_BYTES);
        // Options of sockets are of this type.
        bytes.min(i32::MAX as u64) as u32
    }

    /// When the first connection is read on.
    pub(super) fn earliest(&self) -> Option<Instant> {
        self.resumes.earliest()
    }

    /// A connection is gone.
    pub(super) fn forget(&mut self, token: Token) {
        self.resumes.clear(token.place());
    }

    /// How long so many bytes take, at least.
    fn lasts(&self, bytes: usize) -> Duration {
        Duration::from_nanos((bytes as u64 * 1_000_000_000).div_ceil(self.bytes_per_s))
    }
}

impl Engine<'_> {
    /// A piece was taken. Says whether nothing more is to be taken for now, which is so if there is
    /// a rate and the connection is of use.
    pub(super) fn pause(
        &mut self,
        token: Token,
        taken: usize,
        has_ended: bool,
        now: Instant,
    ) -> bool {
        let Some(reads) = &mut self.reads else { return false };
        let Some(connection) = self.connections.named(token) else { return false };
        if connection.state != State::Open || (has_ended && connection.is_idle()) {
            return false;
        }
        connection.reading = Reading::Paused { has_ended };
        reads.resumes.set(token.place(), now + reads.lasts(taken));
        true
    }

    /// Whether what has come has to wait. On a connection without a request it is its end, most
    /// likely, of which the next request has to know.
    pub(super) fn is_paused(&mut self, token: Token, ended_now: bool) -> bool {
        let Some(connection) = self.connections.named(token) else { return false };
        let is_idle = connection.is_idle();
        match &mut connection.reading {
            Reading::Paused { has_ended } if !is_idle => {
                *has_ended |= ended_now;
                true
            }
            _ => false,
        }
    }

    /// Reads on where a piece has had its time.
    pub(super) fn resume(&mut self, now: Instant) {
        for _ in 0..PER_ROUND_MAX {
            let Some(reads) = &mut self.reads else { return };
            let Some(place) = reads.resumes.rung(now) else { return };
            let Some(token) = self.connections.at(place) else { continue };
            let Some(connection) = self.connections.named(token) else { continue };
            let reading = std::mem::replace(&mut connection.reading, Reading::AsItComes);
            if let Reading::Paused { has_ended } = reading {
                self.hear(token, has_ended);
            }
        }
    }
}
