//! The admin listener: what it answers, and that it answers whatever the site is doing.

mod health;
mod metrics;
mod turning;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use self::metrics::{metrics, of_all_workers};
use crate::support::chosen::{on_mechanisms, on_mechanisms_alone};
use crate::support::combination::Program;
use crate::support::command::run;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::in_flight::{HUGE_BYTES, asked, in_flight, site_with_a_huge_file};
use crate::support::metrics::counted;
use crate::support::server::Server;
use crate::support::wire::{Head, Wire};
use crate::support::{PATIENCE, await_true};

/// The machine refuses.
const MACHINE: i32 = 3;
const ANYWHERE: &[&str] = &["--admin", "127.0.0.1:0"];
const CONSENT: &str = "X-Weir: 1\r\n";
/// A body, which is ignored; an empty line may stand behind it.
const BODY: &str = "X-Weir: 1\r\nContent-Length: 7\r\n\r\nignored";
const SET: &str = "/set?knob=work-kb-max&value=64";

/// One reply of the admin listener, on a connection of its own.
fn ask(admin: SocketAddr, target: &str, fields: &str) -> (Head, String) {
    told(admin, "GET", target, fields)
}

/// The same to one that is to change something.
fn set(admin: SocketAddr, target: &str, fields: &str) -> (Head, String) {
    told(admin, "POST", target, fields)
}

fn told(admin: SocketAddr, method: &str, target: &str, fields: &str) -> (Head, String) {
    let mut wire = Wire::connect(admin, 0).expect("the admin port");
    let request = format!("{method} {target} HTTP/1.1\r\nHost: {admin}\r\n{fields}\r\n");
    wire.send(request.as_bytes()).expect("sent");
    let reply = wire.reply(method == "HEAD");
    let (head, body) = reply.unwrap_or_else(|fault| panic!("{target}: {fault}"));
    (head, String::from_utf8(body).expect("UTF-8"))
}

fn status(admin: SocketAddr, target: &str) -> u16 {
    ask(admin, target, "").0.status
}

/// Where the admin listener is, once a worker serves.
fn ready(server: &mut Server) -> SocketAddr {
    let admin = server.await_admin();
    assert!(await_true(PATIENCE, || status(admin, "/ready") == 200), "no worker became ready");
    admin
}

#[test]
fn each_target_is_answered() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), ANYWHERE);
        let admin = ready(&mut server);
        // Method, target, further fields; status, and what is in the content.
        let rows = [
            ("GET", "/", "", 200, "<title>weir</title>"),
            ("GET", "/healthz", "", 200, "ok\n"),
            ("GET", "/ready", "", 200, "ok\n"),
            ("GET", "/metrics", "", 200, "# TYPE weir_accepted_total counter\n"),
            ("GET", "/state", "", 200, "\"workers\":[{"),
            ("GET", "/knobs", "", 200, "\"accept-limit\""),
            ("GET", "/favicon.ico", "", 404, "/healthz"),
            ("GET", "/healthz/", "", 404, "/healthz"),
            ("POST", "/set?knob=accept-limit&value=8", "", 403, "X-Weir: 1"),
            ("POST", "/set?knob=accept-limit&value=8", "X-Weir: 0\r\n", 403, "X-Weir: 1"),
            ("POST", "/set?knob=accept-limit", CONSENT, 400, "value=VALUE"),
            ("POST", "/set", CONSENT, 400, "value=VALUE"),
            ("POST", "/set?knob=accept-limit&value=0", CONSENT, 400, "a number from 1, or inf"),
            ("POST", "/set?knob=cache-mb&value=1", CONSENT, 400, "cache-mb 1 needs a reload"),
            ("POST", "/set?knob=user&value=nobody", CONSENT, 400, "user nobody needs a restart"),
            ("POST", "/set?knob=nonsense&value=1", CONSENT, 404, "/knobs"),
            ("POST", "/set?knob=accept-limit&value=8", CONSENT, 200, "\"8\""),
            ("POST", "/set?knob=accept-limit&value=9", BODY, 200, "\"9\""),
            ("GET", "/set?knob=accept-limit&value=7", CONSENT, 405, "POST"),
            ("GET", "/knobs", "", 200, "\"value\": \"9\""),
        ];
        for (method, target, fields, status, content) in rows {
            let (head, body) = told(admin, method, target, fields);
            assert_eq!(head.status, status, "{combination}: {target} {body}");
            assert!(body.contains(content), "{combination}: {target} {body}");
            assert_eq!(head.field("cache-control"), Some("no-store"), "{target}");
            let allow = (status == 405).then_some("POST");
            assert_eq!(head.field("allow"), allow, "{target}");
            let others = head.field("cross-origin-resource-policy");
            assert_eq!(others, Some("same-origin"), "{target}");
        }
        server.stop();
    });
}

