use std::collections::BTreeMap;

use cache::Arrival;
use load::trace::presets::PRESETS;
use measure::draw::Stream;
use proptest::prelude::*;

use super::trace::weight;
use super::*;
use crate::setup::WarmUp;
use crate::testbed::Layout;

/// Of files of these sizes; all of it is judged.
fn trace(sizes: &[u64], requests: &[u32]) -> Trace {
    let arrival = |(file, bytes): (u64, &u64)| Arrival {
        hash: Stream::of(1, 1, file).bits(),
        weight: weight(*bytes),
        class: 0,
    };
    let files = (0..).zip(sizes).map(arrival).collect();
    Trace { files, requests: requests.into(), judged_from: 0 }
}

fn policy(name: &str) -> KeptBy {
    KeptBy::of(&name.parse().expect("a subject")).expect("a policy")
}

/// The most hits that there can be with room for so many: all ways to keep files are tried.
fn most_hits(requests: &[u32], room: usize) -> u64 {
    // By what is in, the hits so far.
    let mut ways = BTreeMap::from([(Vec::new(), 0)]);
    for file in requests {
        let mut next: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        let mut put = |kept: Vec<u32>, hits: u64| {
            let most = next.entry(kept).or_default();
            *most = hits.max(*most);
        };
        for (kept, hits) in &ways {
            if kept.contains(file) {
                put(kept.clone(), hits + 1);
                continue;
            }
            put(kept.clone(), *hits);
            let with = |rest: Vec<u32>| {
                let mut all = [rest, vec![*file]].concat();
                all.sort_unstable();
                all
            };
            if kept.len() < room {
                put(with(kept.clone()), *hits);
            }
            for gone in kept {
                let rest = kept.iter().copied().filter(|other| other != gone).collect();
                put(with(rest), *hits);
            }
        }
        ways = next;
    }
    ways.into_values().max().unwrap_or_default()
}

proptest! {
    #[test]
    fn belady_has_as_many_hits_as_there_can_be_where_sizes_are_equal(
        requests in prop::collection::vec(0_u32..6, 0..24),
        room in 1_usize..4,
    ) {
        let trace = trace(&[7; 6], &requests);
        let counts = policy(BELADY).replay(&trace, 7 * room as u64);
        prop_assert_eq!(counts.hits, most_hits(&requests, room));
    }

    #[test]
    fn no_policy_has_more_hits_than_belady_where_sizes_are_equal(
        requests in prop::collection::vec(0_u32..40, 0..400),
        room in 1_u64..40,
    ) {
        let trace = trace(&[7; 40], &requests);
        let most = policy(BELADY).replay(&trace, 7 * room).hits;
        for name in names() {
            let hits = policy(name).replay(&trace, 7 * room).hits;
            prop_assert!(hits <= most, "{name}: {hits} of {most}");
        }
    }
}

#[test]
fn hits_are_counted() {
    type Row<'r> = (&'r str, &'r [u64], &'r [u32], u64, (u64, u64));
    // Who keeps files of which sizes, what is asked for, in how many bytes: hits, and their bytes.
    let rows: [Row<'_>; 10] = [
        ("lru", &[1, 1, 1], &[], 2, (0, 0)),
        ("lru", &[1, 1, 1], &[0, 1, 0, 2, 0, 1], 2, (2, 2)),
        // In a circle of one more than there is room for LRU never has the next.
        ("lru", &[1, 1, 1], &[0, 1, 2, 0, 1, 2, 0, 1, 2], 2, (0, 0)),
        ("belady", &[1, 1, 1], &[0, 1, 2, 0, 1, 2, 0, 1, 2], 2, (4, 4)),
        ("lru", &[10, 20, 30], &[0, 0, 1, 1, 2, 0, 2], 50, (3, 60)),
        // Larger than the cache: nobody goes for it.
        ("lru", &[10, 60], &[0, 1, 0, 1], 50, (1, 10)),
        ("belady", &[10, 60], &[0, 1, 0, 1], 50, (1, 10)),
        // One large file would cost two small ones.
        ("belady", &[2, 1, 1], &[0, 1, 2, 0, 1, 2], 2, (2, 2)),
        // Who was asked for most before is asked for again.
        ("lfu", &[1, 1, 1], &[0, 0, 0, 1, 2, 0], 2, (3, 3)),
        ("lru", &[1, 1, 1], &[0, 0, 0, 1, 2, 0], 2, (2, 2)),
    ];
    for (name, sizes, requests, cache_bytes, expected) in rows {
        let counts = policy(name).replay(&trace(sizes, requests), cache_bytes);
        assert_eq!((counts.hits, counts.hit_bytes), expected, "{name} {sizes:?} {requests:?}");
        assert_eq!(counts.requests, requests.len() as u64);
    }
}

#[test]
fn what_fills_the_cache_is_not_counted_but_says_what_is_hinted() {
    // Eight files twice, then eight others, and the first ones once more.
    let requests = [0..8, 0..8, 8..16].into_iter().flatten().chain((0..8).rev());
    let requests: Vec<u32> = requests.collect();
    let trace = Trace { judged_from: 16, ..trace(&[1; 16], &requests) };
    // The others may have an eighth of the room.
    for (name, hits) in [("lru", 0), ("hinted", 7)] {
        let counts = policy(name).replay(&trace, 8);
        assert_eq!((counts.requests, counts.hits), (16, hits), "{name}");
    }
}

