//! The file of a Unix socket: who may connect, and when it goes.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use rustix::process::{Signal, getegid};

use crate::support::combination::{Program, combinations};
use crate::support::command::run;
use crate::support::fixture::{DIGITS, Fixture};
use crate::support::home::Home;
use crate::support::processes::is_there;
use crate::support::server::{Server, send};
use crate::support::wire::Wire;
use crate::support::{PATIENCE, await_true};

/// The settings of a server at that path, with these options.
fn listen(home: &Home, place: &str, options: &str) -> String {
    let at = format!("unix:{}{options}", home.path(place).display());
    format!("listen = [\"127.0.0.1:0\", {at:?}]\n")
}

fn configure(home: &Home, settings: &str) {
    home.configure(&combinations(Program::Weir)[0], settings);
}

/// A server whose worker is there.
fn serve(home: &Home) -> Server {
    let mut server = home.serve(&Program::Weir.path());
    server.await_line("serves as process");
    server
}

/// Returns the process of the next program, when the one before it has ended.
fn upgrade(server: &mut Server) -> u32 {
    server.signal(Signal::USR2);
    let next = server.await_next();
    assert!(server.ended(PATIENCE).is_some(), "the old program stays");
    next
}

fn end(next: u32) {
    send(next, Signal::TERM);
    assert!(await_true(PATIENCE, || !is_there(next)), "the new program stays");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).expect("a file").ino()
}

fn check_serves(path: &Path) {
    let mut wire = Wire::connect_unix(path).expect("a connection");
    wire.get("/digits.txt", "Connection: close\r\n").expect("sent");
    assert_eq!(wire.reply(false).expect("a reply").1, DIGITS);
}

#[test]
fn a_socket_file_has_the_mode_and_group_it_is_asked_for() {
    let group = getegid().as_raw().to_string();
    let of_group = format!(",mode=0660,group={group}");
    for (options, expected) in [("", 0o666), (",mode=0600", 0o600), (&of_group, 0o660)] {
        let home = Home::new(Fixture::small());
        let admin = format!("admin = \"unix:{}{options}\"\n", home.path("admin").display());
        configure(&home, &(listen(&home, "site", options) + &admin));
        let mut command = Command::new("sh");
        command.args(["-c", "umask 077; exec \"$@\"", "sh"]).arg(Program::Weir.path());
        command.args(["serve", "--config"]).arg(home.path("weir.toml"));
        let mut server = Server::start(command, 0);
        server.await_line("admin page on unix:");
        let paths = ["site", "admin"].map(|name| home.path(name));
        for path in &paths {
            assert_eq!(mode(path), expected, "{path:?} {options}");
            assert_eq!(fs::metadata(path).expect("a file").gid().to_string(), group);
        }
        check_serves(&paths[0]);
        server.stop();
        assert!(!paths.iter().any(|path| path.exists()), "{options}: a file stays");
    }
}

#[test]
fn a_group_that_does_not_exist_is_refused() {
    let home = Home::new(Fixture::new());
    configure(&home, &listen(&home, "site", ",group=no such"));
    for verb in [&["check"][..], &["serve", "--config"]] {
        let mut command = Command::new(Program::Weir.path());
        command.args(verb).arg(home.path("weir.toml"));
        let (code, _, said) = run(&mut command).expect("weir");
        assert!(code != Some(0) && said.contains("/etc/group has no group no such"), "{said}");
        assert!(!home.path("site").exists(), "{verb:?}: a file stays");
    }
}

#[test]
fn a_socket_file_stays_while_a_server_serves_in_its_place() {
    let home = Home::new(Fixture::new());
    let path = home.path("site");
    configure(&home, &listen(&home, "site", ""));
    let mut server = serve(&home);
    let first = inode(&path);
    let check = |expected: u32, when: &str| {
        assert_eq!((inode(&path), mode(&path)), (first, expected), "after {when}");
        check_serves(&path);
    };
    configure(&home, &listen(&home, "site", ",mode=0600"));
    server.signal(Signal::HUP);
    server.await_line("retires");
    assert!(await_true(PATIENCE, || mode(&path) == 0o600), "after a reload");
    check(0o600, "a reload");
    configure(&home, &listen(&home, "site", ",mode=0640"));
    let next = upgrade(&mut server);
    assert!(await_true(PATIENCE, || mode(&path) == 0o640), "after an upgrade");
    check(0o640, "an upgrade");
    end(next);
    assert!(!path.exists(), "its file stays");
}

#[test]
fn a_socket_file_goes_when_its_address_is_left_out() {
    let home = Home::new(Fixture::new());
    let [one, two] = ["one", "two"].map(|name| home.path(name));
    let both = |name: &str| listen(&home, name, "");
    configure(&home, &both("one"));
    let mut server = serve(&home);
    configure(&home, &both("two"));
    server.signal(Signal::HUP);
    server.await_line("retires");
    assert!(await_true(PATIENCE, || !one.exists()), "after a reload");
    check_serves(&two);
    configure(&home, &both("one"));
    let next = upgrade(&mut server);
    assert!(await_true(PATIENCE, || !two.exists()), "after an upgrade");
    check_serves(&one);
    end(next);
}

/// Another program has its name by the time of an upgrade, and its address is left out then.
#[test]
fn a_socket_file_that_another_made_survives_an_upgrade() {
    let home = Home::new(Fixture::new());
    let path = home.path("site");
    configure(&home, &listen(&home, "site", ""));
    let mut server = serve(&home);
    fs::remove_file(&path).expect("removed");
    let _another = UnixListener::bind(&path).expect("another");
    let before = (inode(&path), mode(&path));
    configure(&home, &listen(&home, "other", ""));
    let next = upgrade(&mut server);
    end(next);
    assert_eq!((inode(&path), mode(&path)), before);
}

#[test]
fn a_socket_file_stays_closed_where_a_reload_fails() {
    let home = Home::new(Fixture::new());
    let path = home.path("site");
    configure(&home, &listen(&home, "site", ",mode=0600"));
    let mut server = serve(&home);
    let trace = format!("trace = {:?}\n", home.path("no/trace"));
    configure(&home, &(listen(&home, "site", "") + &trace));
    server.signal(Signal::HUP);
    server.await_line("not reloaded");
    assert_eq!(mode(&path), 0o600);
    server.stop();
}

#[test]
fn a_socket_file_goes_where_a_start_fails() {
    let home = Home::new(Fixture::new());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("an address").to_string();
    let site = format!("unix:{}", home.path("site").display());
    let admin = format!("admin = \"unix:{}\"\n", home.path("admin").display());
    let text = format!("listen = [{site:?}, {taken:?}]\n{admin}");
    configure(&home, &text);
    let mut command = Command::new(Program::Weir.path());
    command.args(["serve", "--config"]).arg(home.path("weir.toml"));
    let (code, _, said) = run(&mut command).expect("weir");
    assert!(code != Some(0) && said.contains(&taken), "{said}");
    assert!(!home.path("site").exists() && !home.path("admin").exists(), "a file stays");
}

#[test]
fn a_socket_file_that_another_made_stays() {
    let home = Home::new(Fixture::new());
    let path = home.path("site");
    configure(&home, &listen(&home, "site", ""));
    let server = serve(&home);
    fs::remove_file(&path).expect("removed");
    let _another = UnixListener::bind(&path).expect("another");
    server.stop();
    assert!(path.exists());
}