/// Somebody else's name that leads here is somebody else's page in a browser.
#[test]
fn a_page_of_another_host_learns_and_changes_nothing() {
    let site = Fixture::new();
    let mut server = start(&site.root(), ANYWHERE);
    let admin = ready(&mut server);
    let rows = [
        ("localhost", SET, CONSENT, 200),
        ("localhost:1", SET, "X-Weir: 1\r\nOrigin: http://localhost:1\r\n", 200),
        ("localhost:1", SET, "X-Weir: 1\r\nOrigin: http://localhost:2\r\n", 403),
        ("localhost:1", SET, "X-Weir: 1\r\nOrigin: null\r\n", 403),
        ("192.0.2.1", SET, CONSENT, 403),
        ("evil.example", SET, CONSENT, 403),
        ("evil.example", "/", "", 403),
        ("evil.example", "/knobs", "", 403),
        ("evil.example", "/metrics", "", 403),
        ("192.0.2.1", "/metrics", "", 200),
        ("weir.example", "/ready", "", 200),
        ("weir.example", "/healthz", "", 200),
    ];
    for (host, target, fields, status) in rows {
        let mut wire = Wire::connect(admin, 0).expect("the admin port");
        let method = if target == SET { "POST" } else { "GET" };
        let request = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
        wire.send(request.as_bytes()).expect("sent");
        let told = wire.reply(false).expect("answered").0.status;
        assert_eq!(told, status, "{host} {target} {fields}");
    }
    server.stop();
}

#[test]
fn the_admin_port_speaks_http_strictly() {
    let site = Fixture::new();
    let mut server = start(&site.root(), ANYWHERE);
    let admin = ready(&mut server);
    // Request; statuses of the replies.
    let rows: [(&str, &[u16]); 10] = [
        ("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", &[200]),
        ("POST /set HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", &[403]),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", &[405]),
        ("PUT /set HTTP/1.1\r\nHost: a\r\nX-Weir: 1\r\n\r\n", &[405]),
        ("HEAD /set HTTP/1.1\r\nHost: localhost\r\nX-Weir: 1\r\n\r\n", &[405]),
        ("POST /set HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", &[413]),
        ("OPTIONS /set HTTP/1.1\r\nHost: a\r\n\r\n", &[204]),
        ("GET /healthz HTTP/1.1\r\n\r\n", &[400]),
        ("nonsense\r\n\r\n", &[400]),
        ("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", &[200; 1]),
    ];
    for (request, statuses) in rows {
        let mut wire = Wire::connect(admin, 0).expect("the admin port");
        wire.send(request.as_bytes()).expect("sent");
        for status in statuses {
            let reply = wire.reply(request.starts_with("HEAD"));
            assert_eq!(reply.expect("a reply").0.status, *status, "{request}");
        }
    }
    // More in one go than one turn answers.
    let mut wire = Wire::connect(admin, 0).expect("the admin port");
    wire.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100).as_bytes()).expect("sent");
    for at in 0..100 {
        assert_eq!(wire.reply(false).expect("a reply").0.status, 200, "{at}");
    }
    server.stop();
}

/// Who comes alone is a phase of his own, whoever accepts, and whoever else was woken for nobody.
#[test]
fn each_accept_phase_has_taken_somebody() {
    const TWO: &[&str] = &["--processes", "2"];
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let of_count = if combination.takes(TWO) { TWO } else { &[] };
        let mut server = combination.start(&site.root(), &[ANYWHERE, of_count].concat());
        let admin = ready(&mut server);
        for _ in 0..20 {
            server.fetch("/digits.txt").expect("served");
        }
        let all = await_true(PATIENCE, || counted(admin, "replies") == 20.0);
        let (accepted, phases) = (counted(admin, "accepted"), counted(admin, "accept_phases"));
        assert!(all && accepted == 20.0, "{combination}: {accepted}");
        // Its work phase goes on while work comes, and takes in who comes meanwhile.
        let may_grow = combination.architecture == "tux";
        let is_own = phases == accepted || may_grow && phases < accepted && phases > 0.0;
        assert!(is_own, "{combination}: {phases}");
        server.stop();
    });
}

