//! WebStone's mix of files as JAWS97 2.2.2 used it (table 1): each of four sizes once, one request
//! on each connection. Its clients are a closed loop without think time, 1 to 42 of them (2.3).
//!
//! K and M are taken as 1,024 and 1,024 squared, as WebStone's own files had it. The mean reply is
//! 62,332 bytes, and 84 % of all bytes are the one reply in a hundred that has 5 MB.

use measure::draw::{Stream, Weighted};

use crate::behaviour::Keeps;
use crate::files::{File, FileId, Files};
use crate::session::{Burst, Request, Session};
use crate::source::model::Model;
use crate::source::{Made, Workload};

use super::settings::Settings;

/// Name, size and frequency.
const TABLE_1: [(&str, u64, f64); 4] = [
    ("/webstone/file500.html", 500, 0.35),
    ("/webstone/file5k.html", 5 << 10, 0.50),
    ("/webstone/file50k.html", 50 << 10, 0.14),
    ("/webstone/file5m.html", 5 << 20, 0.01),
];

/// See the head of this file.
pub struct WebStone {
    files: Files,
    shares: [f64; TABLE_1.len()],
    frequencies: Weighted,
}

impl WebStone {
    /// So great a share of the requests is for the largest file; the others keep their ratios.
    #[must_use]
    pub fn new(largest_share: f64) -> Self {
        let files = TABLE_1.map(|(target, bytes, _)| File::sized(target, bytes));
        let [.., (_, _, largest)] = TABLE_1;
        let of_others = (1.0 - largest_share) / (1.0 - largest);
        let mut shares = TABLE_1.map(|(_, _, frequency)| frequency * of_others);
        shares[TABLE_1.len() - 1] = largest_share;
        let files = Files::new(files.into(), true);
        Self { files, shares, frequencies: Weighted::new(shares) }
    }
}

impl Workload for WebStone {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, _: u64, sessions: &mut Stream, _: &mut Stream) -> Session {
        let file = FileId(self.frequencies.draw(sessions) as u32);
        let requests = vec![Request::get(file)];
        Session { bursts: vec![Burst { requests, ..Burst::default() }] }
    }

    fn model(&self) -> Model {
        let shares = self.shares.into();
        let (one, keeps) = (Some(1.0), Some(Keeps::Request));
        Model { shares, requests: one, connections: one, keeps, ..Model::default() }
    }
}

pub(super) fn make(settings: &Settings) -> Made {
    Ok(Box::new(WebStone::new(settings.largest_percent / 100.0)))
}
