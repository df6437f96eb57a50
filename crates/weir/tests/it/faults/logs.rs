//! The access log: a line for every reply, soon, and never at the cost of a reply.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::{Map, Value};

use crate::support::chosen::{on_mechanisms, on_mechanisms_alone, on_mechanisms_where};
use crate::support::combination::{Combination, Program};
use crate::support::command::run;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::in_flight::{HUGE_BYTES, at_once, in_flight, site_with_a_huge_file};
use crate::support::processes::{self, workers_of};
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_some, await_true};

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
/// Clients while a log is rotated, and how often it is.
const CLIENTS: usize = 4;
const ROTATIONS: usize = 3;

#[test]
fn no_line_is_lost_at_the_end() {
    on_every_number_of_processes(|combination, mut server, log| {
        let (mut expected, kept) = ask_all(combination, &server);
        server.signal(Signal::TERM);
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}: after draining");
        check_lines(&mut expected, &[log.to_owned()], combination);
        drop(kept);
    });
}

/// A process for each connection has no thread beside for its log.
#[test]
fn a_process_of_one_connection_writes_its_lines_itself() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        if combination.row["holder"] != "process" {
            return;
        }
        let home = tempfile::tempdir().expect("a directory");
        let log = home.path().join("access.log");
        let server = start_with_log(combination, &site, &log, &[]);
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        assert!(await_true(PATIENCE, || lines(&log).len() == 1), "{combination}: no line");
        for worker in workers_of(server.pid()) {
            let threads = processes::threads(worker);
            assert_eq!(threads.len(), 1, "{combination}: {threads:?}");
        }
        server.stop();
    });
}

#[test]
fn a_line_shows_while_nothing_else_happens() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
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

/// Who rotates gives the file another name and sends SIGUSR1.
#[test]
fn a_rotation_under_load_loses_no_line() {
    on_every_number_of_processes(|combination, server, log| {
        let mut files = vec![log.to_owned()];
        let mut expected = under_load(combination, &server, || {
            let await_lines = |turn| {
                // Who reads while it is written may see half a line.
                let has_lines = || fs::metadata(log).is_ok_and(|file| file.len() > 0);
                let shows = await_true(PATIENCE, has_lines);
                assert!(shows, "{combination}: no lines in file {turn}");
            };
            for turn in 0..ROTATIONS {
                await_lines(turn);
                files.push(log.with_extension(turn.to_string()));
                fs::rename(log, &files[turn + 1]).expect("another name");
                server.signal(Signal::USR1);
            }
            // The last signal may still be on its way, and then no file has that name.
            await_lines(ROTATIONS);
        });
        server.stop();
        check_lines(&mut expected, &files, combination);
    });
}

/// Serves with a log of its own in each way, by as many processes as it has by itself, and by two
/// where that can be, or by as many as there are clients at once.
fn on_every_number_of_processes(test: impl Fn(&Combination, Server, &Path) + Sync) {
    let site = Fixture::new();
    for flags in [&[][..], &["--processes", "2"]] {
        let takes = |combination: &Combination| combination.takes(flags);
        on_mechanisms_where(Program::Weir, takes, |combination| {
            let is_each = combination.row["holder"] == "process" && !flags.is_empty();
            let flags = if is_each { &["--processes", "16"] } else { flags };
            let home = tempfile::tempdir().expect("a directory");
            let log = home.path().join("access.log");
            test(combination, start_with_log(combination, &site, &log, flags), &log);
        });
    }
}

/// Which of two connections is written first is not said.
fn check_lines(expected: &mut [Line], files: &[PathBuf], combination: &Combination) {
    let mut found: Vec<Line> = files.iter().flat_map(|file| lines(file)).collect();
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found.len(), expected.len(), "{combination}");
    assert_eq!(found, expected, "{combination}");
}

