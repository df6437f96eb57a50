//! Who counts in which row.

use servers::counters::{Counter, Counters};

#[test]
fn who_does_not_know_his_worker_counts_with_it() {
    let counters = Counters::new(3).unwrap();
    counters.count(Counter::Shed);
    counters.started(2);
    counters.clone().count(Counter::Shed);
    let shed = [0, 1, 2].map(|worker| counters.of(worker, Counter::Shed));
    assert_eq!(shed, [1, 0, 1]);
}
