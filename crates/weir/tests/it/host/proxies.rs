//! Whose a request is: told by a proxy in the request itself, and judged by rules.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use crate::support::chosen::on_mechanisms_alone;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::server::Server;
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};

/// The address of whoever does not say from which he connects.
const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

const TRUSTS_HERE: [&str; 2] = ["--trusted-proxies", "127.0.0.1"];

/// A request of a client whom a proxy names; of nobody: without that field.
fn request(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: weir.test\r\n{fields}\r\n")
}

fn of(client: &str) -> String {
    if client.is_empty() { String::new() } else { format!("X-Forwarded-For: {client}\r\n") }
}

/// The status of the next reply, or 0 if the connection ends without one.
fn status(wire: &mut Wire) -> u16 {
    wire.reply(false).map_or(0, |(head, _)| head.status)
}

fn connect(server: &Server, from: Ipv4Addr) -> Wire {
    Wire::connect_from(from, server.address, 0).expect("a connection")
}

/// Whose the requests are that a log tells, in order.
fn logged(log: &Path, format: &str) -> Vec<String> {
    let text = fs::read_to_string(log).expect("a log");
    let whose = |line: &str| {
        let begin = if format == "json" { line.split("\"peer\":\"").nth(1) } else { Some(line) };
        let end: &[char] = if format == "json" { &['"'] } else { &[' '] };
        begin.and_then(|rest| rest.split(end).next()).map(String::from)
    };
    text.lines().map(|line| whose(line).expect("an address")).collect()
}

/// Serves with a log, asks all requests on one connection, and checks whose they are in the log.
/// `before`: what is sent first.
fn check(
    combination: &Combination,
    (format, flags): (&str, &[&str]),
    before: &str,
    rows: &[(String, String)],
) {
    let site = Fixture::small();
    let log = site.beside("access.log");
    let logs = ["--access-log", log.to_str().expect("UTF-8"), "--log-format", format];
    let server = combination.start(&site.root(), &[&logs, flags].concat());
    let mut wire = server.connect();
    let requests = rows.iter().map(|(fields, _)| request("/digits.txt", fields));
    // All at once, so that one is not taken for another.
    wire.send((String::from(before) + &requests.collect::<String>()).as_bytes()).expect("sent");
    for (fields, _) in rows {
        assert_eq!(status(&mut wire), 200, "{combination} {flags:?}: {fields}");
    }
    // The same on a connection of its own.
    let (fields, last) = rows.last().expect("a row");
    let mut wire = server.connect();
    wire.send((String::from(before) + &request("/digits.txt", fields)).as_bytes()).expect("sent");
    assert_eq!(status(&mut wire), 200, "{combination} {flags:?}");
    server.stop();
    let expected = rows.iter().map(|(_, whose)| whose).chain([last]);
    let expected: Vec<_> = expected.cloned().collect();
    assert_eq!(logged(&log, format), expected, "{combination} {flags:?}");
}

fn rows(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(fields, whose)| (String::from(*fields), String::from(*whose))).collect()
}

#[test]
fn a_proxy_tells_whose_each_request_is() {
    let mut named = rows(&[
        ("", "127.0.0.1"),
        ("X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"),
        ("", "127.0.0.1"),
        ("x-forwarded-for: 203.0.113.1, 192.0.2.8, 10.0.0.9\r\n", "192.0.2.8"),
        ("X-Forwarded-For: 192.0.2.9\r\nX-Forwarded-For: 10.0.0.9\r\n", "192.0.2.9"),
        ("X-Forwarded-For: [2001:db8::7]:80, ,\r\n", "2001:db8::7"),
        ("X-Forwarded-For: 192.0.2.7:8080\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 192.0.2.7, rubbish\r\n", "127.0.0.1"),
        ("X-Forwarded-For: 192.0.2.7, rubbish, 10.0.0.9\r\n", "10.0.0.9"),
        ("X-Forwarded-For: ,,\r\n", "127.0.0.1"),
        ("X-Forwarded-For: 10.0.0.9\r\n", "10.0.0.9"),
    ]);
    let thousand = |proxy: &str| of(&format!("192.0.2.7{}", format!(", {proxy}").repeat(1000)));
    named.push((thousand("192.0.2.8"), "192.0.2.8".into()));
    named.push((thousand("10.0.0.9"), "10.0.0.9".into()));
    named.push((of("192.0.2.7").repeat(50), "192.0.2.7".into()));
    let unheard: Vec<_> = named.iter().map(|(of, _)| (of.clone(), "127.0.0.1".into())).collect();
    let trusts = ["--trusted-proxies", "127.0.0.1,10.0.0.0/8"];
    let others = ["--trusted-proxies", "10.0.0.0/8", "--trusted-proxies", "unix"];
    on_mechanisms_alone(Program::Weir, |combination| {
        for format in ["common", "json"] {
            check(combination, (format, &trusts), "", &named);
            check(combination, (format, &others), "", &unheard);
        }
    });
}