#[test]
fn to_open_logs_again_does_not_cut_a_drain_short() {
    let site = site_with_a_huge_file();
    on_mechanisms(Program::Weir, |combination| {
        let mut server = combination.start(&site.root(), &["--drain-timeout-ms", "600000"]);
        let mut clients = in_flight(&server, 2);
        server.signal(Signal::TERM);
        server.await_line("draining");
        server.signal(Signal::USR1);
        for rest in at_once(&mut clients, Wire::rest) {
            assert_eq!(rest, Ok(HUGE_BYTES), "{combination}");
        }
        let status = server.ended(PATIENCE).and_then(|status| status.code());
        assert_eq!(status, Some(0), "{combination}");
    });
}

/// Every line that is lost is told of, and nothing else is lost.
#[test]
fn a_full_disk_costs_lines_and_no_replies() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let errors = home.path().join("error.log");
        let flags = ["--error-log", errors.to_str().expect("UTF-8")];
        let server = start_with_log(combination, &site, Path::new("/dev/full"), &flags);
        let (asked, kept) = ask_all(combination, &server);
        drop(kept);
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        server.stop();
        let told = match combination.row["holder"].as_str() {
            // Each writes its own lines.
            Some("process") => told(&errors, ": access log /dev/full has lost "),
            _ => told(&errors, "error worker 0: access log /dev/full has lost "),
        };
        let lost = told.iter().filter_map(|line| line.split(' ').next()?.parse::<usize>().ok());
        assert_eq!(lost.sum::<usize>(), asked.len() + 1, "{combination}: {told:?}");
    });
}

#[test]
fn an_error_log_on_a_full_disk_costs_no_replies() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let flags = ["--error-log", "/dev/full", "--log-level", "debug"];
        let server = start_with_log(combination, &site, Path::new("/dev/full"), &flags);
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        server.stop();
    });
}

#[test]
fn a_log_whose_path_became_a_directory_stays_in_its_file() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let (server, log, errors) = start_with_logs(combination, &site, home.path());
        let moved = home.path().join("moved");
        let mut wire = server.connect();
        let mut expected = vec![ask(combination, &mut wire, "/digits.txt?before", "")];
        fs::rename(&log, &moved).expect("another name");
        fs::create_dir(&log).expect("a directory in its place");
        server.signal(Signal::USR1);
        // The supervisor may take its time to pass the order on.
        let is_told = await_true(PATIENCE, || {
            expected.push(ask(combination, &mut wire, "/digits.txt?after", ""));
            !told(&errors, "warn worker 0: access log ").is_empty()
        });
        assert!(is_told, "{combination}");
        drop(wire);
        server.stop();
        let told = told(&errors, "warn worker 0: access log ");
        assert_eq!(told.len(), 1, "{combination}: {told:?}");
        assert!(told[0].contains("cannot be opened again"), "{combination}: {told:?}");
        assert_eq!(lines(&moved), expected, "{combination}");
    });
}

/// A worker that starts and finds no file to write serves, and writes when it can.
#[test]
fn a_worker_that_cannot_open_its_log_serves() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let (mut server, log, errors) = start_with_logs(combination, &site, home.path());
        let worker = await_some(PATIENCE, || workers_of(server.pid()).first().copied());
        let is_replaced = || fs::remove_file(&log).is_ok() && fs::create_dir(&log).is_ok();
        assert!(await_true(PATIENCE, is_replaced), "{combination}: no directory in its place");
        send(worker.expect("a worker"), Signal::KILL);
        server.await_line("started again");
        let lost = "error worker 0: access log ";
        let is_told = await_true(PATIENCE, || {
            server.fetch("/digits.txt").is_ok() && !told(&errors, lost).is_empty()
        });
        assert!(is_told, "{combination}: {:?}", fs::read_to_string(&errors));
        fs::remove_dir(&log).expect("removed");
        let is_written = await_true(PATIENCE, || {
            // Who reads while it is written may see half a line.
            let has_lines = || fs::metadata(&log).is_ok_and(|file| file.len() > 0);
            server.fetch("/digits.txt").is_ok() && has_lines()
        });
        assert!(is_written, "{combination}");
        server.stop();
        assert!(!lines(&log).is_empty(), "{combination}");
    });
}

