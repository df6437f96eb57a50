//! How a run ends: by its time, whatever its clients do then.

use load::arrivals::{Arrivals, Gaps};
use load::behaviour::Keeps;
use load::engine::{self, Beat, Course, Observer};
use load::record::Record;
use measure::draw::Draw;
use measure::{Duration, Instant};

use crate::server::{PATIENCE, Same, answer, plan, serve};

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