/// Who sends the header is a balancer, and whom it names may be a proxy.
#[test]
fn behind_a_balancer_whom_it_names_is_judged() {
    let header = |source: &str| format!("PROXY TCP4 {source} 198.51.100.1 56324 80\r\n");
    let flags = ["--proxy-protocol", "127.0.0.1", "--trusted-proxies", "10.0.0.0/8,127.0.0.1,unix"];
    let both =
        |one: &str, other: &str| rows(&[("", one), ("X-Forwarded-For: 192.0.2.7\r\n", other)]);
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = ("common", &flags[..]);
        check(combination, flags, &header("10.0.0.9"), &both("10.0.0.9", "192.0.2.7"));
        check(combination, flags, &header("192.0.2.8"), &both("192.0.2.8", "192.0.2.8"));
        check(combination, flags, "PROXY UNKNOWN\r\n", &both("127.0.0.1", "127.0.0.1"));
    });
}

/// Whoever may connect there has no address, and is a proxy if the operator says so.
#[test]
fn a_proxy_may_come_through_a_unix_socket() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        for (trusted, named, bare) in [("unix", "192.0.2.7", "-"), ("127.0.0.1", "-", "-")] {
            let home = tempfile::tempdir().expect("a directory");
            let (socket, log) = (home.path().join("weir.sock"), home.path().join("access.log"));
            let listen = format!("unix:{}", socket.display());
            let log_flag = log.to_str().expect("UTF-8");
            let flags = ["--trusted-proxies", trusted, "--access-log", log_flag];
            let server =
                combination.start(&site.root(), &[&flags[..], &["--listen", &listen]].concat());
            let mut wire = Wire::connect_unix(&socket).expect("a connection");
            for fields in [of("192.0.2.7"), String::new(), of("rubbish")] {
                wire.send(request("/digits.txt", &fields).as_bytes()).expect("sent");
                assert_eq!(status(&mut wire), 200, "{combination} {trusted}");
            }
            server.stop();
            assert_eq!(logged(&log, "common"), [named, bare, bare], "{combination} {trusted}");
        }
    });
}

/// Sent at once, and so many that no machine is too slow to ask too often.
#[test]
fn clients_of_a_proxy_ask_as_often_as_each_may() {
    const ASKED: usize = 200;
    let site = Fixture::new();
    let asks = |client: &str, times| request("/digits.txt", &of(client)).repeat(times);
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = [&TRUSTS_HERE[..], &["--address-requests-per-s", "2"]].concat();
        let server = combination.start(&site.root(), &flags);
        let mut wire = server.connect();
        let all = asks("192.0.2.7", ASKED) + &asks("192.0.2.8", 1) + &asks("192.0.2.9", 1);
        wire.send(all.as_bytes()).expect("sent");
        let told: Vec<_> = (0..ASKED + 2).map(|_| status(&mut wire)).collect();
        assert_eq!(told[..2], [200, 200], "{combination}");
        let late = told.iter().filter(|status| **status == 429).count();
        assert!(late > 5, "{combination}: {late} of {ASKED}");
        assert_eq!(told[ASKED..], [200, 200], "{combination}: others");
        // Whom a client names himself is nobody.
        let mut wire = connect(&server, ELSEWHERE);
        let names: String = (0..ASKED).map(|n| asks(&format!("192.0.2.{n}"), 1)).collect();
        wire.send(names.as_bytes()).expect("sent");
        let late = (0..ASKED).filter(|_| status(&mut wire) == 429).count();
        assert!(late > 5, "{combination}: {late} of {ASKED} under many names");
        server.stop();
    });
}

