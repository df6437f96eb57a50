//! Logs to what was inherited: a pipe, a file, the socket of a service manager.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::support::chosen::on_mechanisms;
use crate::support::combination::{Combination, Program, combinations};
use crate::support::command::await_input;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::home::Home;
use crate::support::metrics::counted;
use crate::support::server::{address, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};
use harness::{KilledOnDrop, await_end};

/// A server whose standard output and error output are ours to choose.
struct Process(KilledOnDrop);

impl Process {
    fn start(mut command: Command, out: impl Into<Stdio>, errors: impl Into<Stdio>) -> Self {
        let command = command.stdin(Stdio::null()).stdout(out).stderr(errors);
        Self(KilledOnDrop(command.spawn().expect("the binary")))
    }

    fn stop(mut self) {
        send(self.0.0.id(), Signal::TERM);
        assert_eq!(await_end(&mut self.0.0).code(), Some(0));
    }
}

/// The next line that has it, and the address in it.
fn line_with(lines: &mut BufReader<impl Read + AsFd>, what: &str) -> (String, Option<SocketAddr>) {
    let mut line = String::new();
    while !line.contains(what) {
        line.clear();
        assert!(await_input(lines), "no {what:?} within {PATIENCE:?}");
        assert!(lines.read_line(&mut line).expect("UTF-8") > 0, "it ended before {what:?}");
    }
    let address = address(&line);
    (line, address)
}

fn asks(address: SocketAddr, target: &str) {
    let mut wire = Wire::connect(address, 0).expect("a connection");
    wire.get(target, "Connection: close\r\n").expect("sent");
    let (head, body) = wire.reply(false).expect("a reply");
    assert_eq!((head.status, &body[..]), (200, DIGITS));
}

const DIGITS_LINE: &str = "\"GET /digits.txt HTTP/1.1\" 200 36";

/// As systemd's journal gives it.
#[test]
fn a_socket_has_a_line_for_each_reply() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        for to in ["stdout", "-"] {
            let (ours, its) = UnixStream::pair().expect("a pair");
            ours.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            let command = combination.command(&site.root(), &["--access-log", to]);
            let process = Process::start(command, OwnedFd::from(its), Stdio::null());
            let mut lines = BufReader::new(ours);
            let address = line_with(&mut lines, "listening on").1.expect("an address");
            for _ in 0..3 {
                asks(address, "/digits.txt");
            }
            for _ in 0..3 {
                let (line, _) = line_with(&mut lines, "HTTP/1.1");
                assert!(
                    line.starts_with("127.0.0.1 - - [") && line.contains(DIGITS_LINE),
                    "{line}"
                );
            }
            process.stop();
        }
    });
}

#[test]
fn the_error_output_has_them_too() {
    let site = Fixture::new();
    let (read, write) = std::io::pipe().expect("a pipe");
    let (errors, its) = std::io::pipe().expect("a pipe");
    let command = combinations(Program::Weir)[0]
        .command(&site.root(), &["--access-log", "stderr", "--log-level", "error"]);
    let process = Process::start(command, write, its);
    let address = line_with(&mut BufReader::new(read), "listening on").1.expect("an address");
    asks(address, "/digits.txt");
    line_with(&mut BufReader::new(errors), DIGITS_LINE);
    process.stop();
}

/// What the supervisor says and what the log has go to one place, and neither is written over.
#[test]
fn a_file_keeps_what_others_write_to_it() {
    let home = Home::new(Fixture::new());
    let combination = &combinations(Program::Weir)[0];
    home.configure(combination, "listen = \"127.0.0.1:0\"\n");
    let place = home.site.beside("out");
    let out = File::create(&place).expect("a file");
    let mut command = Command::new(Program::Weir.path());
    command.args(["serve", "--access-log", "stdout", "--config"]).arg(home.path("weir.toml"));
    let process = Process::start(command, out.try_clone().expect("it again"), out);
    let has = |what: &str, times: usize| {
        let text = || fs::read_to_string(&place).expect("UTF-8");
        let has = await_true(PATIENCE, || text().matches(what).count() == times);
        assert!(has, "{what:?} not {times} times: {}", text());
    };
    has("weir: serving /", 1);
    let text = fs::read_to_string(&place).expect("UTF-8");
    let address = address(&text).expect("an address");
    for times in 1..=2 {
        asks(address, "/digits.txt");
        has(DIGITS_LINE, times);
        send(process.0.0.id(), Signal::HUP);
        has("retires", times);
    }
    process.stop();
    has(DIGITS_LINE, 2);
    has("weir: listening on", 1);
    has("info supervisor: stopped: ", 1);
}

