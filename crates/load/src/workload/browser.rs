//! What Brecht04 7 says that SPECweb99 lacks: a median reply of 230 bytes, 28 % conditional
//! requests (both Nahum, *Deconstructing SPECWeb99*, 2002), and browsers that open connections in
//! parallel and send 1.2 to 2.7 requests on each (Jamjoom and others).
//!
//! Left to choose: the spread of sizes (the mean is that of Choi05's UC Berkeley trace, the one of
//! its traces that was recorded where the browsers are), two connections at a time (RFC 2616
//! 8.1.4, which browsers of that time kept), SURGE's embedded files, and that a session is one
//! page. That gives 2.0 requests on a connection, and up to six in parallel give 1.8. Which
//! requests are conditional is drawn for each by itself.

use measure::Duration;
use measure::draw::{Draw, Stream, Weighted};

use crate::files::{File, FileId, Files};
use crate::session::{Burst, Request, Session};
use crate::source::model::{Model, Popularity};
use crate::source::{Made, Workload};

use super::pages::{EMBEDDED_MAX, embedded, embedded_mean};
use super::settings::Settings;

/// Sizes of replies: the median is 230 bytes. The mean of 2,000 to 20,000 files of this spread is
/// 9.6 to 10.5 KB (Choi05 table 4, UCB: 9.84 KB); that of the whole distribution is larger, but
/// what makes it so is rarer than one file in so many.
const SIZES: Draw = Draw::LogNormal { mu: 5.438_079_308_923_196, sigma: 2.92 };

/// The spread was chosen for the mean of so many at most.
const FILES_MAX: u32 = 20_000;

/// How many requests ask whether a copy is still current.
const CONDITIONAL: f64 = 0.28;

/// Connections of one browser.
const PARALLEL: u16 = 2;

/// The golden ratio less 1: its multiples, less their whole part, lie evenly between 0 and 1
/// however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// See the head of this file.
pub struct Browser {
    files: Files,
    popularity: Weighted,
}

impl Browser {
    /// With so many files.
    ///
    /// # Panics
    /// There are no files.
    #[must_use]
    pub fn new(files: u32) -> Self {
        let file = |rank| File::sized(format!("/browser/file{rank:05}.html"), size(rank));
        Self {
            files: Files::new((0..files).map(file).collect(), true),
            popularity: Weighted::zipf(files, 1.0),
        }
    }

    fn request(&self, from: &mut Stream) -> Request {
        let file = FileId(self.popularity.draw(from) as u32);
        Request { is_conditional: from.unit() < CONDITIONAL, ..Request::get(file) }
    }
}

/// The size of a rank. The distribution is that of replies, so the most popular files have to lie
/// evenly in it: the first at the median, each of the next where there is most room.
fn size(rank: u32) -> u64 {
    SIZES.at((0.5 + f64::from(rank) * GOLDEN).fract()).round() as u64
}

impl Workload for Browser {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, _: u64, sessions: &mut Stream, _: &mut Stream) -> Session {
        let count = 1 + embedded(sessions);
        let requests = (0..count).map(|_| self.request(sessions)).collect();
        Session { bursts: vec![Burst { requests, think: Duration::ZERO }] }
    }

    fn model(&self) -> Model {
        let shares = (0..self.files.count()).map(|rank| self.popularity.probability(rank));
        Model {
            shares: shares.collect(),
            popularity: Some(Popularity::FILES),
            requests: Some(1.0 + embedded_mean(EMBEDDED_MAX)),
            connections: Some(embedded_mean(u32::from(PARALLEL))),
            conditional: Some(CONDITIONAL),
            parallel: PARALLEL,
            ..Model::default()
        }
    }
}

pub(super) fn make(settings: &Settings) -> Made {
    Ok(Box::new(Browser::new(settings.files_upto(FILES_MAX)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By requests, from the least.
    fn sizes(files: u32) -> Vec<(u64, f64)> {
        let browser = Browser::new(files);
        let sizes = browser.files().iter().filter_map(|(_, file)| file.bytes);
        let mut sizes: Vec<(u64, f64)> = sizes.zip(browser.model().shares).collect();
        sizes.sort_by_key(|(bytes, _)| *bytes);
        sizes
    }

    #[test]
    fn the_median_reply_has_230_bytes() {
        for files in [1, 10, 100, 2_000, 20_000] {
            let mut upto = 0.0;
            let median = sizes(files).into_iter().find(|(_, share)| {
                upto += share;
                upto >= 0.5
            });
            assert_eq!(median.map(|(bytes, _)| bytes), Some(230), "{files} files");
        }
    }

    #[test]
    fn the_mean_reply_is_that_of_the_trace() {
        let mean: f64 = sizes(2_000).into_iter().map(|(bytes, share)| bytes as f64 * share).sum();
        assert!((9_500.0..10_000.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_session_is_a_page_of_few_requests_on_few_connections() {
        let mut browser = Browser::new(100);
        let (mut sessions, mut thinking) = (Stream::new(9, 2), Stream::new(9, 3));
        let (mut requests, mut conditional, mut connections) = (0, 0, 0);
        for _ in 0..100_000 {
            let session = browser.session(0, &mut sessions, &mut thinking);
            let page = &session.bursts[0].requests;
            requests += page.len();
            conditional += page.iter().filter(|request| request.is_conditional).count();
            connections += (page.len() - 1).min(usize::from(PARALLEL));
        }
        let share = conditional as f64 / requests as f64;
        assert!((share - CONDITIONAL).abs() < 0.005, "{share}");
        let each = requests as f64 / connections as f64;
        assert!((each - 2.0).abs() < 0.02 && (1.2..2.7).contains(&each), "{each}");
        let model = browser.model();
        let expected = model.requests.expect("known") / model.connections.expect("known");
        assert!((each - expected).abs() < 0.02, "{each}, not {expected}");
    }
}