/// It has many clients, and would soon have as many connections as one address may.
#[test]
fn a_proxy_has_as_many_connections_as_it_needs() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let flags = [&TRUSTS_HERE[..], &["--address-connections-max", "1"]].concat();
        let server = combination.start(&site.root(), &flags);
        let kept: Vec<_> = (0..5)
            .map(|n| {
                let mut wire = connect(&server, HERE);
                wire.send(request("/digits.txt", &of("192.0.2.7")).as_bytes()).expect("sent");
                assert_eq!(status(&mut wire), 200, "{combination}: the proxy's {n}th");
                wire
            })
            .collect();
        let mut first = connect(&server, ELSEWHERE);
        first.send(request("/digits.txt", "").as_bytes()).expect("sent");
        assert_eq!(status(&mut first), 200, "{combination}: another's first");
        let mut second = connect(&server, ELSEWHERE);
        let _ = second.send(request("/digits.txt", &of("192.0.2.7")).as_bytes());
        assert_eq!(status(&mut second), 0, "{combination}: another's second");
        drop((kept, first));
        let again = || {
            let mut wire = connect(&server, ELSEWHERE);
            let _ = wire.send(request("/digits.txt", "").as_bytes());
            status(&mut wire) == 200
        };
        assert!(await_true(PATIENCE, again), "{combination}: when it has gone");
        server.stop();
    });
}

/// Of `secret`, as cheap as it may be.
const HASH: &str = "$2y$04$juphMykJHYIGv88W4iE/eOPYdm0q1k.fQ.rkp6yhkh9L4mbk1qBOi";

/// Serves by rules about addresses.
fn guarded(combination: &Combination, site: &Fixture, flags: &[&str]) -> Server {
    let text = format!(
        "[[host]]\nnames = \"weir.test\"\nroot = {:?}\n\
         [[host.rule]]\nat = \"/\"\nerror-page = {{ status = 403, file = \"/dir/index.html\" }}\n\
         fields = {{ X-A = \"1\" }}\n\
         [[host.rule]]\nat = \"/digits.txt\"\nallow = [\"192.0.2.0/24\", \"127.0.0.1\"]\n\
         deny = [\"192.0.2.66\"]\n\
         [[host.rule]]\nat = \"/coded\"\ndeny = [\"127.0.0.2\", \"192.0.2.66\"]\n\
         [[host.rule]]\nat = \"/coded/page.html\"\n\
         auth = {{ realm = \"r\", users = {{ ann = \"{HASH}\" }} }}\n\
         [[host.rule]]\nat = \"/coded/old\"\nredirect = \"/new\"\n",
        site.root()
    );
    // Others write theirs at the same time, and it is read at the start alone.
    let home = tempfile::tempdir().expect("a directory");
    let config = home.path().join("weir.toml");
    fs::write(&config, text).expect("written");
    let config = ["--config", config.to_str().expect("UTF-8")];
    // A root on the command line would be one more host.
    let mut command = std::process::Command::new(combination.program.path());
    let arguments = combination.arguments(&site.root(), &[&config, flags].concat());
    command.args(arguments.iter().enumerate().filter(|(n, _)| *n != 1).map(|(_, it)| it));
    combination.serve(command, flags)
}

