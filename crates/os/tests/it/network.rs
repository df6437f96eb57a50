//! Which addresses a network contains.

use os::Network;

#[test]
fn a_network_contains_what_begins_like_it() {
    let rows = [
        ("10.0.0.0/8", "10.200.3.4", true),
        ("10.0.0.0/8", "11.0.0.0", false),
        ("10.0.0.1", "10.0.0.1", true),
        ("10.0.0.1", "10.0.0.2", false),
        ("0.0.0.0/0", "255.1.2.3", true),
        ("0.0.0.0/0", "::1", false),
        ("fd00::/8", "fdff::1", true),
        ("fd00::/8", "fe00::1", false),
        ("::/0", "::1", true),
        ("10.0.0.0/8", "::ffff:10.0.0.1", true),
        ("::/0", "::ffff:10.0.0.1", false),
        ("::ffff:10.0.0.0/104", "10.0.0.1", true),
        ("::ffff:10.0.0.0/104", "11.0.0.1", false),
        ("::ffff:10.0.0.1", "10.0.0.1", true),
        ("::ffff:0:0/95", "10.0.0.1", false),
    ];
    for (network, address, expected) in rows {
        let network: Network = network.parse().unwrap();
        assert_eq!(network.contains(address.parse().unwrap()), expected, "{network} {address}");
    }
    for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "host", "10.0.0.0/", "10.0.0.0/+1"] {
        wrong.parse::<Network>().expect_err(wrong);
    }
}

#[test]
fn a_network_goes_from_its_first_address_to_its_last() {
    let rows = [
        ("10.1.2.3/8", "10.0.0.0", "10.255.255.255"),
        ("10.1.2.3", "10.1.2.3", "10.1.2.3"),
        ("0.0.0.0/0", "0.0.0.0", "255.255.255.255"),
        ("fd00:1::2/32", "fd00:1::", "fd00:1:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("::/0", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
        ("::1", "::1", "::1"),
        ("::ffff:10.0.0.0/104", "10.0.0.0", "10.255.255.255"),
    ];
    for (network, first, last) in rows {
        let range = network.parse::<Network>().unwrap().range();
        assert_eq!(range, (first.parse().unwrap(), last.parse().unwrap()), "{network}");
    }
}