fn spec(stage: &str, subject: &str, workload: &str, flags: &[(&str, &str)]) -> Spec {
    Spec {
        experiment: String::new(),
        stage: stage.into(),
        subject: subject.parse().expect("a subject"),
        load: Load {
            workload: workload.into(),
            seconds: 0.0,
            warm_up: WarmUp::Fixed(0.0),
            flags: flags.iter().map(|(flag, value)| ((*flag).into(), (*value).into())).collect(),
            idle_connections: 0,
            beside: None,
        },
        layout: Layout::default(),
        factors: BTreeMap::new(),
        repeat: 0,
        profile: None,
    }
}

const CLARKNET: &str = "choi-clarknet";

/// A small trace that is like Clarknet's.
fn clarknet(change: Option<&str>) -> Trace {
    let change = change.map(|change| (CHANGE, change));
    let flags = [(REQUESTS, "20000"), ("trace-scale", "0.05")].into_iter().chain(change);
    Trace::of(&spec(REPLAYS, "lru", CLARKNET, &flags.collect::<Vec<_>>()).load).expect("a trace")
}

#[test]
fn a_trace_is_that_of_its_workload_with_what_is_changed() {
    let files = (f64::from(PRESETS[3].model.files) * 0.05).round() as usize;
    let plain = clarknet(None);
    assert_eq!(
        (plain.files.len(), plain.requests.len(), plain.judged_from),
        (files, 20_000, 10_000)
    );
    assert!(plain.files.iter().any(|file| file.class > 0), "all are in one directory");
    let scan = clarknet(Some(SCAN));
    assert_eq!(scan.requests[15_000..15_000 + files], (0..files as u32).collect::<Vec<_>>());
    assert_eq!(scan.requests[..15_000], plain.requests[..15_000]);
    assert_eq!(scan.requests[15_000 + files..], plain.requests[15_000..]);
    let equal = clarknet(Some(EQUAL_SIZES));
    assert_eq!(equal.requests, plain.requests);
    assert!(equal.files.iter().all(|file| file.weight == equal.files[0].weight));
}

/// Told of what comes after it: the crawler's own requests are for what nobody has.
#[test]
fn a_scan_costs_lru_more_than_those_who_count() {
    let (mut plain, mut scan) = (clarknet(None), clarknet(Some(SCAN)));
    plain.judged_from = 15_000;
    scan.judged_from = 15_000 + scan.files.len();
    let all_bytes: u64 = plain.files.iter().map(|file| file.weight.bytes).sum();
    for part in [10, 5, 3] {
        let lost = |name: &str| {
            let hits = |of| policy(name).replay(of, all_bytes / part).hits as i64;
            hits(&plain) - hits(&scan)
        };
        let by_lru = lost("lru");
        assert!(by_lru > 0, "a scan that LRU does not mind");
        for name in ["lfu", "s3-fifo", "sieve", "w-tinylfu"] {
            assert!(lost(name) <= by_lru, "{name} loses {} hits, and lru {by_lru}", lost(name));
        }
    }
}

#[test]
fn no_policy_has_more_than_belady_of_a_trace_with_equal_sizes() {
    let trace = clarknet(Some(EQUAL_SIZES));
    let all = |name| at_all_shares(&trace, policy(name)).into_iter().collect::<BTreeMap<_, _>>();
    let most = all(BELADY);
    assert_eq!(most.len(), SHARES.len());
    for name in names() {
        for (at, counts) in all(name) {
            assert!(counts.hits <= most[&at].hits, "{name} at {}", SHARES[at]);
            assert!(counts.hits > 0, "{name} at {}", SHARES[at]);
        }
    }
}

#[test]
fn who_asks_for_what_there_is_not_is_told() {
    let rows = [
        ("lur", CLARKNET, vec![(REQUESTS, "100")], "lur: no such policy; did you mean lru?"),
        ("none", CLARKNET, vec![(REQUESTS, "100")], "none: no such policy"),
        ("lru", "choi", vec![(REQUESTS, "100")], "there is no workload choi"),
        ("lru", CLARKNET, vec![], "choi-clarknet: there is no trace with requests "),
        (
            "lru",
            CLARKNET,
            vec![(REQUESTS, "1")],
            "choi-clarknet: there is no trace with requests 1",
        ),
        (
            "lru",
            CLARKNET,
            vec![(REQUESTS, "100"), (CHANGE, "worm")],
            "choi-clarknet: there is no trace with change worm",
        ),
    ];
    for (subject, workload, flags, expected) in rows {
        let spec = spec(REPLAYS, subject, workload, &flags);
        let told = Policies::default().counted(&spec).expect_err("a complaint").to_string();
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn all_that_is_asked_is_told() {
    let mut policies = Policies::default();
    let flags = [(REQUESTS, "1000"), ("dirs", "2")];
    for name in names().chain([BELADY]) {
        let counters = policies.counted(&spec(REPLAYS, name, "specweb99", &flags)).expect("counts");
        assert_eq!(counters[JUDGED], 500.0);
        let hits: Vec<f64> =
            (0..SHARES.len()).map(|at| counters[&at_share(HITS, at)] / counters[JUDGED]).collect();
        assert!(hits.iter().all(|share| (0.0..=1.0).contains(share)), "{name}: {hits:?}");
    }
}
