//! Admission steers a model of a listening socket: what is kept of a server's capacity in a flood,
//! and how long those wait who are answered.

use crate::queue::{Seen, World, run};
use control::admission::{ALL, Admission, Bounds, Sample, Share};
use measure::{Duration, Instant};

const BOUNDS: Bounds =
    Bounds { wait: Duration::from_millis(20), backlog_max: 4096, backlog: None, share: None };

/// In seconds. In the first one of a flood who waits already is served, and the others are told
/// apart.
const LASTS: f64 = 6.0;
const FLOOD: f64 = 0.5;
const BEGIN: f64 = FLOOD + 1.0;

fn world(capacity: f64, times: f64) -> World {
    World {
        capacity,
        offered: vec![(0.0, times.min(0.5) * capacity), (FLOOD, times * capacity)],
        round_trip: 0.0002,
        patience: 1.0,
        quota: None,
        stalls: Vec::new(),
        varies: 0.0,
        kept: (0, 1.0),
        requests: 1,
        closed: 0,
        room_max: u32::MAX,
        lasts: LASTS,
        counts_from: BEGIN,
    }
}

fn flooded(world: &World) -> Seen {
    run(world, Admission::new(BOUNDS), 1)
}

/// Good replies of the capacity, and the wait of which 1 of 100 is longer.
fn check(world: &World, kept_least: f64, wait_most: f64, what: &str) {
    let seen = flooded(world);
    let (kept, wait) = (seen.kept(world), seen.wait(0.99));
    assert!(kept >= kept_least, "{what}: {kept:.3} are kept");
    assert!(wait <= wait_most, "{what}: 1 of 100 waits for {wait:.3} s");
}

#[test]
fn a_flood_is_served_at_full_rate_and_with_short_waits() {
    for capacity in [500.0, 5000.0, 30_000.0] {
        for times in [1.2, 2.0, 3.0, 10.0] {
            // The model takes its time, too.
            if capacity * times > 100_000.0 {
                continue;
            }
            for quota in [None, Some((0.25, 0.005))] {
                let world = World { quota, ..world(capacity, times) };
                let kept = if capacity < 1000.0 { 0.92 } else { 0.95 };
                check(&world, kept, 0.1, &format!("{capacity}/s, {times} times, {quota:?}"));
            }
        }
    }
}

/// A machine that others use, too: what is kept is of what it could do, on the average.
#[test]
fn a_capacity_that_varies_is_followed() {
    for times in [1.2, 2.0, 3.0] {
        let world = World { varies: 0.2, lasts: 12.0, ..world(4000.0, times) };
        let world = World { quota: Some((0.15, 0.008)), ..world };
        check(&world, 0.93, 0.11, &format!("{times} times"));
    }
}

/// A container that runs for a part of each 100 ms: nobody waits for less than the rest of them.
#[test]
fn a_server_that_stands_still_in_between_keeps_its_rate() {
    for (share, wait) in [(0.5, 0.1), (0.15, 0.25)] {
        let world = World { quota: Some((share, 0.1)), ..world(4000.0, 1.2) };
        check(&world, 0.95, wait, &format!("{share} of 100 ms"));
    }
    for (at, lasts) in [(0.3, 0.05), (6.0, 1.0)] {
        let stalls: Vec<_> = (1..30).map(|n| (at * f64::from(n), lasts)).collect();
        let stood: f64 = stalls.iter().filter(|(at, _)| *at < LASTS).map(|(_, lasts)| lasts).sum();
        for times in [1.2, 2.0, 3.0] {
            let world = World { stalls: stalls.clone(), ..world(4000.0, times) };
            let kept = 0.95 * (1.0 - stood / LASTS);
            check(&world, kept, 0.12, &format!("{times} times, {lasts} s each {at} s"));
        }
    }
}

/// The maximum of the machine, or a number that an operator has frozen.
#[test]
fn a_short_queue_hides_no_flood() {
    for (capacity, room_max) in [(4000.0, 64), (20_000.0, 128)] {
        for times in [1.2, 2.0, 3.0] {
            let world = World { room_max, ..world(capacity, times) };
            check(&world, 0.95, 0.05, &format!("{capacity}/s, room for {room_max}, {times} times"));
        }
    }
}

/// A benchmark of so many clients, each of whom waits for his reply: whoever is refused asks less,
/// and is no help to the others.
#[test]
fn clients_who_wait_for_their_turn_are_refused_by_nobody() {
    for (capacity, closed) in [(1000.0, 64), (4000.0, 64), (4000.0, 256), (20_000.0, 1000)] {
        for quota in [None, Some((0.15, 0.008))] {
            let world = World { closed, quota, ..world(capacity, 0.001) };
            let seen = flooded(&world);
            let (what, kept) = (format!("{closed} at {capacity}/s, {quota:?}"), seen.kept(&world));
            assert_eq!(seen.refused, 0, "{what}");
            assert!(kept > 0.95, "{what}: {kept:.3} are kept");
        }
    }
}

