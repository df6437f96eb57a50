//! Several processes divide one run: together they do what one alone would.

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::{self, Receiver};

use load::arrivals::{Arrivals, Gaps, Stage};
use load::engine::{Part, Plan};
use load::record::Outcome::Good;
use measure::Duration;
use measure::draw::Draw;

use crate::engine::server::{BYTES, Client, Numbered, made, outcomes, plan, reply, run, serve};

/// A request as its client tells it: session, place, file, and of an open loop's first ones when
/// they were to be made.
type Did = (u64, u32, u32, Option<Duration>);

/// A request as its server sees it: target, whether it has a condition, where it came from.
type Seen = (String, bool, IpAddr);

/// A run that three processes divide, or one performs.
struct Row {
    arrivals: Arrivals,
    after: Duration,
    sessions_max: Option<u64>,
    /// Sessions that begin.
    sessions: u64,
}

#[test]
fn parts_do_what_the_whole_does() {
    const SHORT: Duration = Duration::from_millis(20);
    let open = |gaps, after, sessions_max, sessions| {
        check(&Row { arrivals: Arrivals::Open(gaps), after, sessions_max, sessions });
    };
    let stage = |rate| Stage { rate, lasts: Duration::from_millis(10) };
    let times = |ms: &[u64]| Gaps::Times(ms.iter().copied().map(Duration::from_millis).collect());
    open(Gaps::Fixed { rate: 1000.0 }, SHORT, None, 20);
    open(Gaps::Fixed { rate: 1000.0 }, SHORT, Some(11), 11);
    let poisson = |mean| Gaps::Poisson(Box::new(mean));
    open(poisson(Gaps::Fixed { rate: 2000.0 }), LONG, Some(20), 20);
    open(Gaps::Steps(vec![stage(500.0), stage(1500.0)]), SHORT, None, 20);
    open(Gaps::Ramp { from: 0.0, to: 1e4, over: Duration::from_secs(1) }, LONG, Some(20), 20);
    open(times(&[0, 0, 1, 1, 1, 9, 30]), SHORT, None, 6);
    open(times(&[3]), SHORT, None, 1);
    for think in [Draw::Constant(0.0), Draw::Exponential { mean: 0.001 }] {
        for sessions in [2, 20] {
            let arrivals = Arrivals::Closed { clients: 4, think };
            check(&Row { arrivals, after: LONG, sessions_max: Some(sessions), sessions });
        }
    }
}

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(30);

fn check(row: &Row) {
    let name = format!("{:?}, at most {:?}", row.arrivals, row.sessions_max);
    let (did, seen) = perform(row, Part::WHOLE);
    let begun: Vec<u64> = did.iter().filter(|did| did.1 == 0).map(|did| did.0).collect();
    assert_eq!(begun, (0..row.sessions).collect::<Vec<_>>(), "{name}");
    let conditional = seen.iter().filter(|seen| seen.1).count();
    assert!(row.sessions < 20 || (3..37).contains(&conditional), "{name}: {conditional}");

    let (mut all_did, mut all_seen) = (Vec::new(), Vec::new());
    for place in 0..3 {
        let (did, seen) = perform(row, Part { place, of: 3 });
        assert!(did.iter().all(|did| did.0 % 3 == u64::from(place)), "{name}: {place} did {did:?}");
        all_did.extend(did);
        all_seen.extend(seen);
    }
    all_did.sort_unstable();
    all_seen.sort_unstable();
    assert_eq!(all_did, did, "{name}");
    assert_eq!(all_seen, seen, "{name}");
}

/// What a part of a run does, and what its server sees, both in order.
fn perform(row: &Row, part: Part) -> (Vec<Did>, Vec<Seen>) {
    let (server, seen) = observed();
    let mut plan = plan(server);
    plan.arrivals = row.arrivals.clone();
    plan.stop.after = row.after;
    plan.stop.sessions_max = row.sessions_max;
    plan.behaviour.conditional = 0.5;
    plan.behaviour.sources = (2..7).map(|last| [127, 0, 0, last].into()).collect();
    plan.part = part;
    (did(&plan), in_order(seen.try_iter()))
}

fn did(plan: &Plan) -> Vec<Did> {
    // Which request is the last one before a short run's end is chance.
    let goes_on = plan.stop.after >= LONG;
    let (records, summary) = run(plan, &mut Numbered::new(20, goes_on));
    assert_eq!(outcomes(&records), vec![Good; records.len()]);
    assert_eq!(records.len() as u64, (1 + u64::from(goes_on)) * summary.sessions);
    let is_open = matches!(plan.arrivals, Arrivals::Open(_));
    in_order(records.iter().map(|record| {
        let intended = (is_open && record.place == 0).then(|| record.intended - plan.begin);
        (record.session, record.place, record.file.0, intended)
    }))
}

fn in_order<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all
}

/// A server that answers, and tells what it sees.
fn observed() -> (SocketAddr, Receiver<Seen>) {
    let (tell, seen) = mpsc::channel();
    let server = serve(move |mut client: Client| {
        while let Some(head) = client.asks() {
            let target = head.split(' ').nth(1).unwrap();
            let is_conditional = head.contains("If-Modified-Since: ");
            tell.send((target.to_owned(), is_conditional, client.peer().ip())).unwrap();
            client.tell(reply(&made(target, BYTES)));
            if head.contains("Connection: close") {
                break;
            }
        }
    });
    (server, seen)
}

#[test]
fn addresses_go_by_the_numbers_of_sessions() {
    let (server, seen) = observed();
    let mut plan = plan(server);
    let sources = [[127, 0, 0, 2], [127, 0, 0, 3]].map(IpAddr::from);
    plan.behaviour.sources = sources.to_vec();
    for place in 0..2 {
        plan.part = Part { place, of: 2 };
        did(&plan);
    }
    let mut count = 0;
    for (target, _, ip) in seen.try_iter() {
        // Of each session the first request tells its number; the second one may be any.
        let number: usize = target[1..].parse().unwrap();
        count += usize::from(number < 5 && ip == sources[number % 2]);
    }
    assert!(count >= 5, "{count}");
}