/// Also by the program that takes over.
#[test]
fn another_program_writes_there_too() {
    let home = Home::new(Fixture::new());
    let combination = &combinations(Program::Weir)[0];
    home.configure(combination, "listen = \"127.0.0.1:0\"\naccess-log = \"stdout\"\n");
    let (read, write) = std::io::pipe().expect("a pipe");
    let mut command = Command::new(home.binary());
    command.args(["serve", "--config"]).arg(home.path("weir.toml"));
    let errors = write.try_clone().expect("it again");
    let mut process = Process::start(command, write, errors);
    let mut lines = BufReader::new(read);
    let address = line_with(&mut lines, "listening on").1.expect("an address");
    asks(address, "/digits.txt");
    line_with(&mut lines, DIGITS_LINE);
    send(process.0.0.id(), Signal::USR2);
    let (line, _) = line_with(&mut lines, "this one retires");
    let new = line.split_once("process ").and_then(|(_, rest)| rest.split(' ').next());
    let new: u32 = new.expect("its number").parse().expect("a number");
    assert_eq!(await_end(&mut process.0.0).code(), Some(0));
    asks(address, "/digits.txt");
    line_with(&mut lines, DIGITS_LINE);
    send(new, Signal::TERM);
    line_with(&mut lines, "stopped: ");
}

/// Lines are lost, and counted; the site is served on, and ends when it is told to.
#[test]
fn who_does_not_read_costs_lines_and_no_replies() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination: &Combination| {
        for is_closed in [true, false] {
            let home = tempfile::tempdir().expect("a directory");
            let errors = home.path().join("error.log");
            let flags = ["--access-log", "stdout", "--admin", "127.0.0.1:0", "--error-log"];
            let flags = [&flags[..], &[errors.to_str().expect("UTF-8")]].concat();
            let (read, write) = std::io::pipe().expect("a pipe");
            let process =
                Process::start(combination.command(&site.root(), &flags), write, Stdio::null());
            let mut lines = BufReader::new(read);
            let address = line_with(&mut lines, "listening on").1.expect("an address");
            let admin = line_with(&mut lines, "admin page on").1.expect("an address");
            // More than a pipe holds.
            let long = format!("/digits.txt?{}", "x".repeat(3000));
            let read = if is_closed { None } else { Some(lines) };
            let is_lost = await_true(PATIENCE, || {
                (0..40).for_each(|_| asks(address, &long));
                counted(admin, "log_drops") > 0.0
            });
            assert!(is_lost, "{combination}, closed {is_closed}");
            asks(address, "/digits.txt");
            let told = || fs::read_to_string(&errors).expect("a log");
            let lost = ": access log stdout has lost ";
            assert!(await_true(PATIENCE, || told().contains(lost)), "{combination}: {}", told());
            process.stop();
            drop(read);
        }
    });
}

/// What was asked for while it serves is in the error log, with its time.
#[test]
fn a_reload_that_is_refused_is_in_the_error_log() {
    let home = Home::new(Fixture::new());
    let combination = &combinations(Program::Weir)[0];
    let errors = home.site.beside("error.log");
    home.configure(combination, &format!("listen = \"127.0.0.1:0\"\nerror-log = {errors:?}\n"));
    let mut server = home.serve(&home.binary());
    fs::write(home.path("weir.toml"), "bogus = 1\n").expect("written");
    server.signal(Signal::HUP);
    // Where the log is a file it is said as well.
    server.await_line("not reloaded: ");
    fs::remove_file(home.path("weir")).expect("removed");
    server.signal(Signal::USR2);
    server.await_line("not upgraded: ");
    home.configure(combination, &format!("listen = \"127.0.0.1:0\"\nerror-log = {errors:?}\n"));
    server.signal(Signal::HUP);
    server.await_line("generation 2 serves, 1 retires");
    server.stop();
    let mut text = String::new();
    File::open(&errors).expect("a log").read_to_string(&mut text).expect("UTF-8");
    for part in [
        "Z error supervisor: not reloaded: ",
        "bogus: no such key",
        "Z error supervisor: not upgraded: ",
        "Z info supervisor: generation 2 serves, 1 retires",
        "Z info supervisor: draining for at most 600 s",
        "Z info supervisor: stopped: ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
