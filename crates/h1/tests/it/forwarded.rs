//! Whose a request is that came through proxies.

use std::net::IpAddr;

use h1::forwarded::{ENTRIES_MAX, client};
use h1::{Connection, Limits, Now, Shared};
use measure::Instant;
use proptest::prelude::*;

/// What a request is asked by; all proxies are in 10.0.0.0/8 or fd00::/8.
const PROXY: &str = "10.0.0.1";

fn is_trusted(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[0] == 10,
        IpAddr::V6(address) => address.octets()[0] == 0xfd,
    }
}

/// The client of a request with these fields, each ended by CRLF.
fn of(fields: &[u8], proxy: Option<IpAddr>) -> Option<IpAddr> {
    let limits = Shared::new(Limits { head_bytes_max: 65_535, ..Limits::default() });
    let now = Now { at: Instant::ORIGIN, date: h1::Date::new(0) };
    let mut connection = Connection::<()>::new(limits, now.at);
    // What follows is no field of the head.
    let behind = b"\r\nX-Forwarded-For: 203.0.113.99\r\n\r\n";
    let head = [b"GET / HTTP/1.1\r\nHost: a\r\n", fields, behind].concat();
    connection.received(&head, &now);
    client(connection.asked().expect("a request"), proxy, is_trusted)
}

#[test]
fn the_client_is_the_last_whom_no_proxy_is() {
    let rows = [
        ("", PROXY),
        ("X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"),
        ("x-forwarded-FOR:192.0.2.7\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 192.0.2.7, 10.9.9.9\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 192.0.2.6, 192.0.2.7,\t10.9.9.9 , fd00::1\r\n", "192.0.2.7"),
        // Everybody is a proxy: the first of them.
        ("X-Forwarded-For: 10.0.0.3, 10.0.0.2\r\n", "10.0.0.3"),
        // Several fields are one.
        ("X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 10.0.0.2\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 192.0.2.6\r\nA: b\r\nX-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 10.0.0.3\r\nX-Forwarded-For: 10.0.0.2\r\n", "10.0.0.3"),
        // All spellings.
        ("X-Forwarded-For: 192.0.2.7:8080\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 2001:db8::7\r\n", "2001:db8::7"),
        ("X-Forwarded-For: [2001:db8::7]\r\n", "2001:db8::7"),
        ("X-Forwarded-For: [2001:DB8::7]:80, [fd00::2]:1, 10.0.0.2:1\r\n", "2001:db8::7"),
        ("X-Forwarded-For: ::ffff:192.0.2.7\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 192.0.2.7, [::ffff:10.0.0.2]:80\r\n", "192.0.2.7"),
        // Empty entries say nothing.
        ("X-Forwarded-For:\r\n", PROXY),
        ("X-Forwarded-For: ,,\t, \r\n", PROXY),
        ("X-Forwarded-For: ,192.0.2.7,, ,10.0.0.2,\r\nX-Forwarded-For:\r\n", "192.0.2.7"),
        // What is no address ends the walk.
        ("X-Forwarded-For: unknown\r\n", PROXY),
        ("X-Forwarded-For: 192.0.2.7, unknown\r\n", PROXY),
        ("X-Forwarded-For: 192.0.2.7, unknown, 10.0.0.3, 10.0.0.2\r\n", "10.0.0.3"),
        ("X-Forwarded-For: unknown, 192.0.2.7, 10.0.0.2\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 192.0.2.7 10.0.0.2\r\n", PROXY),
        ("X-Forwarded-For: 192.0.2.7;10.0.0.2\r\n", PROXY),
        ("X-Forwarded-For: \"192.0.2.7\"\r\n", PROXY),
        ("X-Forwarded-For: 192.0.2.7:\r\n", PROXY),
        ("X-Forwarded-For: 192.0.2.7:65536\r\n", PROXY),
        ("X-Forwarded-For: 192.0.2.07\r\n", PROXY),
        ("X-Forwarded-For: 192.0.2\r\n", PROXY),
        ("X-Forwarded-For: 192.0.2.7/32\r\n", PROXY),
        ("X-Forwarded-For: [192.0.2.7]\r\n", PROXY),
        ("X-Forwarded-For: [2001:db8::7\r\n", PROXY),
        ("X-Forwarded-For: [2001:db8::7]80\r\n", PROXY),
        ("X-Forwarded-For: [fe80::1%2]:80\r\n", PROXY),
        ("X-Forwarded-For: unix:\r\n", PROXY),
        ("X-Forwarded-For: www.example.org\r\n", PROXY),
        // Another field's.
        ("X-Forwarded-For-It: 192.0.2.7\r\nX-Forwarded: 192.0.2.7\r\n", PROXY),
    ];
    for (fields, expected) in rows {
        let told = of(fields.as_bytes(), PROXY.parse().ok());
        assert_eq!(told, Some(expected.parse().unwrap()), "{fields}");
    }
}