/// What the server says goes where nobody reads any more, and there is no room for it.
#[test]
fn whoever_does_not_read_what_is_said_holds_nothing_up() {
    let site = Fixture::new();
    let place = site.beside("socket");
    let (_reader, mut pipe) = std::io::pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&pipe, true).expect("not to wait");
    while pipe.write(&[b'x'; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&pipe, false).expect("to wait");
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").arg(site.root()).args(["--admin", "off", "--listen"]);
    let child = command.arg(format!("unix:{}", place.display())).stdout(pipe).spawn();
    let mut child = harness::KilledOnDrop(child.expect("the binary"));
    let mut client = await_some(PATIENCE, || UnixStream::connect(&place).ok()).expect("it listens");
    client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    client.write_all(b"GET /digits.txt HTTP/1.0\r\n\r\n").expect("sent");
    let mut reply = Vec::new();
    let got = client.read_to_end(&mut reply);
    send(child.0.id(), Signal::TERM);
    assert_eq!(harness::await_end(&mut child.0).code(), Some(0), "{got:?}");
    assert!(reply.ends_with(DIGITS), "{got:?}: {}", reply.escape_ascii());
}

/// A pipe that was read when it was opened, and is full since.
#[test]
fn whoever_does_not_read_the_log_holds_nothing_up() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let pipe = home.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a FIFO");
        // On Linux that opens both ends, and waits for neither.
        let mut both = File::options().read(true).write(true).open(&pipe).expect("both ends");
        rustix::io::ioctl_fionbio(&both, true).expect("not to wait");
        let server = start_with_log(combination, &site, &pipe, &[]);
        while both.write(&[b'x'; 4096]).is_ok() {}
        let mut kept = server.connect();
        for _ in 0..8 {
            ask(combination, &mut kept, "/digits.txt", "");
            assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        }
        drop(both);
        server.stop();
    });
}

/// Opening it would wait for the reader, and nobody else would be served meanwhile.
#[test]
fn a_pipe_that_nobody_reads_is_no_log() {
    let site = Fixture::new();
    let home = tempfile::tempdir().expect("a directory");
    let pipe = home.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a FIFO");
    for flag in ["--access-log", "--error-log"] {
        let mut command = Command::new(Program::Weir.path());
        command.arg("serve").arg(site.root()).args(["--listen", "127.0.0.1:0", "--admin", "off"]);
        let (code, _, errors) = run(command.arg(flag).arg(&pipe)).expect("the binary runs");
        assert_eq!((code, errors.lines().count()), (Some(2), 1), "{errors}");
        assert!(errors.contains(flag), "{errors}");
    }
}

/// Whatever comes in a head, in order or not, a reply is one line of printable ASCII.
#[test]
fn no_client_forges_a_line() {
    let site = Fixture::new();
    let heads: &[(&[u8], u16)] = &[
        (b"GET /digits.txt HTTP/1.1\r\nHost: a\r\nUser-Agent: x\" 200 1\\\xff\x9b\r\n\r\n", 200),
        (b"GET /digits.txt HTTP/1.1\r\nHost: a\r\nReferer: \",\"status\":1,\"x\":\"\r\n\r\n", 200),
        (b"GET /\x1b[2J\" HTTP/1.1\r\nHost: a\r\nUser-Agent: \x1b[31m\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: \x07\x00\r\nReferer: a\rb\r\n\r\n", 400),
        (b"\x16\x03\x01 \x02\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: a\nUser-Agent: b\n10.0.0.1 - - []\n\n", 400),
    ];
    for format in ["common", "combined", "json"] {
        on_mechanisms(Program::Weir, |combination| {
            let home = tempfile::tempdir().expect("a directory");
            let log = home.path().join("access.log");
            let server = start_with_log(combination, &site, &log, &["--log-format", format]);
            for (head, status) in heads {
                let mut wire = server.connect();
                wire.send(head).expect("sent");
                let got = wire.reply(false).map(|(head, _)| head.status);
                assert_eq!(got, Ok(*status), "{combination}: {}", head.escape_ascii());
            }
            server.stop();
            let text = fs::read_to_string(&log).expect("a log in UTF-8");
            assert_eq!(text.lines().count(), heads.len(), "{combination}: {text}");
            let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) || byte == b'\n';
            assert!(text.bytes().all(is_plain), "{combination}: {text:?}");
            if format == "json" {
                let mut expected: Vec<u16> = heads.iter().map(|(_, status)| *status).collect();
                let mut found: Vec<u16> = text.lines().map(status_of).collect();
                // Which of two connections is written first is not said.
                expected.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, expected, "{combination}: {text}");
            }
        });
    }
}

