//! Pages: how the requests of one user lie in time (Barford and Crovella, SIGMETRICS 1998).
//!
//! A user asks for a page, his browser for what is embedded in it. Between pages the user is
//! inactive, between the requests of one page the browser is active. Pariag07 3.2 gives a mean for
//! both times and leaves open which request is followed by which; docs/workloads.md tells why pages
//! are put as they are here.

use measure::Duration;
use measure::draw::{Draw, Stream};

use crate::files::FileId;
use crate::session::{Burst, Request, Session};

use super::settings::Think;

/// References that a page has, rounded down, beside itself (SURGE: Pareto, k = 1, alpha = 2.43).
const EMBEDDED: Draw = Draw::Pareto { least: 1.0, shape: EMBEDDED_SHAPE };
const EMBEDDED_SHAPE: f64 = 2.43;

/// One page of 70,000 would have more.
pub const EMBEDDED_MAX: u32 = 100;

/// The longest pause. Longer ones outlast any run; the Pareto distribution has 1 % of its mean
/// there.
const PAUSE_MAX_SECONDS: f64 = 3_600.0;

/// How many files are embedded in a page.
pub fn embedded(from: &mut Stream) -> u32 {
    // A Pareto distribution of least value 1 gives at least 1.
    EMBEDDED.draw(from).min(f64::from(EMBEDDED_MAX)) as u32
}

/// How many there are on the average, counting at most `most` of each page.
#[must_use]
pub fn embedded_mean(most: u32) -> f64 {
    // The sum over n of how likely it is that there are n or more.
    (1..=most.min(EMBEDDED_MAX)).map(|count| f64::from(count).powf(-EMBEDDED_SHAPE)).sum()
}

/// The pauses of users and of their browsers, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OffPeriods {
    /// From the end of a page to the next one: the user reads.
    pub inactive: Draw,
    /// From one reply to the next request of the same page: the browser works.
    pub active: Draw,
    /// The share of `active` that is drawn from, from below; 1.0: all of it.
    pub active_share: f64,
    /// Multiplies both.
    pub scale: f64,
}

impl OffPeriods {
    /// Pariag07 3.2.
    pub const CONSTANT: Self = Self {
        inactive: Draw::Constant(3.0),
        active: Draw::Constant(0.343),
        active_share: 1.0,
        scale: 1.0,
    };

    /// SURGE's distributions with the means of Pariag07 3.2: the Pareto distribution has it by
    /// itself, the Weibull distribution keeps its shape and gets the scale 0.343 / gamma(1 + 1 /
    /// shape).
    pub const DRAWN: Self = Self {
        inactive: Draw::Pareto { least: 1.0, shape: 1.5 },
        active: Draw::Weibull { scale: 0.0904, shape: 0.382 },
        active_share: 1.0,
        scale: 1.0,
    };

    /// SURGE's own. Its authors call a pause active when it is shorter than a second, and 0.579 of
    /// this Weibull distribution are.
    pub const SURGE: Self = Self {
        inactive: Draw::Pareto { least: 1.0, shape: 1.5 },
        active: Draw::Weibull { scale: 1.46, shape: 0.382 },
        active_share: 0.579,
        scale: 1.0,
    };

    /// None at all.
    pub const NONE: Self = Self { scale: 0.0, ..Self::CONSTANT };

    /// As it was asked for; `own` is the workload's own way of being drawn.
    #[must_use]
    pub const fn new(think: Think, own: Self, scale: f64) -> Self {
        let chosen = match think {
            Think::Constant => Self::CONSTANT,
            Think::Drawn => own,
            Think::None => return Self::NONE,
        };
        Self { scale, ..chosen }
    }

    /// From the end of a page to the next.
    pub fn inactive(&self, from: &mut Stream) -> Duration {
        self.pause(self.inactive.draw(from))
    }

    /// From a reply to the next request of the same page.
    pub fn active(&self, from: &mut Stream) -> Duration {
        self.pause(self.active.at(from.unit() * self.active_share))
    }

