//! Connections made without waiting: to somebody, to nobody, from a given address.

mod connection;

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use connection::PATIENCE;
use os::poller::{Interest, Mechanism, Poller};
use os::{Socket, thread};

/// Waits for the end of a connect.
fn settled(to: SocketAddr, from: Option<IpAddr>) -> Result<Socket, ErrorKind> {
    let (socket, is_connected) = Socket::connect(to, from).map_err(|error| error.kind())?;
    let mut poller = Poller::new(Mechanism::Epoll, 1).unwrap();
    poller.add(&socket, 1, Interest::BOTH).unwrap();
    while !is_connected && !socket.connected().map_err(|error| error.kind())? {
        assert!(!poller.wait_exactly(Some(PATIENCE)).unwrap().is_empty(), "it never ends");
    }
    Ok(socket)
}

#[test]
fn a_connection_is_made_or_refused() {
    for ip in [IpAddr::V4(Ipv4Addr::LOCALHOST), "::1".parse().unwrap()] {
        let Ok(listener) = TcpListener::bind((ip, 0)) else { continue };
        let to = listener.local_addr().unwrap();
        for from in [None, Some(ip)] {
            let socket = settled(to, from).unwrap();
            let (_, peer) = listener.accept().unwrap();
            assert_eq!(peer.ip(), ip);
            assert_eq!(socket.peer(), Some(to));
        }
        drop(listener);
        assert_eq!(settled(to, None).err(), Some(ErrorKind::ConnectionRefused));
    }
}

#[test]
fn connections_come_from_the_address_that_is_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    for from in [[127, 0, 0, 2], [127, 1, 2, 3]] {
        let _socket = settled(to, Some(from.into())).unwrap();
        assert_eq!(listener.accept().unwrap().1.ip(), IpAddr::from(from));
    }
    // Of a network for documentation: nobody's.
    let nobodys = Some(IpAddr::from([192, 0, 2, 1]));
    assert_eq!(settled(to, nobodys).err(), Some(ErrorKind::AddrNotAvailable));
}

#[test]
fn an_exact_wait_ends_by_event_or_by_time() {
    thread::wake_exactly();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, 4).unwrap();
        poller.add_level(&listener, 7).unwrap();
        for ns in [0, 1, 100_000] {
            let timeout = Some(measure::Duration::from_nanos(ns));
            assert!(poller.wait_exactly(timeout).unwrap().is_empty(), "{mechanism}, {ns} ns");
        }
    }
    let _socket = settled(listener.local_addr().unwrap(), None).unwrap();
    for mechanism in Mechanism::ALL {
        let mut poller = Poller::new(mechanism, 4).unwrap();
        poller.add_level(&listener, 7).unwrap();
        for timeout in [None, Some(PATIENCE), Some(measure::Duration::MAX)] {
            let events = poller.wait_exactly(timeout).unwrap();
            assert_eq!(events.iter().map(|event| event.token).collect::<Vec<_>>(), [7]);
        }
    }
}
