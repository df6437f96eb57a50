//! The access log: a line for every reply, soon, and never at the cost of a reply.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use crate::support::fixture::{DIGITS, Fixture};
use crate::support::server::{Combination, Program, Server, on_every};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};

/// What a line in the common log format says.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    request: String,
    status: u16,
    bytes: u64,
}

/// Connections that each ask several times, and stay.
const KEPT: usize = 6;
const REQUESTS_OF_EACH: usize = 5;
/// Connections that ask once, and end.
const CLOSED: usize = 20;

#[test]
fn no_line_is_lost_at_the_end() {
    let site = Fixture::new();
    for flags in [&[][..], &["--processes", "2"]] {
        on_every(Program::Weir, |combination| {
            if !combination.takes(flags) {
                return;
            }
            let home = tempfile::tempdir().expect("a directory");
            let log = home.path().join("access.log");
            let mut server = start_with_log(combination, &site, &log, flags);
            let (mut expected, kept) = ask_all(combination, &server);
            server.signal(Signal::TERM);
            let status = server.ended(PATIENCE).and_then(|status| status.code());
            assert_eq!(status, Some(0), "{combination} {flags:?}: after draining");
            let mut found = lines(&log);
            // Which of two connections is written first is not said.
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{combination} {flags:?}");
            drop(kept);
        });
    }
}

#[test]
fn a_line_shows_while_nothing_else_happens() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let log = home.path().join("access.log");
        let flags = ["--idle-timeout-ms", "600000", "--head-timeout-ms", "600000"];
        let server = start_with_log(combination, &site, &log, &flags);
        let shows = |count, when: &str| {
            let shows = await_true(PATIENCE, || lines(&log).len() == count);
            assert!(shows, "{combination}: {when}: {} lines of {count}", lines(&log).len());
        };
        let mut kept = server.connect();
        ask(combination, &mut kept, "/digits.txt", "");
        shows(1, "on a connection that stays");
        ask(combination, &mut kept, "/digits.txt", "");
        shows(2, "on the same one again");
        let mut left = server.connect();
        ask(combination, &mut left, "/digits.txt", "");
        drop(left);
        shows(3, "on one that the client has closed");
        let mut closed = server.connect();
        ask(combination, &mut closed, "/digits.txt", "Connection: close\r\n");
        assert_eq!(closed.end(), Ok(()), "{combination}");
        shows(4, "on one that the server has closed");
        server.stop();
    });
}

#[test]
fn a_full_disk_costs_lines_and_no_replies() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination| {
        let server = start_with_log(combination, &site, Path::new("/dev/full"), &[]);
        let (_, kept) = ask_all(combination, &server);
        drop(kept);
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        server.stop();
    });
}

fn start_with_log(combination: &Combination, site: &Fixture, log: &Path, flags: &[&str]) -> Server {
    let log = log.to_str().expect("UTF-8");
    combination.start(&site.root(), &[&["--access-log", log], flags].concat())
}

/// Asks as often as the log shall have lines: those lines, and the connections that are still open.
fn ask_all(combination: &Combination, server: &Server) -> (Vec<Line>, Vec<Wire>) {
    let mut expected = Vec::new();
    let mut kept: Vec<Wire> = (0..KEPT).map(|_| server.connect()).collect();
    for turn in 0..REQUESTS_OF_EACH {
        for (at, wire) in kept.iter_mut().enumerate() {
            let target = format!("/digits.txt?kept={at}&turn={turn}");
            expected.push(ask(combination, wire, &target, ""));
        }
    }
    for at in 0..CLOSED {
        let target = format!("/digits.txt?closed={at}");
        let mut wire = server.connect();
        expected.push(ask(combination, &mut wire, &target, "Connection: close\r\n"));
    }
    (expected, kept)
}

/// One GET that is answered: the line that it is worth.
fn ask(combination: &Combination, wire: &mut Wire, target: &str, fields: &str) -> Line {
    let reply = wire.get(target, fields).and_then(|()| wire.reply(false));
    let (head, body) = reply.unwrap_or_else(|fault| panic!("{combination}: {target}: {fault}"));
    assert_eq!((head.status, &body[..]), (200, DIGITS), "{combination}: {target}");
    Line { request: format!("GET {target} HTTP/1.1"), status: 200, bytes: body.len() as u64 }
}

/// The lines of a log, each of which has to be whole.
fn lines(log: &Path) -> Vec<Line> {
    let text = fs::read_to_string(log).expect("a log in UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'), "half a line at the end of {text:?}");
    let line = |text| line(text).unwrap_or_else(|fault| panic!("{fault} in {text:?}"));
    text.lines().map(line).collect()
}

/// `127.0.0.1 - - [06/Nov/1994:08:49:37 +0000] "GET /1k.bin HTTP/1.1" 200 1024`
fn line(text: &str) -> Result<Line, &'static str> {
    let rest = text.strip_prefix("127.0.0.1 - - [").ok_or("no address and two dashes")?;
    let (date, rest) = rest.split_once("] \"").ok_or("no date in brackets")?;
    judge_date(date)?;
    let (request, rest) = rest.rsplit_once("\" ").ok_or("no request in quotes")?;
    let (status, bytes) = rest.split_once(' ').ok_or("not two numbers at the end")?;
    let status = status.parse().map_err(|_| "no status")?;
    let bytes = bytes.parse().map_err(|_| "no count of bytes")?;
    Ok(Line { request: request.to_owned(), status, bytes })
}

/// Digits, letters and signs are where they are in this one.
fn judge_date(date: &str) -> Result<(), &'static str> {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => b'0',
        byte if byte.is_ascii_alphabetic() => b'a',
        sign => sign,
    };
    let shape = |text: &str| text.bytes().map(kind).collect::<Vec<_>>();
    let is_one = shape(date) == shape("06/Nov/1994:08:49:37 +0000");
    if is_one { Ok(()) } else { Err("no date of the common log format") }
}
