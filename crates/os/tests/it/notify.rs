//! What a service manager hears.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use os::Address;
use os::notify::{self, State};

fn heard(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 256];
    let n = socket.recv(&mut buffer).unwrap();
    String::from_utf8(buffer[..n].to_vec()).unwrap()
}

#[test]
fn states_are_told_by_path_and_by_abstract_name() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("notify");
    let name = format!("weir-test-{}", std::process::id());
    let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
    let sockets = [
        (UnixDatagram::bind(&path).unwrap(), path.clone().into_os_string()),
        (UnixDatagram::bind_addr(&abstract_name).unwrap(), format!("@{name}").into()),
    ];
    for (socket, place) in sockets {
        let before = os::clock::monotonic().ns / 1000;
        for (state, expected) in
            [(State::Ready, "READY=1"), (State::Stopping, "STOPPING=1"), (State::Reloading, "")]
        {
            notify::tell_at(&place, state).unwrap();
            let text = heard(&socket);
            if state == State::Reloading {
                let (reloading, at) = text.split_once("\nMONOTONIC_USEC=").unwrap();
                assert_eq!(reloading, "RELOADING=1");
                assert!(at.parse::<u64>().unwrap() >= before, "{text}");
            } else {
                assert_eq!(text, expected);
            }
        }
    }
    notify::tell_at(place.path().join("nobody").as_os_str(), State::Ready).expect_err("no socket");
}

#[test]
fn sockets_are_for_the_process_that_they_were_handed_to() {
    let rows: [(&str, &str, i32); 8] = [
        ("7", "0", 0),
        ("7", "1", 1),
        ("7", "3", 3),
        ("8", "1", 0),
        ("", "1", 0),
        ("7", "", 0),
        ("7", "-1", 0),
        ("7", "2000000000", 1024),
    ];
    for (pid, fds, count) in rows {
        let expected: Vec<_> = (3..3 + count).map(Address::Fd).collect();
        assert_eq!(notify::handed_over_to(7, pid, fds), expected, "{pid:?} {fds:?}");
    }
}
