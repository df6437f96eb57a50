//! A wire that is as long as it is told to be.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::hosts::within;
use crate::machine::{HOSTS, has};
use lab::testbed::{Layout, Need, Testbed};

/// Nothing arrives before its time, and all of it does.
#[test]
fn packets_are_under_way_for_as_long_as_is_said() {
    if !has(&HOSTS) || !has(&[Need::Tun]) {
        return;
    }
    for ms in [1, 20, 80] {
        let layout = Layout { round_trip_ms: Some(ms), ..Layout::default() };
        let testbed = Testbed::up(&layout).unwrap();
        let round_trip = Duration::from_millis(ms.into());
        let listener = within(&testbed.server, || TcpListener::bind((testbed.server.address, 0)));
        let address = listener.local_addr().unwrap();
        let begun = Instant::now();
        let client = within(&testbed.client, || TcpStream::connect(address));
        let connected = begun.elapsed();
        assert!(connected >= round_trip, "connected within {connected:?} of {round_trip:?}");
        println!("round trip {round_trip:?}: connected after {connected:?}");
        echo(client, listener.accept().unwrap().0, round_trip);
        let carried = testbed.carried().unwrap();
        assert!(carried.packets > 0 && carried.lost == 0, "{carried:?}");
        assert!(carried.cpu > Duration::ZERO);
        println!("{carried:?}");
        testbed.down().unwrap();
    }
}

#[test]
fn without_a_delay_nobody_carries() {
    if has(&HOSTS) {
        assert_eq!(Testbed::up(&Layout::default()).unwrap().carried(), None);
    }
}

/// Bytes that go there and back are the same.
fn echo(mut client: TcpStream, mut server: TcpStream, round_trip: Duration) {
    let sent: Vec<u8> =
        (0..4_000_037_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let begun = Instant::now();
    let echoed = thread::scope(|scope| {
        let mut from = client.try_clone().unwrap();
        scope.spawn(|| {
            std::io::copy(&mut server.try_clone().unwrap(), &mut server).unwrap();
            server.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let sender = scope.spawn(|| {
            client.write_all(&sent).unwrap();
            client.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let mut echoed = Vec::new();
        from.read_to_end(&mut echoed).unwrap();
        sender.join().unwrap();
        echoed
    });
    assert!(begun.elapsed() >= round_trip);
    assert!(echoed == sent, "{} bytes of {}", echoed.len(), sent.len());
}
