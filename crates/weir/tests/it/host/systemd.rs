//! A service manager: what it hears, and the sockets that it hands over.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::support::chosen::on_mechanisms;
use crate::support::combination::Program;
use crate::support::fixture::{DIGITS, Fixture, no_settings};
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};
use harness::{KilledOnDrop, await_end};

/// The next word that a manager hears; what stands in further lines is for itself.
fn hears(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 256];
    let n = socket.recv(&mut buffer).expect("a word in time");
    let text = str::from_utf8(&buffer[..n]).expect("UTF-8");
    if text.starts_with("RELOADING=1\n") {
        let at = text.split_once("MONOTONIC_USEC=").map(|(_, at)| at.parse::<u64>());
        assert!(matches!(at, Some(Ok(1..))), "{text}");
    }
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_manager_hears_of_start_reload_and_stop() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let home = tempfile::tempdir().expect("a directory");
        let place = home.path().join("notify");
        let socket = UnixDatagram::bind(&place).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        // An hour: what it hears of the end it hears before the drain.
        let settings = no_settings(home.path());
        let flags = ["--drain-delay-ms", "3600000", "--config", &settings];
        let mut command = combination.command(&site.root(), &flags);
        command.env("NOTIFY_SOCKET", &place);
        let server = Server::start(command, 0);
        assert_eq!(hears(&socket), "READY=1", "{combination}");
        assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS), "{combination}");
        server.signal(Signal::HUP);
        assert_eq!(hears(&socket), "RELOADING=1", "{combination}");
        assert_eq!(hears(&socket), "READY=1", "{combination}");
        server.signal(Signal::TERM);
        assert_eq!(hears(&socket), "STOPPING=1", "{combination}");
        server.stop();
    });
}

/// The program that takes over has the manager's socket too, and the manager hears who it is.
#[test]
fn a_manager_follows_another_program() {
    let site = Fixture::new();
    let home = tempfile::tempdir().expect("a directory");
    let place = home.path().join("notify");
    let socket = UnixDatagram::bind(&place).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let mut command = activated(listener.try_clone().expect("a descriptor"), &site.root());
    let child = command.env("NOTIFY_SOCKET", &place).spawn().expect("a shell");
    let mut child = KilledOnDrop(child);
    assert_eq!(hears(&socket), "READY=1");
    send(child.0.id(), Signal::USR2);
    let mut words = [hears(&socket), hears(&socket)];
    words.sort_unstable();
    assert_eq!(words[1], "READY=1", "of the one that takes over: {words:?}");
    let pid = words[0].strip_prefix("MAINPID=").expect("its number").parse().expect("a number");
    assert_eq!(await_end(&mut child.0).code(), Some(0));
    assert_eq!(fetches(address), DIGITS);
    send(pid, Signal::TERM);
    assert_eq!(hears(&socket), "STOPPING=1");
    let gone = || !Path::new(&format!("/proc/{pid}/fd/0")).exists();
    assert!(await_true(PATIENCE, gone), "it ends");
    assert!(std::net::TcpStream::connect(address).is_ok(), "the manager goes on listening");
}

fn fetches(from: SocketAddr) -> Vec<u8> {
    let mut wire = Wire::connect(from, 0).expect("a connection");
    wire.get("/digits.txt", "Connection: close\r\n").expect("sent");
    let (head, body) = wire.reply(false).expect("a reply");
    assert_eq!(head.status, 200);
    body
}

#[test]
fn a_manager_that_is_not_there_is_no_reason_not_to_serve() {
    let site = Fixture::new();
    let mut command = Command::new(Program::Weir.path());
    command.arg("serve").arg(site.root()).args(["--listen", "127.0.0.1:0"]);
    command.env("NOTIFY_SOCKET", "/no/such/socket");
    let server = Server::start(command, 0);
    assert_eq!(server.fetch("/digits.txt").as_deref(), Ok(DIGITS));
    server.stop();
}

#[test]
fn a_socket_that_was_handed_over_is_served_and_outlives_the_server() {
    let site = Fixture::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    for _ in 0..2 {
        let handed = listener.try_clone().expect("a descriptor");
        let mut command = activated(handed, &site.root());
        // Not by `Server`, which takes the standard input for itself.
        let child = command.stdout(Stdio::piped()).spawn().expect("a shell");
        let mut child = KilledOnDrop(child);
        assert_eq!(fetches(address), DIGITS);
        send(child.0.id(), Signal::TERM);
        assert_eq!(await_end(&mut child.0).code(), Some(0));
    }
}

/// The server with `handed` as descriptor 3, as a manager hands it over.
fn activated(handed: TcpListener, root: &Path) -> Command {
    let mut shell = Command::new("sh");
    let start = "exec 3<&0 </dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" serve \"$1\"";
    shell.args(["-c", start]).arg(Program::Weir.path()).arg(root);
    shell.stdin(Stdio::from(OwnedFd::from(handed)));
    shell
}
