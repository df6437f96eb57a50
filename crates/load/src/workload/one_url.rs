//! One file, asked for again and again, one request in each session.

use measure::draw::Stream;

use crate::files::{File, FileId, Files};
use crate::session::{Burst, Request, Session};
use crate::source::Workload;

/// See the head of this file.
#[derive(Debug)]
pub struct OneUrl {
    files: Files,
}

impl OneUrl {
    /// Asks for this target, of whose content nothing is known.
    #[must_use]
    pub fn new(target: &str) -> Self {
        Self { files: Files::new(vec![File::unknown(target)], false) }
    }
}

impl Workload for OneUrl {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, _: u64, _: &mut Stream, _: &mut Stream) -> Session {
        let requests = vec![Request::get(FileId(0))];
        Session { bursts: vec![Burst { requests, ..Burst::default() }] }
    }
}
