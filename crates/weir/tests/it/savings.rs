//! What is saved on each reply can be turned off (JAWS97 3.2 and 4), and then is. That no reply is
//! another one without it, the table of dialogs shows.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::net::sockopt;
use rustix::process::{ForeignRawFd, Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use crate::support::chosen::on_mechanisms;
use crate::support::combination::{Combination, Program};
use crate::support::fixture::Fixture;
use crate::support::server::Server;
use crate::support::{PATIENCE, await_true};

/// Each by itself, because one may hide another: a head that is not kept is not given a new date.
#[test]
fn replies_are_the_same_without_one_of_them() {
    let site = Fixture::new();
    let rows: [&[&str]; 8] = [
        &["--head-cache", "off"],
        &["--date-cache", "off"],
        &["--gather", "off"],
        &["--nodelay", "off"],
        &["--send-buffer-kb", "4"],
        &["--cache-mb", "0"],
        &["--cache-locks", "1"],
        &["--cache-locks", "256"],
    ];
    let targets = [&TARGETS[..]; 3].concat();
    on_mechanisms(Program::Weir, |combination| check_replies(combination, &site, &rows, &targets));
}

/// Whatever the cache lets go, also where it is too small for the files; how a loop waits is all
/// one to it.
#[test]
fn replies_are_the_same_with_every_policy() {
    let site = Fixture::new();
    let rows: [&[&str]; 10] = [
        &["--cache-policy", "lru"],
        &["--cache-policy", "lfu"],
        &["--cache-policy", "hinted"],
        &["--cache-policy", "structured"],
        &["--cache-policy", "w-tinylfu", "--cache-files", "1"],
        &["--cache-policy", "s3-fifo", "--cache-files", "1"],
        &["--cache-policy", "s3-fifo", "--cache-files", "1", "--cache-locks", "1"],
        &["--cache-policy", "none"],
        &["--cache-policy", "s3-fifo", "--cache-locks", "entry"],
        &["--cache-policy", "sieve", "--cache-locks", "entry", "--cache-files", "1"],
    ];
    let targets = [&TARGETS[..], &TARGETS[1..], &TARGETS[1..]].concat();
    on_mechanisms(Program::Weir, |combination| {
        check_replies(combination, &site, &rows, &targets);
    });
}

/// The first is large.
const TARGETS: [&str; 4] = ["/large.bin", "/hundreds.bin", "/empty.txt", "/types/style.css"];

fn check_replies(combination: &Combination, site: &Fixture, rows: &[&[&str]], targets: &[&str]) {
    const CLIENTS: usize = 4;
    for flags in rows.iter().filter(|flags| combination.takes(flags)) {
        let server = combination.start(&site.root(), flags);
        let ask = || {
            let mut wire = server.connect();
            for target in targets {
                wire.get(target, "").expect("sent");
                let (head, body) = wire.reply(false).expect("a reply");
                assert_eq!(head.status, 200, "{combination} {flags:?}: {target}");
                let same = body == site.content(target);
                assert!(same, "{combination} {flags:?}: content of {target}");
            }
        };
        std::thread::scope(|scope| {
            (0..CLIENTS).for_each(|_| drop(scope.spawn(ask)));
        });
        server.stop();
    }
}

/// A reply in two segments is one where the second waits for word of the first (RFC 896), which a
/// client that sends requests delays: most often the head is there by itself.
#[test]
fn head_and_content_leave_together_or_not() {
    const REQUESTS: usize = 20;
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        // From memory, and from the file.
        for small_file_kb in ["32", "0"] {
            for (gather, parts) in [("on", false), ("off", true)] {
                let flags = ["--nodelay", "off", "--small-file-kb", small_file_kb];
                let flags = [&flags[..], &["--gather", gather]].concat();
                let server = combination.start(&site.root(), &flags);
                let mut stream = TcpStream::connect(server.address).expect("a connection");
                stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
                let mut alone = (0..REQUESTS).filter(|_| is_head_alone(&mut stream)).count();
                // On a slow machine the content is often there as well when the head is read. A
                // head that is sent with its content is never alone.
                let mut has_been_alone = || {
                    alone += usize::from(parts && is_head_alone(&mut stream));
                    alone > REQUESTS / 2
                };
                let is_alone = if parts {
                    await_true(PATIENCE, &mut has_been_alone)
                } else {
                    has_been_alone()
                };
                let told = format!("{combination} {flags:?}: {alone} of {REQUESTS} heads alone");
                assert_eq!(is_alone, parts, "{told}");
                server.stop();
            }
        }
    });
}

