//! Requests become the sessions that they came from.

use std::collections::HashMap;
use std::ops::Range;

use measure::Duration;

use super::choices::GAP_S_MAX;
use super::fault::Fault;
use super::order::Seen;
use super::request::Way;
use crate::files::FileId;

/// Requests kept of one trace: 384 MiB of them. The largest file of the World Cup of 1998 has seven
/// million.
const REQUESTS_MAX: u32 = 32 << 20;

/// Of one session, which is made whole when it begins. A proxy never stops for long and would be
/// one session from the first day to the last; servers end a connection after a hundred.
const SESSION_REQUESTS_MAX: usize = 1000;

/// Below so many open sessions nobody looks for those that are over.
const OPEN_LEAST: usize = 1024;

/// A session that has been found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Visit {
    /// Of its first request, in the order of time.
    number: u32,
    count: u32,
    /// Of its first request among all [`Kept`].
    from: u32,
    /// When it began: microseconds since 1970.
    pub(crate) at_us: i64,
}

/// What is kept of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) file: FileId,
    /// Since the one before in its session.
    pub(crate) pause_us: u32,
    pub(crate) way: Way,
}

/// The sessions of a log.
#[derive(Debug, Clone)]
pub(crate) struct Sessions {
    /// As they began.
    pub(crate) visits: Vec<Visit>,
    /// Each session's together.
    pub(crate) requests: Vec<Kept>,
}

struct Open {
    number: u32,
    at_us: i64,
    last_us: i64,
    kept: Vec<Kept>,
}

pub(crate) struct Visits {
    gap_us: i64,
    open: HashMap<u64, Open>,
    /// When there are so many open ones those that are over are looked for. It follows their
    /// number, so that each search is paid for by as many requests.
    sweep_at: usize,
    latest_us: i64,
    count: u32,
    requests: Vec<Kept>,
    found: Vec<Visit>,
}

impl Visits {
    pub(crate) fn new(gap: Duration) -> Self {
        Self {
            gap_us: whole_us(gap),
            open: HashMap::new(),
            sweep_at: OPEN_LEAST,
            latest_us: i64::MIN,
            count: 0,
            requests: Vec::new(),
            found: Vec::new(),
        }
    }

