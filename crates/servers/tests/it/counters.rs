//! Who counts in which row.

use servers::counters::{Counter, Counters};
use servers::tally::Tally;

#[test]
fn who_does_not_know_his_worker_counts_with_it() {
    let counters = Counters::new(3).unwrap();
    counters.count(Counter::Shed);
    counters.started(2);
    counters.clone().count(Counter::Shed);
    let shed = [0, 1, 2].map(|worker| counters.of(worker, Counter::Shed));
    assert_eq!(shed, [1, 0, 1]);
}

#[test]
fn loops_count_apart_and_are_told_of_as_one_worker() {
    let counters = Counters::of_loops(2, 3).unwrap();
    assert_eq!((counters.workers(), counters.loops(), counters.rows()), (2, 3, 6));
    let count = |row: usize, counter, n| {
        let mut tally = Tally::default();
        tally.add(counter, n);
        tally.publish(&counters, row);
    };
    counters.started(1);
    for nth in 0..3 {
        count(counters.row_of(1, nth), Counter::Accepted, 10 + nth as u64);
        count(counters.row_of(1, nth), Counter::Closed, 1);
    }
    assert_eq!([0, 1].map(|worker| counters.is_ready(worker)), [false, true]);
    assert_eq!(counters.of(1, Counter::Started), 1, "once for all its loops");
    let served = (0..6).filter(|&row| counters.serves(row)).collect::<Vec<_>>();
    assert_eq!(served, [3, 4, 5]);
    assert_eq!([0, 1].map(|worker| counters.of(worker, Counter::Accepted)), [0, 33]);
    assert_eq!([3, 4, 5].map(|row| counters.open(row)), [9, 10, 11]);
    assert_eq!(counters.ended(1), 30);
    assert_eq!(counters.ended(1), 0, "they are closed");
    assert!(!counters.is_ready(1) && counters.has_started(1) && !counters.has_started(0));
}