#[test]
fn who_has_no_address_names_others_all_the_same() {
    let rows = [
        ("", None),
        ("X-Forwarded-For: 192.0.2.7\r\n", Some("192.0.2.7")),
        ("X-Forwarded-For: rubbish\r\n", None),
        ("X-Forwarded-For: 10.0.0.2\r\n", Some("10.0.0.2")),
    ];
    for (fields, expected) in rows {
        let expected = expected.map(|address| address.parse().unwrap());
        assert_eq!(of(fields.as_bytes(), None), expected, "{fields}");
    }
}

#[test]
fn no_more_entries_are_looked_at_than_may_be() {
    for (count, expected) in [
        (0, "192.0.2.7"),
        (ENTRIES_MAX - 1, "192.0.2.7"),
        (ENTRIES_MAX, "10.0.0.2"),
        (1000, "10.0.0.2"),
    ] {
        let proxies = ["10.0.0.2"; 1000];
        let line = [&["192.0.2.7"], &proxies[..count]].concat().join(", ");
        let told = of(format!("X-Forwarded-For: {line}\r\n").as_bytes(), PROXY.parse().ok());
        assert_eq!(told, Some(expected.parse().unwrap()), "{count} proxies");
    }
    // Commas are entries, too, and so are fields.
    let fields = [
        format!("X-Forwarded-For: 192.0.2.7{}\r\n", ",".repeat(ENTRIES_MAX)),
        format!("X-Forwarded-For: 192.0.2.7\r\n{}", "X-Forwarded-For:\r\n".repeat(ENTRIES_MAX)),
    ];
    for fields in fields {
        assert_eq!(of(fields.as_bytes(), PROXY.parse().ok()), PROXY.parse().ok(), "{fields}");
    }
}

proptest! {
    /// Whatever a client has written before, what a proxy has added counts.
    #[test]
    fn nobody_writes_himself_another_address(
        written in prop::collection::vec("[ -~\t\u{80}-\u{ff}]{0,40}", 0..4),
        proxies in 0..5_usize,
    ) {
        let mut fields = String::new();
        written.iter().for_each(|value| fields += &format!("X-Forwarded-For: {value}\r\n"));
        fields += &format!("X-Forwarded-For: 192.0.2.7{}\r\n", ", 10.0.0.2".repeat(proxies));
        let expected = "192.0.2.7".parse().ok();
        prop_assert_eq!(of(fields.as_bytes(), PROXY.parse().ok()), expected);
        // The same in one field.
        let line = format!("{},192.0.2.7{}", written.join(","), ", 10.0.0.2".repeat(proxies));
        let told = of(format!("X-Forwarded-For: {line}\r\n").as_bytes(), PROXY.parse().ok());
        prop_assert_eq!(told, expected);
    }

    /// Nothing that is no address is taken for one.
    #[test]
    fn it_is_the_proxy_or_somebody_who_was_named(
        entries in prop::collection::vec("[0-9a-f.:\\[\\], ]{0,20}", 0..6)
    ) {
        let line = entries.join(",");
        let told = of(format!("X-Forwarded-For: {line}\r\n").as_bytes(), PROXY.parse().ok());
        let told = told.expect("the proxy at least");
        let is_named = |entry: &str| {
            let bare = entry.trim().trim_start_matches('[');
            let ends = bare.match_indices([':', ']']).map(|(end, _)| end).chain([bare.len()]);
            ends.into_iter().any(|end| {
                let address: Option<IpAddr> = bare[..end].parse().ok();
                address.is_some_and(|address| address.to_canonical() == told)
            })
        };
        prop_assert!(told.to_string() == PROXY || line.split(',').any(is_named), "{told}: {line}");
    }
}