/// Asks once; whether what comes first is the head and nothing of the content.
fn is_head_alone(stream: &mut TcpStream) -> bool {
    const CONTENT_BYTES: usize = 310;
    sockopt::set_tcp_quickack(&*stream, false).expect("a TCP socket");
    stream.write_all(b"GET /hundreds.bin HTTP/1.1\r\nHost: weir.test\r\n\r\n").expect("sent");
    let mut buffer = [0; 4096];
    let first = stream.read(&mut buffer).expect("a reply");
    let head = buffer[..first].windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let mut left = head + CONTENT_BYTES - first;
    while left > 0 {
        let read = stream.read(&mut buffer[..left]).expect("content");
        assert!(read > 0, "FIN with {left} bytes due");
        left -= read;
    }
    first == head
}

/// Whatever the cache would have kept was changed since.
#[test]
fn without_a_cache_each_request_opens_its_file_anew() {
    on_mechanisms(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let root = home.path().join("root");
        fs::create_dir(&root).expect("a root");
        let server = combination.start(&root, &["--cache-mb", "0"]);
        for n in 0..10 {
            for (name, bytes) in [("small", 100), ("large", 100_000)] {
                let content = format!("{n}").repeat(bytes).into_bytes();
                // A file of its own each time, as deploys do it.
                fs::write(home.path().join(name), &content).expect("a file");
                fs::rename(home.path().join(name), root.join(name)).expect("in its place");
                let fetched = server.fetch(&format!("/{name}")).expect("served");
                assert!(fetched == content, "{combination}: {name} {n}");
            }
        }
        server.stop();
    });
}

/// Accepted connections inherit these: that they do is a test of `os`.
#[test]
fn the_listening_socket_is_as_the_knobs_say() {
    const KB: usize = 1 << 10;
    let new = TcpListener::bind("127.0.0.1:0").expect("a port");
    let auto = sockopt::socket_send_buffer_size(&new).expect("a socket");
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let rows: [(&[&str], bool, usize); 3] = [
            (&[], true, auto),
            (&["--nodelay", "off"], false, auto),
            (&["--send-buffer-kb", "16"], true, 32 * KB),
        ];
        for (flags, nodelay, bytes) in rows {
            let server = combination.start(&site.root(), flags);
            let Some(listener) = listener(&server) else {
                return harness::skip("needs the right to look into another process (ptrace)");
            };
            assert_eq!(sockopt::tcp_nodelay(&listener), Ok(nodelay), "{combination} {flags:?}");
            let told = sockopt::socket_send_buffer_size(&listener);
            assert_eq!(told, Ok(bytes), "{combination} {flags:?}");
            server.stop();
        }
    });
}

/// The server's own listening socket; nothing: the machine does not let us have it.
fn listener(server: &Server) -> Option<OwnedFd> {
    let pid = Pid::from_raw(server.pid().cast_signed()).expect("a process");
    let process = pidfd_open(pid, PidfdFlags::empty()).ok()?;
    let all = fs::read_dir(format!("/proc/{}/fd", server.pid())).ok()?;
    let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut sockets = numbers.filter_map(|number: ForeignRawFd| {
        let fd = pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok()?;
        Some(sockopt::socket_acceptconn(&fd).ok()?.then_some(fd))
    });
    sockets.find_map(|socket| socket)
}
