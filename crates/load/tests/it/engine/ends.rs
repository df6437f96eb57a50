//! How a run ends, and who does not come: by its time, and by that of the machine.

use load::arrivals::{Arrivals, Gaps};
use load::behaviour::Keeps;
use load::engine::{self, Beat, Course, Observer, Part, Plan, Summary};
use load::record::Record;
use measure::draw::Draw;
use measure::{Duration, Instant};

use crate::engine::server::{Numbered, PATIENCE, Same, answer, plan, run, serve};

/// How many connections were open at beats at which so many requests were over.
struct Watching {
    requests: usize,
    over: usize,
    open: Vec<(Instant, usize)>,
}

impl Observer for Watching {
    fn record(&mut self, _: &Record) {
        self.over += 1;
    }

    fn beat(&mut self, beat: Beat) -> Course {
        if self.over == self.requests {
            self.open.push((beat.now, beat.open));
        }
        Course::On
    }
}

/// What they would do next lies behind the end of the run: they stay until then, and no longer.
#[test]
fn who_thinks_stays_until_the_end() {
    let second = Duration::from_secs(1);
    let closed = |think| Arrivals::Closed { clients: 5, think: Draw::Constant(think) };
    let times = Arrivals::Open(Gaps::Times((0..5).map(Duration::from_millis).collect()));
    // The requests of a run, and connections that are open behind them.
    type Row<'r> = (Arrivals, Keeps, &'r [usize], usize, usize);
    let rows: [Row<'_>; 6] = [
        (times.clone(), Keeps::Session, &[1, 1], 5, 5),
        (times.clone(), Keeps::Client, &[1, 1], 5, 5),
        (times, Keeps::Request, &[1, 1], 5, 0),
        // They come within a second, and rest for one.
        (closed(1.0), Keeps::Client, &[1], 5, 5),
        (closed(1.0), Keeps::Session, &[1], 5, 0),
        // These may not come at all.
        (closed(1e6), Keeps::Client, &[1], 0, 0),
    ];
    for (arrivals, keeps, bursts, requests, open) in rows {
        let mut plan = plan(serve(answer));
        plan.arrivals = arrivals;
        plan.behaviour.keeps = keeps;
        plan.stop.after = second;
        let mut workload = Same::bursts(bursts);
        workload.session.bursts[0].think = second;
        let mut observer = Watching { requests, over: 0, open: Vec::new() };
        let summary = engine::run(&plan, &mut workload, &mut observer).unwrap();
        let name = format!("{:?}, {keeps:?}", plan.arrivals);
        let stop = plan.begin + plan.stop.after;
        assert_eq!(observer.over, requests, "{name}");
        assert!(summary.ended >= stop, "{name}: too early");
        assert!(summary.ended < stop + PATIENCE, "{name}: nobody was waited for");
        for (at, count) in observer.open {
            assert!(at >= stop || count == open, "{name}: {count}");
        }
    }
}

/// A generator that is too late for somebody's patience does not begin what would be given up at
/// once; nor what is so late that it would be as late again. All of it is told.
#[test]
fn who_would_be_gone_does_not_come() {
    let unit = unit_s();
    // Sessions by how many units ago each was to begin, and those that begin.
    let check = |ago: &[u64], patience: Option<u64>, most: Option<u64>, begun: &[u64]| {
        let missed = most.unwrap_or(u64::MAX).min(ago.len() as u64) - begun.len() as u64;
        let name = format!("{ago:?}, {patience:?}, at most {most:?}");
        let change = |plan: &mut Plan| {
            plan.behaviour.patience = patience.map(|units| Duration::from_secs(units * unit));
            plan.stop.sessions_max = most;
        };
        assert_eq!(perform(unit, ago, change), (begun.to_vec(), missed), "{name}");
        // Of two processes each does its half.
        for place in 0..2 {
            let share = |plan: &mut Plan| {
                change(plan);
                plan.part = Part { place, of: 2 };
            };
            let ours = begun.iter().copied().filter(|number| number % 2 == u64::from(place));
            assert_eq!(perform(unit, ago, share).0, ours.collect::<Vec<_>>(), "{name}: {place}");
        }
    };
    check(&[40, 40, 39, 39, 1, 1, 0], Some(20), None, &[4, 5, 6]);
    check(&[40, 40, 39, 39, 15, 15, 0], Some(20), None, &[6]);
    check(&[15, 15, 14, 14, 1, 1, 0], Some(20), None, &[0, 1, 2, 3, 4, 5, 6]);
    check(&[40, 40, 39, 39, 1, 1, 0], None, None, &[0, 1, 2, 3, 4, 5, 6]);
    // Their numbers are used up.
    check(&[40, 40, 39, 39, 1, 1, 0], Some(20), Some(5), &[4]);
    check(&[40, 40, 39, 39, 1, 1, 0], Some(20), Some(3), &[]);
}

/// Units ago that a plan begins at the earliest.
const LONGEST: u64 = 40;

/// A unit of time in seconds: a plan begins before now, and its generator may be late by several
/// units on a slow machine. The clock begins with the machine, so that a unit has a bound.
fn unit_s() -> u64 {
    (os::clock::monotonic().ns / 1_000_000_000 / (LONGEST + 10)).clamp(1, 100)
}

/// The numbers of the sessions that begin, and how many do not. Times are in units.
fn perform(unit_s: u64, ago: &[u64], change: impl FnOnce(&mut Plan)) -> (Vec<u64>, u64) {
    let units = |count: u64| Duration::from_secs(count * unit_s);
    let mut plan = plan(serve(answer));
    plan.begin = Instant { ns: plan.begin.ns - LONGEST * unit_s * 1_000_000_000 };
    let times = ago.iter().map(|ago| units(LONGEST - ago)).collect();
    plan.arrivals = Arrivals::Open(Gaps::Times(times));
    plan.stop.after = units(2 * LONGEST);
    change(&mut plan);
    let (records, Summary { sessions, missed, connections, .. }) =
        run(&plan, &mut Numbered::new(10, false));
    assert_eq!([sessions, connections], [records.len() as u64; 2]);
    let mut numbers: Vec<u64> = records.iter().map(|record| record.session).collect();
    numbers.sort_unstable();
    assert!(records.iter().all(|record| u64::from(record.file.0) == record.session));
    (numbers, missed)
}
