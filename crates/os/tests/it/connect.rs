//! Connections made without waiting: to somebody, to nobody, from a given address.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::ops::RangeInclusive;

use crate::connection::PATIENCE;
use os::poller::{Interest, Mechanism, Poller};
use os::{Socket, limits, thread};
use rustix::net;

/// Waits for the end of a connect.
fn settled(to: SocketAddr, from: Option<IpAddr>) -> Result<Socket, ErrorKind> {
    let (socket, is_connected) =
        Socket::connect(to, from, None, None).map_err(|error| error.kind())?;
    let mut poller = Poller::new(Mechanism::Epoll, 1).unwrap();
    poller.add(&socket, 1, Interest::BOTH).unwrap();
    while !is_connected && !socket.connected().map_err(|error| error.kind())? {
        assert!(!poller.wait_exactly(Some(PATIENCE)).unwrap().is_empty(), "it never ends");
    }
    Ok(socket)
}

fn family(ip: IpAddr) -> net::AddressFamily {
    if ip.is_ipv4() { net::AddressFamily::INET } else { net::AddressFamily::INET6 }
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
        assert!(!settled(to, None).unwrap().is_its_own_peer());
        // Nobody listens, and it holds its port: no connection is made from that.
        let nobody = net::socket(family(ip), net::SocketType::STREAM, None).unwrap();
        net::bind(&nobody, &SocketAddr::new(ip, 0)).unwrap();
        let to = net::getsockname(&nobody).unwrap().try_into().unwrap();
        assert_eq!(settled(to, None).err(), Some(ErrorKind::ConnectionRefused));
    }
}

/// The kernel doubles it, to have room for its own.
#[test]
fn a_receive_buffer_is_as_large_as_was_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let room = |bytes: u32| {
        let (socket, _) = Socket::connect(to, None, None, Some(bytes)).unwrap();
        net::sockopt::socket_recv_buffer_size(&socket).unwrap()
    };
    assert_eq!([4096, 10_000].map(room), [8192, 20_000]);
}

#[test]
fn who_connects_with_himself_is_told() {
    let all = limits::local_ports().unwrap();
    if let Err(error) = Socket::takes_ports(all) {
        return harness::skip(format!("needs Linux 6.3, to choose a range of ports: {error}"));
    }
    for ip in [IpAddr::V4(Ipv4Addr::LOCALHOST), "::1".parse().unwrap()] {
        if TcpListener::bind((ip, 0)).is_err() {
            continue;
        }
        // Somebody listens at one or another, but hardly at all of these.
        let met = all.clone().step_by(101).take(100).any(|port| {
            let ports = port..=port;
            let Ok((socket, _)) = Socket::connect((ip, port).into(), None, Some(&ports), None)
            else {
                return false;
            };
            socket.connected().unwrap_or(false) && socket.is_its_own_peer()
        });
        assert!(met, "nobody at {ip} has met himself");
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
fn connections_come_from_the_ports_that_are_asked_for() {
    let all = limits::local_ports().unwrap();
    if let Err(error) = Socket::takes_ports(all) {
        return harness::skip(format!("needs Linux 6.3, to choose a range of ports: {error}"));
    }
    let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), "::1".parse().unwrap());
    for (ip, from) in [(v4, None), (v4, Some([127, 0, 0, 2].into())), (v6, None), (v6, Some(v6))] {
        let Ok(listener) = TcpListener::bind((ip, 0)) else { continue };
        // Others may have one of two neighbours, but hardly all of these.
        let mut pairs = all.clone().step_by(101).take(100).map(|first| first..=first + 1);
        assert!(pairs.any(|pair| use_up(&pair, from, &listener) == 2), "to {ip} from {from:?}");
    }
    let backwards = all.end() - 1..=*all.start();
    Socket::takes_ports(&backwards).expect_err("no port is in it");
}

/// Connects until no port is left, and says how many there were.
fn use_up(ports: &RangeInclusive<u16>, from: Option<IpAddr>, listener: &TcpListener) -> usize {
    let to = listener.local_addr().unwrap();
    let mut sockets = Vec::new();
    while sockets.len() <= ports.len() {
        match Socket::connect(to, from, Some(ports), None) {
            Ok((socket, _)) => sockets.push(socket),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{ports:?}: {error}");
                break;
            }
        }
        let peer = listener.accept().unwrap().1;
        assert!(ports.contains(&peer.port()), "{peer} is none of {ports:?}");
        assert_eq!(peer.ip(), from.unwrap_or(to.ip()));
    }
    sockets.len()
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
