//! What one address may have, against counting by hand.

use std::net::IpAddr;

use measure::Instant;
use proptest::prelude::*;
use servers::quotas::{Key, Quota, Quotas};

const QUOTA: Quota = Quota { connections_max: 2, requests_per_s: 4 };

fn key(text: &str) -> Key {
    Key::of(text.parse().unwrap())
}

#[test]
fn addresses_are_told_apart_as_clients_are() {
    let rows = [
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
        ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("2001:db8::1", "2001:db8::ffff:1", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
        ("0.0.0.0", "::", false),
    ];
    for (one, other, same) in rows {
        assert_eq!(key(one) == key(other), same, "{one} {other}");
    }
}

#[test]
fn who_has_as_many_connections_as_he_may_waits_until_one_goes() {
    let mut quotas = Quotas::new(QUOTA);
    let (one, other) = (key("192.0.2.1"), key("192.0.2.2"));
    assert!(quotas.enters(one) && quotas.enters(one) && !quotas.enters(one));
    assert!(quotas.enters(other));
    quotas.leaves(one);
    assert!(quotas.enters(one) && !quotas.enters(one));
}

#[test]
fn a_second_of_requests_may_come_at_once_and_then_one_after_the_other() {
    let mut quotas = Quotas::new(QUOTA);
    let one = key("192.0.2.1");
    let mut asks =
        |ms, count: usize| (0..count).filter(|_| quotas.asks(one, Instant::from_ms(ms))).count();
    for (ms, count, admitted) in
        [(1000, 9, 4), (1249, 9, 0), (1250, 9, 1), (2250, 9, 4), (9000, 9, 4), (9500, 1, 1)]
    {
        assert_eq!(asks(ms, count), admitted, "at {ms} ms");
    }
}

/// What is given back was never taken; a minute's worth is lent, and comes back in a minute.
#[test]
fn what_is_given_back_does_not_count() {
    let mut quotas = Quotas::per_minute(2, 3);
    let one = key("192.0.2.1");
    assert!(quotas.enters(one) && quotas.enters(one) && !quotas.enters(one));
    let mut step = |ms, returned: usize, admitted| {
        (0..returned).for_each(|_| quotas.gives_back(one));
        let count = (0..9).filter(|_| quotas.asks(one, Instant::from_ms(ms))).count();
        assert_eq!(count, admitted, "at {ms} ms, {returned} given back");
    };
    for (ms, returned, admitted) in [
        (1_000, 0, 3),
        (1_000, 2, 2),
        (20_999, 0, 0),
        (21_000, 0, 1),
        (21_000, 1, 1),
        (200_000, 0, 3),
        (900_000, 1, 3),
    ] {
        step(ms, returned, admitted);
    }
}

#[test]
fn without_limits_all_may() {
    let mut quotas = Quotas::new(Quota::default());
    let one = key("192.0.2.1");
    assert!((0..1000).all(|_| quotas.enters(one) && quotas.asks(one, Instant::ORIGIN)));
}

proptest! {
    /// Against counting by hand, as long as nobody has to be forgotten.
    #[test]
    fn no_address_has_more_than_it_may(
        steps in prop::collection::vec((0..4_u8, any::<bool>(), 0..400_u64), 0..200)
    ) {
        let mut quotas = Quotas::new(QUOTA);
        let mut open = [0_u32; 4];
        let mut asked: [Vec<u64>; 4] = Default::default();
        let mut ms = 0;
        for (who, enters, later) in steps {
            ms += later;
            let at = usize::from(who);
            let key = Key::of(IpAddr::from([10, 0, 0, who]));
            if enters {
                let may = quotas.enters(key);
                prop_assert_eq!(may, open[at] < QUOTA.connections_max);
                open[at] += u32::from(may);
            } else if open[at] > 0 {
                quotas.leaves(key);
                open[at] -= 1;
            }
            if quotas.asks(key, Instant::from_ms(ms)) {
                asked[at].push(ms);
            }
            // A bucket of a second, filled in a second.
            let lately = asked[at].iter().filter(|&&then| then + 1000 > ms).count();
            prop_assert!(lately <= 2 * QUOTA.requests_per_s as usize);
        }
    }
}