    /// One that came no earlier than those before. Where times go back all the same (a second with
    /// more requests than can be spread at once) they stand still instead.
    pub(crate) fn take(&mut self, seen: Seen) -> Result<(), Fault> {
        if self.count == REQUESTS_MAX {
            return Err(Fault::TooMany { what: "requests", most: REQUESTS_MAX.into() });
        }
        let number = self.count;
        self.count += 1;
        self.latest_us = self.latest_us.max(seen.at_us);
        let at_us = self.latest_us;
        let mut kept = Kept { file: seen.file, pause_us: 0, way: seen.way };
        match self.open.get_mut(&seen.client) {
            Some(open) if open.goes_on(at_us, self.gap_us) => {
                kept.pause_us = (at_us - open.last_us) as u32;
                open.kept.push(kept);
                open.last_us = at_us;
            }
            _ => {
                let begun = Open { number, at_us, last_us: at_us, kept: vec![kept] };
                if let Some(over) = self.open.insert(seen.client, begun) {
                    self.close(over);
                }
                self.sweep();
            }
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Sessions {
        for (_, open) in std::mem::take(&mut self.open) {
            self.close(open);
        }
        self.found.sort_unstable_by_key(|visit| visit.number);
        Sessions { visits: self.found, requests: self.requests }
    }

    fn sweep(&mut self) {
        if self.open.len() < self.sweep_at {
            return;
        }
        let (now_us, gap_us) = (self.latest_us, self.gap_us);
        let over = self.open.extract_if(|_, open| !open.goes_on(now_us, gap_us));
        let over: Vec<Open> = over.map(|(_, open)| open).collect();
        over.into_iter().for_each(|open| self.close(open));
        self.sweep_at = OPEN_LEAST.max(2 * self.open.len());
    }

    fn close(&mut self, open: Open) {
        let (from, count) = (self.requests.len() as u32, open.kept.len() as u32);
        self.found.push(Visit { number: open.number, count, from, at_us: open.at_us });
        self.requests.extend(open.kept);
    }
}

impl Sessions {
    /// The same for other files: each of these is one of those, or none; requests for none are left
    /// out as if they had not been logged. So a session may begin later, be two with a gap between
    /// them, or be none.
    pub(crate) fn renamed(&self, of: &[Option<FileId>], gap: Duration) -> Self {
        let gap_us = whole_us(gap);
        let (mut visits, mut requests) = (Vec::<Visit>::new(), Vec::new());
        for visit in &self.visits {
            let mut at_us = visit.at_us;
            // The last one of those that are left, and the visit that it is of.
            let mut last: Option<(i64, Visit)> = None;
            for kept in &self.requests[visit.requests()] {
                at_us += i64::from(kept.pause_us);
                let Some(file) = of[kept.file.0 as usize] else { continue };
                let from = requests.len() as u32;
                let (pause_us, begun) = match last {
                    Some((before_us, begun)) if at_us - before_us <= gap_us => {
                        ((at_us - before_us) as u32, begun)
                    }
                    _ => {
                        visits.extend(last.map(|(_, begun)| begun));
                        (0, Visit { at_us, from, count: 0, ..*visit })
                    }
                };
                last = Some((at_us, Visit { count: begun.count + 1, ..begun }));
                requests.push(Kept { file, pause_us, ..*kept });
            }
            visits.extend(last.map(|(_, begun)| begun));
        }
        visits.sort_by_key(|visit| visit.at_us);
        Self { visits, requests }
    }
}

/// Of the longest pause within a session.
fn whole_us(gap: Duration) -> i64 {
    gap.min(Duration::from_secs_f64(GAP_S_MAX)).as_micros() as i64
}

impl Open {
    fn goes_on(&self, at_us: i64, gap_us: i64) -> bool {
        at_us - self.last_us <= gap_us && self.kept.len() < SESSION_REQUESTS_MAX
    }
}

impl Visit {
    /// Its requests among all.
    pub(crate) const fn requests(&self) -> Range<usize> {
        let from = self.from as usize;
        from..from + self.count as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GAP: Duration = Duration::from_secs(15);

    /// Each session: its client, as the number of its file, and when its requests came.
    type Plain = Vec<(u32, Vec<i64>)>;

    fn found(requests: &[(i64, u32)]) -> Plain {
        let mut visits = Visits::new(GAP);
        for &(at_us, client) in requests {
            let file = FileId(client);
            visits.take(Seen { at_us, client: client.into(), file, way: Way::Get }).unwrap();
        }
        plain(&visits.finish())
    }

    fn plain(Sessions { visits, requests }: &Sessions) -> Plain {
        let plain = visits.iter().map(|visit| {
            let of = &requests[visit.requests()];
            let mut at_us = visit.at_us;
            let times = of.iter().map(|kept| {
                at_us += i64::from(kept.pause_us);
                at_us
            });
            (of[0].file.0, times.collect())
        });
        plain.collect()
    }

    /// By looking at all that came before, each time.
    fn model(requests: &[(i64, u32)]) -> Plain {
        let mut plain: Plain = Vec::new();
        for &(at_us, client) in requests {
            let same = plain.iter_mut().rev().find(|(of, _)| *of == client);
            match same {
                Some((_, times))
                    if at_us - times[times.len() - 1] <= 15_000_000
                        && times.len() < SESSION_REQUESTS_MAX =>
                {
                    times.push(at_us);
                }
                _ => plain.push((client, vec![at_us])),
            }
        }
        plain
    }

    proptest! {
        #[test]
        fn sessions_are_those_of_the_model(
            steps in prop::collection::vec((0_i64..20_000_000, 0_u32..5), 0..300),
        ) {
            let mut at_us = 0;
            let requests: Vec<_> = steps
                .into_iter()
                .map(|(gap_us, client)| {
                    at_us += gap_us / 3;
                    (at_us, client)
                })
                .collect();
            prop_assert_eq!(found(&requests), model(&requests));
        }
    }

    #[test]
    fn rows() {
        let s = |seconds: i64| seconds * 1_000_000;
        let rows: [(&[(i64, u32)], usize); 4] = [
            (&[], 0),
            (&[(s(0), 1), (s(15), 1)], 1),
            (&[(s(0), 1), (s(15) + 1, 1)], 2),
            (&[(s(0), 1), (s(0), 2), (s(0), 1)], 2),
        ];
        for (requests, sessions) in rows {
            assert_eq!(found(requests).len(), sessions, "{requests:?}");
        }
        let proxy = vec![(0, 1); 2 * SESSION_REQUESTS_MAX + 1];
        assert_eq!(found(&proxy).len(), 3);
    }

    #[test]
    fn what_is_left_out_was_never_logged() {
        let s = |seconds: i64| seconds * 1_000_000;
        let mut visits = Visits::new(GAP);
        // Client, file and second: the first begins with what is left out, the second has it
        // between and then for too long, the third has nothing else.
        let rows = [
            (1, 9, 0),
            (2, 5, 1),
            (3, 9, 2),
            (2, 9, 3),
            (1, 6, 4),
            (2, 7, 10),
            (1, 8, 11),
            (2, 9, 24),
            (2, 5, 26),
        ];
        for (client, file, second) in rows {
            let (at_us, file) = (s(second), FileId(file));
            visits.take(Seen { at_us, client, file, way: Way::Get }).unwrap();
        }
        let of: Vec<_> = (0..10).map(|file| (file != 9).then_some(FileId(file + 100))).collect();
        let renamed = visits.finish().renamed(&of, GAP);
        let expected = [(105, vec![s(1), s(10)]), (106, vec![s(4), s(11)]), (105, vec![s(26)])];
        assert_eq!(plain(&renamed), expected);
    }

    #[test]
    fn sessions_that_are_over_are_not_kept_open() {
        let mut visits = Visits::new(GAP);
        let clients = 20 * OPEN_LEAST as i64;
        for client in 0..clients {
            // A hundred of them within the gap.
            let at_us = client * GAP.as_micros() as i64 / 100;
            let file = FileId(client as u32);
            visits.take(Seen { at_us, client: client as u64, file, way: Way::Get }).unwrap();
            assert!(visits.open.len() <= OPEN_LEAST, "{} open", visits.open.len());
        }
        let Sessions { visits, .. } = visits.finish();
        assert_eq!(visits.len() as i64, clients);
        assert!(visits.is_sorted_by_key(|visit| visit.at_us));
    }
}
