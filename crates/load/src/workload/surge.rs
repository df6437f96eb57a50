//! SURGE: Barford and Crovella, *Generating Representative Web Workloads for Network and Server
//! Performance Evaluation*, SIGMETRICS 1998.
//!
//! Sizes of files are lognormal below 133,000 bytes and Pareto above; sizes of replies are Pareto;
//! popularity is Zipf. The three hold together only if the right files are popular, so popularity
//! is matched to sizes. A page has embedded files, and users and browsers pause by distributions of
//! their own ([`OffPeriods::SURGE`]).
//!
//! Left out: the lognormal stack distance of its references (here each is independent of those
//! before; a cache smaller than the files misses more often), and that a page has always the same
//! files. Left to choose: how many pages a visit has; SURGE's users never leave.

use measure::draw::{Draw, Stream, Weighted};

use crate::files::{File, FileId, Files};
use crate::session::{Request, Session};
use crate::source::model::{Model, Popularity};
use crate::source::{Made, Workload};

use super::pages::{EMBEDDED_MAX, OffPeriods, embedded, embedded_mean};
use super::settings::{Settings, Think};

/// Sizes of most files.
const BODY: Draw = Draw::LogNormal { mu: 9.357, sigma: 1.318 };
/// How many they are.
const BODY_SHARE: f64 = 0.93;
/// The share of the lognormal distribution that lies below the tail's least size.
const BODY_BELOW_TAIL: f64 = 0.967_996;
/// Sizes of the others.
const TAIL: Draw = Draw::Pareto { least: TAIL_LEAST, shape: 1.1 };
const TAIL_LEAST: f64 = 133_000.0;
/// The distribution has no end; a file of more would be most of all bytes.
const BYTES_MAX: f64 = 50_000_000.0;

/// The least reply; P(reply > x) = this / x.
const REPLY_LEAST: f64 = 1_000.0;

/// Popularity is matched to sizes in time that grows with the square of it.
const FILES_MAX: u32 = 20_000;

/// See the head of this file.
pub struct Surge {
    files: Files,
    popularity: Weighted,
    pages: u32,
    off: OffPeriods,
}

impl Surge {
    /// With so many files, pages of one visit, and these pauses.
    ///
    /// # Panics
    /// There are no files.
    #[must_use]
    pub fn new(files: u32, pages: u32, off: OffPeriods) -> Self {
        let sizes: Vec<u64> = (0..files).map(|at| size(f64::from(at), f64::from(files))).collect();
        let shares = matched(&sizes, &Weighted::zipf(files, 1.0));
        let file = |(at, bytes)| File::sized(format!("/surge/file{at:05}.html"), bytes);
        let files = sizes.into_iter().enumerate().map(file).collect();
        let popularity = Weighted::new(shares);
        Self { files: Files::new(files, true), popularity, pages, off }
    }
}

/// Sizes are not drawn but spaced evenly over the distribution: there are few files, and the
/// largest of a drawn sample would make each seed another workload.
fn size(at: f64, count: f64) -> u64 {
    let share = (at + 0.5) / count;
    let bytes = if share < BODY_SHARE {
        BODY.at(share / BODY_SHARE * BODY_BELOW_TAIL)
    } else {
        TAIL.at((share - BODY_SHARE) / (1.0 - BODY_SHARE))
    };
    bytes.min(BYTES_MAX) as u64
}

/// The share of replies that are no larger.
fn replies_upto(bytes: u64) -> f64 {
    (1.0 - REPLY_LEAST / bytes as f64).max(0.0)
}

/// How likely a request is for each of `sizes`, which grow: the shares of `popularity`, put so that
/// the sizes of replies have their distribution as nearly as they can. From the largest file down
/// each gets, of the shares that are left, the one that is nearest to what is missing so far.
fn matched(sizes: &[u64], popularity: &Weighted) -> Vec<f64> {
    // They fall with rank; the least first.
    let ranks = (0..sizes.len()).rev();
    let mut left: Vec<f64> = ranks.map(|rank| popularity.probability(rank)).collect();
    let mut shares = vec![0.0; sizes.len()];
    let mut given = 0.0;
    for at in (0..sizes.len()).rev() {
        let below = at.checked_sub(1).map_or(0.0, |below| replies_upto(sizes[below]));
        let missing = 1.0 - below - given;
        let next = left.partition_point(|share| *share < missing);
        let is_nearer = |before: usize| {
            left.get(next).is_none_or(|share| missing - left[before] < share - missing)
        };
        let nearest = next.checked_sub(1).filter(|before| is_nearer(*before)).unwrap_or(next);
        shares[at] = left.remove(nearest);
        given += shares[at];
    }
    shares
}

