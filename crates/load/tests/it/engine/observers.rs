//! Who hears of a run while it goes on, and may end it.

use load::arrivals::{Arrivals, Gaps};
use load::behaviour::Keeps;
use load::engine::{self, BEAT, Beat, Course, Observer, Over, Summary};
use load::record::Outcome::{Good, Impatient};
use load::record::{Record, Step};
use measure::draw::Draw;
use measure::{Duration, Instant};

use crate::engine::server::{
    BYTES, Client, PATIENCE, Same, answer, made, outcomes, plan, reply, serve,
};

/// Stops a run at the third beat behind its first record, or at the third at all.
#[derive(Default)]
struct Stopping {
    waits_for_record: bool,
    records: Vec<Record>,
    beats: Vec<Beat>,
    stopped: Option<Instant>,
}

impl Observer for Stopping {
    fn record(&mut self, record: &Record) {
        self.records.push(*record);
    }

    fn beat(&mut self, beat: Beat) -> Course {
        if self.records.is_empty() && self.waits_for_record {
            return Course::On;
        }
        self.beats.push(beat);
        if self.beats.len() < 3 {
            return Course::On;
        }
        // Said again and again, it is the same.
        self.stopped.get_or_insert(beat.now);
        Course::Stop
    }
}

/// For so long would each of these runs go on: nobody waits for that.
const ENDLESS: Duration = Duration::from_secs(3600);

fn stop(change: impl Fn(&mut engine::Plan), server: fn(Client), workload: &mut Same) -> Ended {
    let mut plan = plan(serve(server));
    plan.stop.after = ENDLESS;
    change(&mut plan);
    let mut observer = Stopping { waits_for_record: true, ..Stopping::default() };
    observer.waits_for_record = plan.behaviour.patience.is_none();
    let summary = engine::run(&plan, workload, &mut observer).unwrap();
    let stopped = observer.stopped.unwrap();
    assert!(observer.beats.is_sorted_by_key(|beat| beat.now));
    assert!(observer.beats.iter().all(|beat| beat.open <= summary.connections_open));
    assert!(observer.records.iter().all(|record| record.intended < stopped), "begun behind it");
    Ended { observer, summary }
}

struct Ended {
    observer: Stopping,
    summary: Summary,
}

#[test]
fn an_observer_ends_a_run() {
    let closed = |think| Arrivals::Closed { clients: 3, think: Draw::Constant(think) };
    for (arrivals, patience) in [
        (Arrivals::Open(Gaps::Fixed { rate: 500.0 }), None),
        (closed(0.0), None),
        // These rest for as long as the run, and perhaps nobody begins.
        (closed(3000.0), Some(ENDLESS)),
    ] {
        let change = |plan: &mut engine::Plan| {
            plan.arrivals = arrivals.clone();
            plan.behaviour.patience = patience;
        };
        let Ended { observer, summary } = stop(change, answer, &mut Same::bursts(&[1]));
        assert_eq!(outcomes(&observer.records), vec![Good; observer.records.len()]);
        assert_eq!(observer.records.len() as u64, summary.sessions);
        // Long before an hour has passed, so the run did not wait for any client.
        assert!(summary.ended - observer.stopped.unwrap() < PATIENCE, "{arrivals:?}");
        assert_eq!(summary.missed, 0);
    }
}

/// Who spins has the same replies, and tells how much of it was in vain.
#[test]
fn a_run_may_never_sleep() {
    let change = |plan: &mut engine::Plan| plan.spins = true;
    let mut workload = Same::bursts(&[1, 1]);
    workload.session.bursts[0].think = ENDLESS / 2;
    let Ended { observer, .. } = stop(change, answer, &mut workload);
    assert_eq!(outcomes(&observer.records), [Good; 5]);
    assert!(observer.beats.is_sorted_by_key(|beat| beat.spun));
    assert!(observer.beats[2].spun > Duration::ZERO);
}

/// Clients that think when the run is ended do not go on.
#[test]
fn nobody_is_waited_for_who_only_thinks() {
    let change = |plan: &mut engine::Plan| plan.behaviour.patience = None;
    let mut workload = Same::bursts(&[1, 1]);
    workload.session.bursts[0].think = ENDLESS / 2;
    let Ended { observer, summary } = stop(change, answer, &mut workload);
    assert_eq!(outcomes(&observer.records), [Good; 5]);
    assert_eq!((summary.sessions, summary.connections_open), (5, 5));
    assert_eq!(observer.beats[0].open, 5, "they think on open connections");
    assert!(summary.ended - observer.stopped.unwrap() < PATIENCE);
}

