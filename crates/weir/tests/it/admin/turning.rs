//! Turning knobs: who may, and what comes of it.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use rustix::process::Signal;
use serde_json::Value;

use crate::admin::metrics::metrics;
use crate::admin::{ANYWHERE, CONSENT, SET, ask, ready, set, start};
use crate::support::chosen::{on_mechanisms, on_mechanisms_alone};
use crate::support::combination::Program;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::server::send;
use crate::support::{PATIENCE, await_true, processes, rights};

const NOBODY: u32 = 65_534;

/// Other users may read, and let others read by a proxy.
#[test]
fn knobs_are_turned_by_the_operator_alone() {
    if rights::lacks_users() {
        return;
    }
    let site = Fixture::new();
    fs::set_permissions(site.beside(""), Permissions::from_mode(0o755)).expect("its mode");
    // Who asks, by which method; the status.
    type Row = (u32, &'static str, u16);
    // Who serves.
    let rows: [(&[&str], [Row; 3]); 2] = [
        (&[], [(0, "POST", 200), (0, "GET", 405), (NOBODY, "POST", 403)]),
        (&["--user", "nobody"], [(0, "POST", 200), (NOBODY, "POST", 200), (12_345, "POST", 403)]),
    ];
    for (flags, asked) in rows {
        let socket = site.beside("admin.sock");
        let address = format!("unix:{}", socket.display());
        let mut by_socket = start(&site.root(), &[&["--admin", &address], flags].concat());
        by_socket.await_line("admin page on unix:");
        fs::set_permissions(&socket, Permissions::from_mode(0o777)).expect("its mode");
        let mut by_port = start(&site.root(), &[&["--admin", "127.0.0.1:0"], flags].concat());
        let port = by_port.await_admin();
        for row @ (user, method, status) in asked {
            for (target, status) in [((method, SET), status), (("GET", "/knobs"), 200)] {
                let unix = || UnixStream::connect(&socket).expect("the socket");
                assert_eq!(
                    told_to(user, unix, "weir.example", target),
                    status,
                    "{flags:?} {row:?}"
                );
                let tcp = || TcpStream::connect(port).expect("the port");
                assert_eq!(told_to(user, tcp, "localhost", target), status, "{flags:?} {row:?}");
            }
        }
        by_socket.stop();
        by_port.stop();
    }
}

/// The status that a user hears.
fn told_to<S: Read + Write>(
    user: u32,
    connect: impl FnOnce() -> S + Send,
    host: &str,
    (method, target): (&str, &str),
) -> u16 {
    let ask = || {
        let uid = rustix::process::Uid::from_raw(user);
        // Of this thread alone.
        rustix::thread::set_thread_uid(uid).expect("root becomes anybody");
        let mut stream = connect();
        let fields = format!("Host: {host}\r\n{CONSENT}Connection: close\r\n");
        let request = format!("{method} {target} HTTP/1.1\r\n{fields}\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut reply = String::new();
        stream.read_to_string(&mut reply).expect("a reply");
        let status = reply.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
        status.and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{reply}"))
    };
    std::thread::scope(|scope| scope.spawn(ask).join()).expect("told")
}

#[test]
fn knobs_are_turned_while_workers_serve() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), ANYWHERE);
        let admin = ready(&mut server);
        for value in ["1", "8", "inf", "2"] {
            let (head, body) =
                set(admin, &format!("/set?knob=accept-limit&value={value}"), CONSENT);
            assert_eq!(head.status, 200, "{combination}: {body}");
            let (_, knobs) = ask(admin, "/knobs", "");
            let knobs: Vec<Value> = serde_json::from_str(&knobs).expect("a list in JSON");
            let row = knobs.iter().find(|row| row["name"] == "accept-limit").expect("its row");
            assert_eq!((&row["value"], &row["changeable"]), (&value.into(), &true.into()));
            for _ in 0..10 {
                let fetched = server.fetch("/digits.txt");
                assert_eq!(fetched.as_deref(), Ok(DIGITS), "{combination}: {value}");
            }
        }
        server.stop();
    });
}

/// Who waits while a worker stands still is taken one by one, or all at once.
#[test]
fn a_knob_that_was_turned_is_in_force() {
    const CLIENTS: u32 = 8;
    const ROUNDS: &str = "weir_getevents_calls_total{worker=\"0\"}";
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        if combination.row["holder"] == "process" {
            // It takes one connection, whatever the limit is.
            return;
        }
        let mut server = combination.start(&site.root(), ANYWHERE);
        let admin = ready(&mut server);
        let worker = processes::workers_of(server.pid())[0];
        let counts = || {
            let metrics = metrics(&ask(admin, "/metrics", "").1);
            let count = |name: &str| metrics[&format!("weir_{name}_total{{worker=\"0\"}}")];
            (count("accepted"), count("accept_phases"))
        };
        let phases = |limit: &str| {
            let target = format!("/set?knob=accept-limit&value={limit}");
            assert_eq!(set(admin, &target, CONSENT).0.status, 200, "{combination}");
            // It is read once a round, of which one is perhaps under way.
            let rounds = || metrics(&ask(admin, "/metrics", "").1)[ROUNDS];
            let known = rounds();
            let is_read = || {
                server.fetch("/digits.txt").expect("served");
                combination.row["holder"] == "thread" || rounds() >= known + 2.0
            };
            assert!(await_true(PATIENCE, is_read), "{combination}: {known} rounds");
            let (accepted, before) = counts();
            processes::stop(worker);
            let clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
            send(worker, Signal::CONT);
            let all = || counts().0 >= accepted + f64::from(CLIENTS);
            assert!(await_true(PATIENCE, all), "{combination}: {:?}", counts());
            drop(clients);
            counts().1 - before
        };
        // An accept that a ring was told of before is none of these phases.
        let most = f64::from(CLIENTS) - 1.0;
        let [one_by_one, at_once] = ["1", "inf"].map(phases);
        assert!(one_by_one >= most && at_once < most, "{combination}: {one_by_one}, {at_once}");
        server.stop();
    });
}
