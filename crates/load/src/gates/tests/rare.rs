//! Sizes with few requests.

use super::*;

#[test]
fn sizes_that_are_rare_are_judged_with_their_neighbours() {
    use Verdict::{Fails, Holds};
    // Of sizes in a row: how many of how many time out; beside 3,000 of another that do not.
    let rows: [(&[(u64, u64)], Verdict); 5] = [
        (&[(2, 5); 9], Fails),
        (&[(1, 5), (0, 5), (0, 5), (1, 5), (0, 5)], Holds),
        (&[(3, 3)], Fails),
        (&[(1, 1)], Holds),
        (&[(0, 5), (2, 40), (1, 30), (2, 40), (1, 30)], Holds),
    ];
    for (sizes, verdict) in rows {
        let mut results = results(15, WELL);
        let common = results.kinds[0].clone();
        let of = |place: usize, timeouts: u64, all: u64| {
            let mut of = common.clone();
            of.kind.bytes = Some(place as u64);
            of.detail.counts = Counts::default();
            let timed_out =
                |number| if number < timeouts { Outcome::TimedOut } else { Outcome::Good };
            (0..all).for_each(|number| of.detail.counts.record(timed_out(number)));
            of
        };
        let rare = sizes.iter().enumerate().map(|(at, &(of_them, all))| of(at + 1, of_them, all));
        results.kinds = rare.chain([of(99, 0, 3000)]).collect();
        results.requests.counts = Counts::default();
        results.kinds.iter().for_each(|of| results.requests.counts.add(&of.detail.counts));
        assert_eq!(found(&results, "even-timeouts").0, verdict, "{sizes:?}");
    }
}