/// Who has a connection already asks as often as he can, and comes first; newcomers still get in.
#[test]
fn newcomers_are_served_beside_those_who_stay() {
    for (times, least) in [(0.2, 0.19), (0.3, 0.28), (1.2, 0.17), (2.0, 0.17)] {
        let world = World { kept: (100, 0.7), ..world(4000.0, times) };
        let seen = flooded(&world);
        assert!(seen.kept(&world) > least, "{times} times: {:.3} are kept", seen.kept(&world));
        assert!(times > 1.0 || seen.refused == 0, "{times} times: {} are refused", seen.refused);
    }
}

/// Who has been let in is served before others are.
#[test]
fn who_is_let_in_is_served_to_the_end() {
    for capacity in [400.0, 3000.0] {
        for (times, quota) in [(1.2, None), (2.0, None), (2.0, Some((0.15, 0.007))), (3.0, None)] {
            let world = World { requests: 7, quota, ..world(capacity, times) };
            let seen = flooded(&world);
            let (kept, finished, wait) = (seen.kept(&world), seen.finished(), seen.wait(0.99));
            let what = format!("{capacity}/s, {times} times, {quota:?}");
            assert!(kept > 0.95, "{what}: {kept:.3} are kept");
            assert!(finished > 0.99, "{what}: of those let in {finished:.3} are served");
            assert!(wait < 0.1, "{what}: 1 of 100 waits for {wait:.3} s");
        }
    }
}

/// Who was admitted comes in a round trip later, whatever is decided meanwhile.
#[test]
fn far_clients_are_served_too() {
    for (round_trip, kept, wait) in [(0.02, 0.95, 0.1), (0.1, 0.93, 0.25)] {
        for times in [1.2, 2.0, 3.0] {
            let world = World { round_trip, ..world(5000.0, times) };
            check(&world, kept, wait, &format!("{round_trip} s, {times} times"));
        }
    }
}

/// They try again for as long: nine of ten who are answered were admitted at once.
#[test]
fn patient_clients_are_served_at_once_or_not() {
    for patience in [3.0, 15.0] {
        for times in [1.2, 2.0, 3.0] {
            let world = World { patience, lasts: 20.0, ..world(5000.0, times) };
            let seen = flooded(&world);
            let (kept, at_once) = (seen.kept(&world), seen.within(0.1));
            let what = format!("{patience} s of patience, {times} times");
            assert!(kept >= 0.95, "{what}: {kept:.3} are kept");
            assert!(at_once >= 0.93, "{what}: {at_once:.3} are answered at once");
        }
    }
}

#[test]
fn in_calm_nobody_is_refused() {
    for capacity in [100.0, 1000.0, 20_000.0] {
        for times in [0.1, 0.5, 0.8, 0.9] {
            let seen = flooded(&world(capacity, times));
            assert_eq!(seen.refused, 0, "{capacity}/s, {times} times");
        }
        // Stalls, and a quota as containers have it.
        let stalls = |lasts: f64| (1..9).map(|n| (0.6 * f64::from(n), lasts)).collect::<Vec<_>>();
        for (stalls, quota) in [
            (stalls(0.05), None),
            (stalls(0.15), None),
            (vec![(2.0, 1.0)], None),
            (Vec::new(), Some((0.15, 0.1))),
        ] {
            let world = World { stalls: stalls.clone(), quota, ..world(capacity, 0.4) };
            // More could not wait.
            let longest = stalls.iter().map(|(_, lasts)| *lasts).fold(0.1, f64::max);
            if longest * 0.4 * capacity < 256.0 {
                assert_eq!(flooded(&world).refused, 0, "{capacity}/s, {stalls:?}, {quota:?}");
            }
        }
        // Bursts of 100 ms' worth, twice a second: more than 4,096 could not wait.
        let mut offered = vec![(0.0, 0.2 * capacity)];
        for n in 1..8 {
            let at = 0.5 * f64::from(n);
            offered.extend([(at, 10.0 * capacity), (at + 0.01, 0.2 * capacity)]);
        }
        let seen = flooded(&World { offered, ..world(capacity, 1.0) });
        assert_eq!(seen.refused, 0, "{capacity}/s, bursts");
    }
}