/// What an object with the members of such a line says.
fn status_of(line: &str) -> u16 {
    let object: Map<String, Value> = serde_json::from_str(line).expect("an object");
    assert_eq!(object.len(), 11, "{line}");
    object["status"].as_u64().and_then(|status| status.try_into().ok()).expect("a status")
}

#[test]
fn an_error_log_is_opened_again() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let (server, _, errors) = start_with_logs(combination, &site, home.path());
        let moved = home.path().join("moved");
        let is_ready = "info worker 0: serves as process ";
        assert!(await_true(PATIENCE, || told(&errors, is_ready).len() == 1), "{combination}");
        fs::rename(&errors, &moved).expect("another name");
        server.signal(Signal::USR1);
        // Whoever ends says so in the file that was made since.
        server.stop();
        assert_eq!(told(&errors, "info worker 0: has drained").len(), 1, "{combination}");
        assert_eq!(told(&moved, "info worker 0: ").len(), 1, "{combination}");
    });
}

/// What the lines of an error log say behind `what`.
fn told(errors: &Path, what: &str) -> Vec<String> {
    let text = fs::read_to_string(errors).expect("a log in UTF-8");
    let said = text.lines().filter_map(|line| Some(line.split_once(what)?.1.to_owned()));
    said.collect()
}

/// Clients ask until `done` has returned: the lines that it is worth.
fn under_load(combination: &Combination, server: &Server, done: impl FnOnce()) -> Vec<Line> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = &over;
        let client = |client| {
            move || {
                let mut wire = server.connect();
                let asks = (0..).take_while(|_| !over.load(Ordering::Relaxed));
                let target = |turn: u32| format!("/digits.txt?client={client}&turn={turn}");
                asks.map(|turn| ask(combination, &mut wire, &target(turn), "")).collect::<Vec<_>>()
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(client(n))).collect();
        let end = Over(over);
        done();
        drop(end);
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    })
}

/// Ends the clients also when the test has failed.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn start_with_log(combination: &Combination, site: &Fixture, log: &Path, flags: &[&str]) -> Server {
    let log = log.to_str().expect("UTF-8");
    combination.start(&site.root(), &[&["--access-log", log], flags].concat())
}

/// With an access log and an error log in `home`, and where they are.
fn start_with_logs(
    combination: &Combination,
    site: &Fixture,
    home: &Path,
) -> (Server, PathBuf, PathBuf) {
    let [log, errors] = ["access.log", "error.log"].map(|name| home.join(name));
    let flags = ["--error-log", errors.to_str().expect("UTF-8"), "--processes", "1"];
    // Where each writes its own lines it is to be known who does.
    let flags = if combination.row["holder"] == "process" { &flags[..] } else { &flags[..2] };
    (start_with_log(combination, site, &log, flags), log, errors)
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
    let last = text.lines().next_back();
    assert!(text.is_empty() || text.ends_with('\n'), "half a line at the end: {last:?}");
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
