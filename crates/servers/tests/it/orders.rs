//! Who is told what, and who is woken.

use os::Wake;
use servers::orders::Orders;

fn is_woken(wake: &Wake) -> bool {
    os::wait_readable([wake.as_fd_ref()], Some(std::time::Duration::ZERO)).unwrap()[0]
}

/// Who is told what, and whether each of two workers then ends, and is woken.
#[test]
fn one_worker_can_end_alone() {
    type Row = (fn(&Orders), [bool; 2], [bool; 2]);
    let rows: [Row; 4] = [
        (|orders| orders.of(1).retire(), [false, true], [false, true]),
        (|orders| orders.all().retire(), [true, true], [true, true]),
        (|orders| orders.all().drain(), [true, true], [true, true]),
        (|orders| orders.all().leave(), [false, false], [false, false]),
    ];
    for (tell, ends, woken) in rows {
        let orders = Orders::new(1, 2).unwrap();
        tell(&orders);
        assert_eq!([0, 1].map(|n| orders.of(n).is_draining()), ends);
        assert_eq!([0, 1].map(|n| is_woken(orders.wake(n))), woken);
    }
}

#[test]
fn what_nobody_else_accepts_from_is_not_handed_on() {
    let orders = Orders::new(2, 1).unwrap();
    orders.leave_behind([1].into_iter());
    assert!(!orders.of(0).is_handed_on(0), "it serves");
    orders.all().retire();
    assert_eq!([0, 1].map(|n| orders.of(0).is_handed_on(n)), [true, false]);
    orders.all().drain();
    assert!(!orders.of(0).is_handed_on(0), "nobody serves");
}

/// One that has ended alone begins again as if nobody had told it to; what all are told holds.
#[test]
fn an_order_to_one_worker_is_taken_back() {
    let orders = Orders::new(1, 2).unwrap();
    orders.leave_behind([0].into_iter());
    orders.of(1).retire();
    orders.take_back(1, [0].into_iter());
    assert!(!orders.of(1).is_ending() && !is_woken(orders.wake(1)));
    orders.all().retire();
    orders.take_back(1, [0].into_iter());
    assert!(orders.of(1).is_retiring() && orders.of(1).is_handed_on(0));
}