    fn pause(&self, seconds: f64) -> Duration {
        Duration::from_secs_f64((seconds * self.scale).clamp(0.0, PAUSE_MAX_SECONDS))
    }

    /// A session that asks for these files, page by page.
    pub fn session(&self, asked: impl IntoIterator<Item = FileId>, from: &mut Stream) -> Session {
        let mut left = asked.into_iter().map(Request::get).peekable();
        let mut session = Session::default();
        while left.peek().is_some() {
            let length = 1 + embedded(from) as usize;
            let requests = left.by_ref().take(length).collect();
            let mut burst = self.page(requests, from);
            if left.peek().is_some() {
                burst.think = self.inactive(from);
            }
            session.bursts.push(burst);
        }
        session
    }

    /// One page, after which nothing comes.
    pub fn page(&self, mut requests: Vec<Request>, from: &mut Stream) -> Burst {
        for request in requests.iter_mut().skip(1) {
            request.pause = self.active(from);
        }
        Burst { requests, think: Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 400_000;

    fn mean(mut draw: impl FnMut(&mut Stream) -> f64) -> f64 {
        let mut stream = Stream::new(11, 3);
        (0..DRAWS).map(|_| draw(&mut stream)).sum::<f64>() / f64::from(DRAWS)
    }

    #[test]
    fn pauses_have_the_means_of_the_papers() {
        // Inactive and active; the Pareto distribution has no variance, so its mean is left loose.
        let rows = [
            ("constant", OffPeriods::CONSTANT, 3.0, 0.343),
            ("drawn", OffPeriods::DRAWN, 3.0, 0.343),
            ("SURGE's", OffPeriods::SURGE, 3.0, 0.21),
            ("none", OffPeriods::NONE, 0.0, 0.0),
            ("scaled", OffPeriods::new(Think::Constant, OffPeriods::SURGE, 0.1), 0.3, 0.0343),
        ];
        for (name, off, inactive, active) in rows {
            let seen = mean(|stream| off.inactive(stream).as_secs_f64());
            assert!((seen - inactive).abs() <= inactive * 0.06, "{name}: inactive {seen}");
            let seen = mean(|stream| off.active(stream).as_secs_f64());
            assert!((seen - active).abs() <= active * 0.03 + 1e-9, "{name}: active {seen}");
        }
    }

    #[test]
    fn active_pauses_of_surge_are_below_a_second() {
        let mut stream = Stream::new(1, 3);
        let off = OffPeriods::SURGE;
        let longest = (0..DRAWS).map(|_| off.active(&mut stream)).max().expect("there are some");
        assert!((0.99..=1.001).contains(&longest.as_secs_f64()), "{longest:?}");
    }

    #[test]
    fn pages_have_as_many_files_as_surge_says() {
        let seen = mean(|stream| f64::from(embedded(stream)));
        let expected = embedded_mean(EMBEDDED_MAX);
        assert!((seen / expected - 1.0).abs() < 0.01, "{seen}, not {expected}");
        // The sum of n^-2.43 over all n is 1.370, and little of it lies beyond the most.
        assert!((expected - 1.370).abs() < 0.002, "{expected}");
    }

    #[test]
    fn nothing_that_is_asked_is_lost_among_pages() {
        let mut stream = Stream::new(2, 3);
        for count in 0..40 {
            let asked: Vec<FileId> = (0..count).map(FileId).collect();
            let session = OffPeriods::CONSTANT.session(asked.clone(), &mut stream);
            let bursts = session.bursts.iter();
            let got: Vec<FileId> =
                bursts.clone().flat_map(|b| &b.requests).map(|request| request.file).collect();
            assert_eq!(got, asked);
            for (at, burst) in bursts.enumerate() {
                let is_last = at + 1 == session.bursts.len();
                assert_eq!(burst.think.is_zero(), is_last, "a pause is between two pages");
                for (place, request) in burst.requests.iter().enumerate() {
                    assert_eq!(request.pause.is_zero(), place == 0, "or within one");
                }
            }
        }
    }
}