/// From twice of what it can do to half of it: soon all are admitted.
#[test]
fn after_a_flood_all_are_admitted() {
    for capacity in [500.0, 5000.0, 50_000.0] {
        let offered = vec![(0.0, 0.5 * capacity), (1.0, 2.0 * capacity), (3.0, 0.5 * capacity)];
        let seen = flooded(&World { offered, counts_from: 0.0, ..world(capacity, 1.0) });
        let share = |at: f64| seen.looks.iter().rfind(|look| look.at <= at).map(|look| look.share);
        assert_eq!(share(0.9), Some(ALL), "{capacity}/s before it");
        assert!(share(2.5) < Some(ALL * 3 / 4), "{capacity}/s in it: {:?}", share(2.5));
        assert_eq!(share(4.5), Some(ALL), "{capacity}/s behind it");
    }
}

/// Those who are left come one by one, more seldom than it looks in a flood, and often enough that
/// nobody takes it for dead.
#[test]
fn a_few_who_come_after_a_flood_end_it() {
    let mut admission = Admission::new(BOUNDS);
    let mut sample = Sample { room: 4096, ..Sample::default() };
    let mut now = Instant::from_ms(1);
    while !admission.told().is_flood {
        now = now + Duration::from_millis(2);
        sample.accepted += 8;
        sample.queue += 8;
        admission.observe(now, &sample);
    }
    for gap_ms in [50, 300, 900, 2000] {
        let (mut admission, mut sample, mut now) = (admission.clone(), sample, now);
        (sample.queue, sample.emptied) = (0, true);
        let begun = now;
        while admission.told().is_flood {
            now = now + Duration::from_millis(gap_ms);
            sample.accepted += 1;
            admission.observe(now, &sample);
            assert!(now - begun < Duration::from_secs(8), "one each {gap_ms} ms");
        }
        assert_eq!(admission.setting().share, ALL, "one each {gap_ms} ms");
    }
}

/// A server that becomes slower or faster in a flood.
#[test]
fn another_capacity_is_learnt() {
    for becomes in [0.5, 2.0, 10.0] {
        let mut world = world(2000.0, 30.0);
        world.lasts = 16.0;
        let seen = crate::queue::run_changed(&world, Admission::new(BOUNDS), 1, (4.0, becomes));
        let behind: Vec<_> = seen.looks.iter().filter(|look| look.at > 12.0).collect();
        let served = behind.last().map_or(0, |look| look.accepted)
            - behind.first().map_or(0, |look| look.accepted);
        let kept = served as f64 / 4.0 / (2000.0 * becomes);
        assert!(kept > 0.9, "{becomes} times: {kept:.3} are kept");
    }
}

/// Counts that wrap, that go back, and clocks that stand still or jump.
#[test]
fn whatever_is_seen_a_share_is_one() {
    let mut draw = measure::draw::Stream::new(1, 1);
    let mut admission = Admission::new(BOUNDS);
    let mut now = Instant::from_ms(1);
    for _ in 0..200_000 {
        let jump = [0, 1, 20, 1000, 1 << 40][draw.below(5) as usize];
        now = now + Duration::from_millis(jump);
        let big = |bits: u64| if bits.is_multiple_of(3) { bits % 100 } else { bits };
        let sample = Sample {
            queue: big(draw.bits()) as u32,
            accepted: big(draw.bits()),
            refused: draw.bits() as u32,
            room: big(draw.bits()) as u32,
            emptied: draw.below(2) == 0,
            could: big(draw.bits()) as u32,
        };
        admission.observe(now, &sample);
        let set = admission.setting();
        assert!((1..=ALL).contains(&set.share), "{set:?}");
        assert!((16..=4096).contains(&set.backlog), "{set:?}");
        let told = admission.told();
        assert!(told.capacity >= 0.0 && told.offered >= 0.0, "{told:?}");
    }
}

/// Nothing that an operator has set is touched; without a filter the backlog alone is.
#[test]
fn what_is_frozen_stays() {
    let rows: [(Option<u32>, Option<Share>); 3] =
        [(Some(64), None), (None, Some(ALL)), (Some(64), Some(ALL / 2))];
    for (backlog, share) in rows {
        let admission = Admission::new(Bounds { backlog, share, ..BOUNDS });
        let seen = run(&world(5000.0, 3.0), admission, 1);
        let all = |is: fn(&crate::queue::Look, u32) -> bool, of: Option<u32>| {
            of.is_none_or(|of| seen.looks.iter().all(|look| is(look, of)))
        };
        assert!(all(|look, of| look.backlog == of, backlog), "{backlog:?}");
        assert!(all(|look, of| look.share == of, share), "{share:?}");
    }
    let admission = Admission::new(Bounds { share: Some(ALL), ..BOUNDS });
    let world = world(5000.0, 3.0);
    let seen = run(&world, admission, 1);
    // Some meet a full queue behind their handshake, and are late.
    let (kept, wait) = (seen.kept(&world), seen.wait(0.5));
    assert!(kept > 0.95 && wait < 0.1, "{kept:.3} are kept, half of them within {wait:.3} s");
}