/// Replies that do not come are waited for with patience.
#[test]
fn who_waits_when_a_run_is_ended_may_be_answered_yet() {
    let change = |plan: &mut engine::Plan| {
        plan.behaviour.patience = Some(Duration::from_secs(1));
    };
    let Ended { observer, summary } = stop(change, Client::wait, &mut Same::bursts(&[1]));
    assert_eq!(outcomes(&observer.records), [Impatient(Step::FirstByte); 5]);
    assert!(summary.ended > observer.stopped.unwrap());
    assert_eq!(summary.connections_open, 5);
}

/// Nobody is waited for any more, once nothing begins.
#[derive(Default)]
pub(crate) struct Cutting {
    pub(crate) records: Vec<Record>,
    cut: Option<Beat>,
}

impl Observer for Cutting {
    fn record(&mut self, record: &Record) {
        self.records.push(*record);
    }

    fn beat(&mut self, beat: Beat) -> Course {
        if beat.over.is_none() {
            return Course::On;
        }
        self.cut.get_or_insert(beat);
        Course::Cut
    }
}

#[test]
fn who_waits_behind_a_run_need_not_be_waited_for() {
    let mut plan = plan(serve(Client::wait));
    plan.stop.after = Duration::from_millis(20);
    plan.behaviour.patience = Some(ENDLESS);
    let end = plan.begin + plan.stop.after;
    let mut observer = Cutting::default();
    engine::run(&plan, &mut Same::bursts(&[1]), &mut observer).unwrap();
    assert_eq!(outcomes(&observer.records), [Impatient(Step::FirstByte); 5]);
    let cut = observer.cut.expect("a beat behind the end");
    assert_eq!((cut.asking, cut.open), (5, 5));
    assert_eq!(cut.over, Some(Over { since: end, until: end + ENDLESS }));
}

/// Also where no time ends a run, but a number of sessions: their last requests are waited for, and
/// not those that are to come yet.
#[test]
fn a_number_of_sessions_is_over_when_nothing_begins_any_more() {
    let closed = Arrivals::Closed { clients: 9, think: Draw::Constant(0.0) };
    for arrivals in [Arrivals::Open(Gaps::Fixed { rate: 500.0 }), closed] {
        for patience in [None, Some(ENDLESS)] {
            let mut plan = plan(serve(|mut client: Client| {
                client.asks();
                client.tell(reply(&made("/0", BYTES)));
                client.wait();
            }));
            plan.arrivals = arrivals.clone();
            plan.stop.after = ENDLESS * 2;
            plan.stop.sessions_max = Some(5);
            plan.behaviour.patience = patience;
            plan.behaviour.keeps = Keeps::Session;
            let mut workload = Same::bursts(&[1, 1]);
            // In which beats pass.
            workload.session.bursts[0].think = BEAT * 3;
            let mut observer = Cutting::default();
            engine::run(&plan, &mut workload, &mut observer).unwrap();
            let mut ended = outcomes(&observer.records);
            ended.sort_by_key(|outcome| *outcome == Good);
            assert_eq!(ended[..5], [Impatient(Step::FirstByte); 5], "{arrivals:?}");
            assert_eq!(ended[5..], [Good; 5], "{arrivals:?}");
            let cut = observer.cut.expect("a beat behind the last request");
            let over = cut.over.expect("it is over");
            assert_eq!(cut.asking, 5);
            let until = patience.map_or(plan.begin + ENDLESS * 2, |patience| over.since + patience);
            assert!(over.until >= until, "{over:?}");
        }
    }
}

/// Who rests for longer than the others ask need not be waited for.
#[test]
fn who_rests_is_not_waited_for_when_all_sessions_have_begun() {
    let mut plan = plan(serve(answer));
    plan.arrivals = Arrivals::Closed { clients: 4000, think: Draw::Constant(3000.0) };
    plan.stop.after = ENDLESS;
    plan.stop.sessions_max = Some(1);
    let mut records = Vec::new();
    engine::run(&plan, &mut Same::bursts(&[1]), &mut |record: &Record| records.push(*record))
        .unwrap();
    assert_eq!(outcomes(&records), [Good]);
}

/// Nobody set a time for clients that never rest; a rest is one.
#[test]
fn who_never_rests_is_never_late() {
    for rest in [0.0, 0.001] {
        let mut plan = plan(serve(answer));
        plan.arrivals = Arrivals::Closed { clients: 200, think: Draw::Constant(rest) };
        plan.stop.after = ENDLESS;
        plan.stop.sessions_max = Some(200);
        let mut records: Vec<Record> = Vec::new();
        engine::run(&plan, &mut Same::bursts(&[1]), &mut |record: &Record| records.push(*record))
            .unwrap();
        let late = records.iter().filter(|record| record.started > record.intended).count();
        assert_eq!(late > 0, rest > 0.0, "{late} of {}", records.len());
    }
}
