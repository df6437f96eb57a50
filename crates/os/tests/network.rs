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
    ];
    for (network, address, expected) in rows {
        let network: Network = network.parse().unwrap();
        assert_eq!(network.contains(address.parse().unwrap()), expected, "{network} {address}");
    }
    for wrong in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "host", "10.0.0.0/", "10.0.0.0/+1"] {
        wrong.parse::<Network>().expect_err(wrong);
    }
}