#[test]
fn readiness_is_off_while_draining() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        let flags = [ANYWHERE, &["--drain-timeout-ms", "600000"]].concat();
        let mut server = combination.start(&site.root(), &flags);
        let admin = ready(&mut server);
        let mut flights = in_flight(&server, 1);
        assert_eq!((status(admin, "/ready"), status(admin, "/healthz")), (200, 200));
        server.signal(Signal::TERM);
        server.await_line("draining");
        assert_eq!((status(admin, "/ready"), status(admin, "/healthz")), (503, 200));
        let metrics = metrics(&ask(admin, "/metrics", "").1);
        assert_eq!(metrics["weir_draining"], 1.0, "{combination}");
        for wire in &mut flights {
            assert_eq!(wire.rest(), Ok(HUGE_BYTES), "{combination}");
        }
        let status = server.ended(PATIENCE).expect("an end");
        assert_eq!(status.code(), Some(0), "{combination}");
    });
}

/// The delay is an hour: only a second signal can end it.
#[test]
fn balancers_are_told_to_send_nobody_while_all_who_come_are_served() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let flags = [ANYWHERE, &["--drain-delay-ms", "3600000"]].concat();
        let mut server = combination.start(&site.root(), &flags);
        let admin = ready(&mut server);
        let mut kept = asked(&server);
        server.signal(Signal::TERM);
        server.await_line("not ready for balancers");
        assert_eq!((status(admin, "/ready"), status(admin, "/healthz")), (503, 200));
        let metrics = metrics(&ask(admin, "/metrics", "").1);
        assert_eq!(metrics["weir_draining"], 1.0, "{combination}");
        // Who has a connection, who connects, and who connects after these have gone.
        for wire in [&mut kept, &mut server.connect(), &mut server.connect()] {
            wire.get("/digits.txt", "").expect("sent");
            let reply = wire.reply(false).map(|(head, body)| (head.status, head.closes(), body));
            assert_eq!(reply, Ok((200, true, DIGITS.to_vec())), "{combination}");
            assert_eq!(wire.end(), Ok(()), "{combination}");
        }
        server.signal(Signal::TERM);
        server.await_line("stopping at once");
        assert!(server.ended(PATIENCE).is_some(), "{combination}: the second signal waits");
    });
}

#[test]
fn a_drain_follows_its_delay() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        let flags = ["--drain-delay-ms", "300", "--drain-timeout-ms", "600000"];
        let mut server = combination.start(&site.root(), &flags);
        let mut idle = asked(&server);
        let mut flights = in_flight(&server, 1);
        server.signal(Signal::INT);
        server.await_line("not ready for balancers; serving on for 300 ms");
        server.await_line("draining for at most 600 s");
        assert_eq!(idle.end(), Ok(()), "{combination}");
        assert_eq!(flights[0].rest(), Ok(HUGE_BYTES), "{combination}");
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}");
    });
}

#[test]
fn it_answers_while_every_connection_of_the_site_is_taken() {
    let site = site_with_a_huge_file();
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = ["--connections-max", "4", "--crowded-rate-min", "0"];
        let mut server = combination.start(&site.root(), &[ANYWHERE, &flags].concat());
        let admin = ready(&mut server);
        let flights = in_flight(&server, 4);
        let _waits = server.asking(server.address, "/digits.txt");
        let is_full = || {
            let metrics = metrics(&ask(admin, "/metrics", "").1);
            of_all_workers(&metrics, "weir_connections") == 4.0
        };
        assert!(await_true(PATIENCE, is_full), "{combination}");
        for target in ["/", "/healthz", "/ready", "/state", "/knobs"] {
            assert_eq!(status(admin, target), 200, "{combination}: {target}");
        }
        drop(flights);
        server.stop();
    });
}

