//! A wire that carries no more than it is told to.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use crate::hosts::within;
use crate::machine::{HOSTS, has};
use crate::said::output;
use lab::testbed::{Layout, Need, Testbed};

/// What the kernel was told, at both ends. What then goes over it is shown and not judged.
#[test]
fn a_wire_has_its_rate_and_its_mtu_at_both_ends() {
    if !has(&HOSTS) || !has(&[Need::Rate, Need::Tun]) {
        return;
    }
    // Mbit/s, MTU, round trip; bytes a second and MTU of the devices.
    let rows = [
        (Some(10), None, None, Some(1_250_000), 1_500),
        (Some(155), Some(9_180), None, Some(19_375_000), 9_180),
        (Some(155), Some(9_180), Some(10), Some(19_375_000), 9_180),
        (None, Some(9_000), None, None, 9_000),
    ];
    for (wire_mbit, wire_mtu_bytes, round_trip_ms, bytes_per_s, mtu_bytes) in rows {
        let layout = Layout { wire_mbit, wire_mtu_bytes, round_trip_ms, ..Layout::default() };
        let testbed = Testbed::up(&layout).unwrap();
        for host in [&testbed.server, &testbed.client] {
            let qdisc = output(host, &["tc", "-json", "qdisc", "show", "dev", "wire"]);
            let qdisc: serde_json::Value = serde_json::from_str(&qdisc).unwrap();
            let rate = &qdisc[0]["options"]["rate"];
            assert_eq!(rate.as_u64(), bytes_per_s, "{layout:?}: {qdisc}");
            assert_eq!(qdisc[0]["kind"] == "tbf", bytes_per_s.is_some(), "{layout:?}: {qdisc}");
            let link = output(host, &["ip", "-o", "link", "show", "dev", "wire"]);
            assert!(link.contains(&format!(" mtu {mtu_bytes} ")), "{layout:?}: {link}");
        }
        assert!(testbed.facts.contains_key("wire"));
        let bytes = bytes_per_s.unwrap_or(100_000_000) / 2;
        let mbit = bulk_mbit(&testbed, bytes as usize);
        println!("{}: {mbit:.2} Mbit/s of what is sent", testbed.facts["wire"]);
        testbed.down().unwrap();
    }
}

/// From the server to a client: so many bytes over one connection.
fn bulk_mbit(testbed: &Testbed, bytes: usize) -> f64 {
    let listener = within(&testbed.server, || TcpListener::bind((testbed.server.address, 0)));
    let address = listener.local_addr().unwrap();
    let mut client = within(&testbed.client, || TcpStream::connect(address));
    let (mut server, _) = listener.accept().unwrap();
    let sending = thread::spawn(move || server.write_all(&vec![7; bytes]));
    client.read_exact(&mut [0; 1]).unwrap();
    let begun = Instant::now();
    let rest = io::copy(&mut client, &mut io::sink()).unwrap();
    sending.join().unwrap().unwrap();
    assert_eq!(rest, bytes as u64 - 1);
    rest as f64 * 8e-6 / begun.elapsed().as_secs_f64()
}
