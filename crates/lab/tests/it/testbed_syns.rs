//! SYNs that come to a host of the lab's own.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::hosts::within;
use crate::machine::{HOSTS, has};
use lab::testbed::{Layout, Need, SYNS_PER_S_MAX, Syns, Testbed};

/// Who is at home where SYNs seem to come from ends his handshakes, and waits to be accepted; a
/// forged one is nobody.
#[test]
fn honest_syns_become_connections_and_forged_ones_do_not() {
    if !has(&HOSTS) || !has(&[Need::Tun]) {
        return;
    }
    for are_forged in [false, true] {
        let syns = Some(Syns { per_s: 1_000, are_forged });
        let testbed = Testbed::up(&Layout { syns, ..Layout::default() }).unwrap();
        let listener = within(&testbed.server, || TcpListener::bind((testbed.server.address, 0)));
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let sending = testbed.send_syns(port, Duration::from_secs(3_600)).unwrap();
        let sent = || testbed.syns_sent().unwrap();
        let mut from = Vec::new();
        await_true(|| {
            from.extend(std::iter::from_fn(|| Some(listener.accept().ok()?.1)));
            sent().syns >= 100 && (are_forged || from.len() >= 100)
        });
        assert_eq!(from.is_empty(), are_forged, "{from:?}");
        assert!(from.iter().all(|from| from.to_string().starts_with("198.1")), "{from:?}");
        drop(sending);
        // Its thread, known by its name, has ended. The kernel lists it for a moment longer.
        let is_there = |task: std::io::Result<std::fs::DirEntry>| {
            let name = std::fs::read_to_string(task.ok()?.path().join("comm")).ok()?;
            (name.trim_end() == "lab-syns").then_some(())
        };
        let tasks = || std::fs::read_dir("/proc/self/task").unwrap();
        await_true(|| tasks().find_map(is_there).is_none());
        testbed.down().unwrap();
    }
}

#[test]
fn without_a_source_nothing_is_sent() {
    if has(&HOSTS) {
        let testbed = Testbed::up(&Layout::default()).unwrap();
        assert!(testbed.send_syns(80, Duration::from_secs(1)).unwrap().is_none());
        assert_eq!(testbed.syns_sent(), None);
    }
}

#[test]
fn nobody_is_sent_more_than_a_host_of_ones_own_can_bear() {
    let syns = |per_s| Some(Syns { per_s, are_forged: true });
    let rows = [
        (
            Layout { syns: syns(1), is_loopback: true, ..Layout::default() },
            "need hosts of their own",
        ),
        (Layout { syns: syns(SYNS_PER_S_MAX + 1), ..Layout::default() }, "200,000/s at most"),
    ];
    for (layout, expected) in rows {
        let refused = Testbed::up(&layout).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

fn await_true(mut is_so: impl FnMut() -> bool) {
    const PATIENCE: Duration = Duration::from_secs(60);
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "it does not come to be so");
        std::thread::sleep(Duration::from_millis(5));
    }
}