/// The kernel counts since it began, and of every program: that is nothing to a server that has
/// just begun.
#[test]
fn the_page_has_what_was_dropped_since_the_server_began() {
    let site = Fixture::new();
    const DROPS: &str = "weir_kernel_listen_drops_total";
    let dropped = |admin: SocketAddr| metrics(&ask(admin, "/metrics", "").1)[DROPS];
    let mut before = start(&site.root(), ANYWHERE);
    let dropped_before = dropped(ready(&mut before));
    let mut server = start(&site.root(), ANYWHERE);
    let admin = ready(&mut server);
    let state: serde_json::Value =
        serde_json::from_str(&ask(admin, "/state", "").1).expect("a state");
    let told = state["drops"].as_f64().expect("a count");
    let since = dropped(admin) - dropped_before;
    assert!(told <= since, "{told} of {since} since then");
    before.stop();
    server.stop();
}

/// Two more than it holds at once stay idle, and the next one is answered all the same.
#[test]
fn who_stays_idle_on_the_admin_port_makes_room() {
    let site = Fixture::new();
    let mut server = start(&site.root(), ANYWHERE);
    let admin = ready(&mut server);
    let mut kept = Vec::new();
    for _ in 0..34 {
        let mut wire = Wire::connect(admin, 0).expect("the admin port");
        wire.get("/healthz", "").expect("sent");
        assert_eq!(wire.reply(false).expect("answered").0.status, 200);
        kept.push(wire);
    }
    assert_eq!(kept[0].end(), Ok(()), "the first has been idle for longest");
    kept[33].get("/ready", "").expect("sent");
    kept[33].reply(false).expect("the last one stays");
    server.stop();
}

/// As many as it holds begin to ask and never finish: who asks in earnest is answered, and only as
/// many of them go as are in the way.
#[test]
fn who_never_finishes_on_the_admin_port_makes_room() {
    let site = Fixture::new();
    let mut server = start(&site.root(), ANYWHERE);
    let admin = ready(&mut server);
    let mut slow: Vec<_> = (0..32)
        .map(|_| {
            let mut wire = Wire::connect(admin, 0).expect("the admin port");
            wire.send(b"GET /healthz HTTP/1.1\r\n").expect("sent");
            wire
        })
        .collect();
    assert_eq!(status(admin, "/healthz"), 200);
    slow[31].send(b"Host: a\r\n\r\n").expect("sent");
    assert_eq!(slow[31].reply(false).expect("the last stays").0.status, 200);
    server.stop();
}

/// A worker that was started while a page is open must not keep its connection open.
#[test]
fn a_connection_ends_also_when_a_worker_was_started_meanwhile() {
    let site = Fixture::new();
    let mut server = start(&site.root(), ANYWHERE);
    let admin = ready(&mut server);
    let mut open = Wire::connect(admin, 0).expect("the admin port");
    open.get("/healthz", "").expect("sent");
    open.reply(false).expect("answered");
    let worker = crate::support::processes::workers_of(server.pid())[0];
    crate::support::server::send(worker, Signal::KILL);
    server.await_line("started again");
    let restarted = || metrics(&ask(admin, "/metrics", "").1)["weir_restarts_total{worker=\"0\"}"];
    assert!(await_true(PATIENCE, || restarted() == 1.0));
    open.get("/healthz", "Connection: close\r\n").expect("sent");
    open.reply(false).expect("answered");
    assert_eq!(open.end(), Ok(()));
    server.stop();
}

#[test]
fn a_given_port_that_is_taken_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let mut command = Command::new(Program::Weir.path());
    command.args(["serve", ".", "--listen", "127.0.0.1:0", "--admin", &address]);
    let (code, output, errors) = run(&mut command).expect("the binary runs");
    assert_eq!((code, output.as_str()), (Some(MACHINE), ""), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    assert!(errors.contains(&format!("--admin {address}")), "{errors}");
}

#[test]
fn the_default_port_taken_is_a_warning() {
    let site = Fixture::new();
    // Taken by this, or by somebody else on this machine: it makes no difference.
    let _taken = TcpListener::bind("127.0.0.1:8081");
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").arg(site.root()).args(["--listen", "127.0.0.1:0"]);
    let mut server = Server::start(command, 0);
    server.await_line("warning: no admin page on 127.0.0.1:8081");
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS));
    server.stop();
}

#[test]
fn off_is_off() {
    let site = Fixture::new();
    let server = start(&site.root(), &["--admin", "off"]);
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS));
    let said = server.stop();
    assert!(!said.contains("admin page"), "{said}");
}

/// By the architecture that comes by itself.
fn start(root: &Path, flags: &[&str]) -> Server {
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").arg(root).args(["--listen", "127.0.0.1:0"]).args(flags);
    Server::start(command, 0)
}