impl Workload for Surge {
    fn files(&self) -> &Files {
        &self.files
    }

    fn session(&mut self, _: u64, sessions: &mut Stream, thinking: &mut Stream) -> Session {
        let mut session = Session::default();
        for page in 1..=self.pages {
            let count = 1 + embedded(sessions);
            let mut file = || FileId(self.popularity.draw(sessions) as u32);
            let requests = (0..count).map(|_| Request::get(file())).collect();
            let mut burst = self.off.page(requests, thinking);
            if page < self.pages {
                burst.think = self.off.inactive(thinking);
            }
            session.bursts.push(burst);
        }
        session
    }

    fn model(&self) -> Model {
        let shares = (0..self.files.count()).map(|file| self.popularity.probability(file));
        Model {
            shares: shares.collect(),
            popularity: Some(Popularity::FILES),
            requests: Some(f64::from(self.pages) * (1.0 + embedded_mean(EMBEDDED_MAX))),
            connections: Some(1.0),
            ..Model::default()
        }
    }
}

pub(super) fn make(settings: &Settings) -> Made {
    let think = settings.think.unwrap_or(Think::Drawn);
    let off = OffPeriods::new(think, OffPeriods::SURGE, settings.think_scale);
    let files = settings.files_upto(FILES_MAX)?;
    Ok(Box::new(Surge::new(files, settings.pages, off)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_lognormal_and_then_pareto() {
        assert!((BODY.at(BODY_BELOW_TAIL) / TAIL_LEAST - 1.0).abs() < 1e-4, "the two meet");
        let surge = Surge::new(2_000, 1, OffPeriods::NONE);
        let sizes: Vec<u64> = surge.files().iter().filter_map(|(_, file)| file.bytes).collect();
        assert!(sizes.is_sorted());
        let below = sizes.iter().filter(|bytes| **bytes < TAIL_LEAST as u64).count();
        assert_eq!(below, 1_860, "93 % are in the body");
        // The shares below, of the formulas: the lognormal median is exp(9.357) = 11,580 bytes, and
        // twice the least of a Pareto tail is exceeded by 2^-1.1 of it.
        let rows = [(11_580, 0.93 * 0.5 / 0.967_996), (266_000, 1.0 - 0.07 * 0.466_5)];
        for (bytes, share) in rows {
            let seen = sizes.iter().filter(|size| **size < bytes).count() as f64 / 2_000.0;
            assert!((seen - share).abs() < 0.002, "{seen} below {bytes}, not {share}");
        }
        assert!(*sizes.last().expect("there are some") <= BYTES_MAX as u64);
    }

    #[test]
    fn replies_are_pareto_and_popularity_is_zipf() {
        let surge = Surge::new(2_000, 1, OffPeriods::NONE);
        let shares = surge.model().shares;
        let largest = shares.iter().copied().fold(0.0, f64::max);
        let sizes = surge.files().iter().filter_map(|(_, file)| file.bytes);
        let mut upto = 0.0;
        for (bytes, share) in sizes.zip(&shares) {
            upto += share;
            // A piece cannot be split, so half of the largest one is as near as it can be.
            let off = (upto - replies_upto(bytes)).abs();
            assert!(off <= largest / 2.0, "off by {off} at {bytes} bytes");
        }
        for count in [1, 2, 100, 2_000] {
            let mut shares = Surge::new(count, 1, OffPeriods::NONE).model().shares;
            shares.sort_by(|a, b| b.total_cmp(a));
            let zipf = Weighted::zipf(count, 1.0);
            for (rank, share) in shares.iter().enumerate() {
                assert!((share - zipf.probability(rank)).abs() < 1e-9, "rank {rank} of {count}");
            }
        }
    }

    #[test]
    fn a_visit_has_pages_with_pauses_between() {
        let mut surge = Surge::new(100, 3, OffPeriods::SURGE);
        let (mut sessions, mut thinking) = (Stream::new(1, 2), Stream::new(1, 3));
        for _ in 0..1_000 {
            let session = surge.session(0, &mut sessions, &mut thinking);
            let thinks: Vec<bool> =
                session.bursts.iter().map(|burst| burst.think.is_zero()).collect();
            assert_eq!(thinks, [false, false, true]);
            assert!(session.bursts.iter().all(|burst| burst.requests.len() >= 2));
        }
    }
}
