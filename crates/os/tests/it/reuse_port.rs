//! Several listening sockets at one address.

use std::net::{Ipv6Addr, TcpStream};
use std::time::{Duration, Instant};

use os::{Address, Blocking, Listener};

const BACKLOG: u32 = 256;
const CLIENTS: usize = 60;
/// Longer than anything here takes: only a failure waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

fn group(count: usize, at: &str) -> Vec<Listener> {
    let at: Address = at.parse().unwrap();
    let mut all = vec![Listener::bind(&at, BACKLOG).unwrap()];
    while all.len() < count {
        let next = all[0].another(BACKLOG).unwrap();
        all.push(next);
    }
    all
}

/// Clients, and how many of them come to each of the sockets.
fn come(group: &[Listener]) -> (Vec<TcpStream>, Vec<usize>) {
    let address = group[0].local_address().unwrap();
    let clients = (0..CLIENTS).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let (begun, mut came) = (Instant::now(), vec![0; group.len()]);
    while came.iter().sum::<usize>() < CLIENTS {
        assert!(begun.elapsed() < PATIENCE, "{came:?}");
        for (listener, came) in group.iter().zip(&mut came) {
            *came += usize::from(listener.accept(Blocking::No).is_ok());
        }
    }
    (clients, came)
}

#[test]
fn who_comes_is_shared_out_among_all() {
    for at in ["127.0.0.1:0", "0"] {
        // All addresses are those of IPv6, too.
        if at == "0" && std::net::UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
            harness::skip("needs IPv6");
            continue;
        }
        let group = group(3, at);
        assert!(group.iter().all(Listener::listens));
        let told: Vec<_> = group.iter().map(|of| of.local_address().unwrap()).collect();
        assert!(told.iter().all(|of| *of == told[0]), "{told:?}");
        let (_clients, came) = come(&group);
        assert!(came.iter().all(|came| *came > 0), "{at}: {came:?}");
    }
}

/// The last one is left out, emptied, stopped, and listens again.
#[test]
fn the_last_one_ends_and_begins_again_without_a_loss() {
    let group = group(3, "127.0.0.1:0");
    for _ in 0..3 {
        let waits = TcpStream::connect(group[0].local_address().unwrap()).unwrap();
        group[0].leave_out_from(2).unwrap();
        let (_clients, came) = come(&group);
        // Whoever waited before is one more.
        assert!(came[0] > 0 && came[1] > 0 && came[2] <= 1, "{came:?}");
        drop(waits);
        while group.iter().any(|of| of.accept(Blocking::No).is_ok()) {}
        group[2].stop().unwrap();
        assert!(!group[2].listens());
        group[2].set_backlog(BACKLOG).unwrap();
        assert!(!group[2].listens(), "it was stopped");
        group[0].leave_out_none().unwrap();
        let (_clients, came) = come(&group);
        assert!(came[0] > 0 && came[1] > 0 && came[2] == 0, "{came:?}");
        group[2].listen(BACKLOG).unwrap();
        let (_clients, came) = come(&group);
        assert!(came.iter().all(|came| *came > 0), "{came:?}");
    }
}

#[test]
fn what_is_not_one_of_several_is_told() {
    let alone = group(1, "127.0.0.1:0");
    alone[0].leave_out_from(1).unwrap_err();
    alone[0].leave_out_none().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let unix = format!("unix:{}", directory.path().join("a").display());
    let unix = Listener::bind(&unix.parse().unwrap(), BACKLOG).unwrap();
    assert!(!unix.has_room_beside());
    unix.another(BACKLOG).unwrap_err();
    // Nobody else's program joins where one listens alone.
    let taken = alone[0].local_address().unwrap().parse().unwrap();
    Listener::bind(&taken, BACKLOG).unwrap_err();
    let joined = alone[0].another(BACKLOG).unwrap();
    Listener::bind(&taken, BACKLOG).unwrap_err();
    drop(joined);
}