#[test]
fn rules_let_in_by_address() {
    // From where, whom a proxy names, what, and what that gets.
    let rows = [
        (HERE, "", "/digits.txt", 200),
        (HERE, "192.0.2.7", "/digits.txt", 200),
        (HERE, "192.0.2.66", "/digits.txt", 403),
        (HERE, "192.0.2.7, 192.0.2.66", "/digits.txt", 403),
        (HERE, "192.0.2.66, 192.0.2.7", "/digits.txt", 200),
        (HERE, "203.0.113.7", "/digits.txt", 403),
        (HERE, "192.0.2.7, rubbish", "/digits.txt", 200),
        (ELSEWHERE, "", "/digits.txt", 403),
        (ELSEWHERE, "192.0.2.7", "/digits.txt", 403),
        (ELSEWHERE, "127.0.0.1", "/digits.txt.gz", 403),
        (ELSEWHERE, "192.0.2.7", "/coded/style.css", 403),
        (HERE, "192.0.2.7", "/coded/style.css", 200),
        (HERE, "192.0.2.66", "/coded/page.html", 403),
        (HERE, "192.0.2.7", "/coded/page.html", 401),
        (HERE, "192.0.2.66", "/coded/old", 403),
        (HERE, "192.0.2.7", "/coded/old", 302),
        (HERE, "192.0.2.66", "/coded/missing", 403),
        (HERE, "192.0.2.7", "/coded/missing", 404),
        (ELSEWHERE, "", "/probe.txt", 200),
    ];
    let site = Fixture::new();
    let page = site.content("/dir/index.html");
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = guarded(combination, &site, &TRUSTS_HERE);
        let mut wires = [(HERE, connect(&server, HERE)), (ELSEWHERE, connect(&server, ELSEWHERE))];
        // Anew, and from memory; several clients of one connection.
        for (from, client, path, expected) in rows.into_iter().chain(rows) {
            let told = format!("{combination}: {path} of {client:?} from {from}");
            let (_, wire) = wires.iter_mut().find(|(of, _)| *of == from).expect("a connection");
            wire.send(request(path, &of(client)).as_bytes()).expect("sent");
            let (head, body) = wire.reply(false).expect(&told);
            assert_eq!(head.status, expected, "{told}");
            assert_eq!(head.field("x-a"), Some("1"), "{told}");
            assert_eq!(body == page, expected == 403, "{told}");
            let options =
                format!("OPTIONS {path} HTTP/1.1\r\nHost: weir.test\r\n{}\r\n", of(client));
            wire.send(options.as_bytes()).expect("sent");
            let expected = if expected == 403 { 403 } else { 204 };
            assert_eq!(status(wire), expected, "{told}: OPTIONS");
        }
        server.stop();
    });
}

/// A request that waits for `100 Continue` is refused at once, and one whose body comes later is
/// read away first.
#[test]
fn who_is_not_let_in_sends_no_body() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = guarded(combination, &site, &[]);
        let mut wire = connect(&server, ELSEWHERE);
        let fields = "Expect: 100-continue\r\nContent-Length: 5\r\n";
        wire.send(request("/digits.txt", fields).as_bytes()).expect("sent");
        assert_eq!(status(&mut wire), 403, "{combination}");
        let mut wire = connect(&server, ELSEWHERE);
        let asks = request("/digits.txt", "Content-Length: 5\r\n") + "12345";
        wire.send((asks.repeat(2) + &request("/probe.txt", "")).as_bytes()).expect("sent");
        let told = [status(&mut wire), status(&mut wire), status(&mut wire)];
        assert_eq!(told, [403, 403, 200], "{combination}");
        server.stop();
    });
}

/// He is in no network: what is for some is not for him, and he is not among whom others shut out.
#[test]
fn who_has_no_address_is_in_no_network() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        for (flags, client, digits) in [
            (&[][..], "192.0.2.7", 403),
            (&["--trusted-proxies", "unix"][..], "", 403),
            (&["--trusted-proxies", "unix"][..], "192.0.2.7", 200),
        ] {
            let home = tempfile::tempdir().expect("a directory");
            let socket = home.path().join("weir.sock");
            let listen = format!("unix:{}", socket.display());
            let server = guarded(combination, &site, &[flags, &["--listen", &listen]].concat());
            let mut wire = Wire::connect_unix(&socket).expect("a connection");
            for (path, expected) in [("/digits.txt", digits), ("/coded/style.css", 200)] {
                wire.send(request(path, &of(client)).as_bytes()).expect("sent");
                assert_eq!(status(&mut wire), expected, "{combination} {flags:?}: {path}");
            }
            server.stop();
        }
    });
}

/// A balancer names whom rules judge.
#[test]
fn rules_judge_whom_a_balancer_names() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = guarded(combination, &site, &["--proxy-protocol", "127.0.0.1"]);
        for (source, expected) in [
            ("TCP4 192.0.2.7 198.51.100.1 1 80", 200),
            ("TCP6 ::ffff:192.0.2.7 ::1 1 80", 200),
            ("TCP4 192.0.2.66 198.51.100.1 1 80", 403),
            ("TCP4 203.0.113.7 198.51.100.1 1 80", 403),
            ("UNKNOWN", 403),
        ] {
            let mut wire = connect(&server, HERE);
            let asks = format!("PROXY {source}\r\n{}", request("/digits.txt", &of("192.0.2.9")));
            wire.send(asks.as_bytes()).expect("sent");
            let (head, body) = wire.reply(false).expect("a reply");
            assert_eq!(head.status, expected, "{combination}: {source}");
            assert_eq!(body == DIGITS, expected == 200, "{combination}: {source}");
        }
        server.stop();
    });
}
