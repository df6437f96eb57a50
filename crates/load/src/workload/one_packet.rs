//! One small file, one request on each connection (Brecht04 6.2: the page that CNN served on
//! September 11th, 2001).
//!
//! The paper sizes the file so that head and content fill one packet and does not say how large
//! they are. 1,180 bytes leave 268 to the head where a segment of Ethernet has 1,448 (1,460 less
//! the timestamps that every connection has today).

use measure::draw::Stream;

use crate::behaviour::Keeps;
use crate::files::{File, FileId, Files};
use crate::session::{Burst, Request, Session};
use crate::source::model::Model;
use crate::source::{Made, Workload};

use super::settings::Settings;

/// See the head of this file.
pub struct OnePacket {
    files: Files,
}

impl OnePacket {
    /// With so many files of this size, which are asked for in turn. Several are no workload of the
    /// paper's: a server that keeps none of them looks for each, and does nothing for two at once.
    #[must_use]
    pub fn new(bytes: u64, copies: u32) -> Self {
        let first = File::sized("/one-packet.html", bytes);
        let others = (1..copies).map(|n| File::sized(format!("/one-packet-{n}.html"), bytes));
        Self { files: Files::new([first].into_iter().chain(others).collect(), true) }
    }
}

impl Workload for OnePacket {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, number: u64, _: &mut Stream, _: &mut Stream) -> Session {
        let file = FileId((number % self.files.count() as u64) as u32);
        let requests = vec![Request::get(file)];
        Session { bursts: vec![Burst { requests, ..Burst::default() }] }
    }

    fn model(&self) -> Model {
        let (one, keeps) = (Some(1.0), Some(Keeps::Request));
        let copies = self.files.count();
        let shares = vec![1.0 / copies as f64; copies];
        Model { shares, requests: one, connections: one, keeps, ..Model::default() }
    }
}

pub(super) fn make(settings: &Settings) -> Made {
    Ok(Box::new(OnePacket::new(settings.bytes, settings.copies)))
}
