//! Files that change while they are sent, and after.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use crate::support::chosen::{on_mechanisms, on_mechanisms_alone, on_mechanisms_where};
use crate::support::combination::{Combination, Program};
use crate::support::fixture::{Fixture, pattern};
use crate::support::rights;
use crate::support::server::Server;
use crate::support::users::as_nobody;
use crate::support::{PATIENCE, await_true};

const BYTES: usize = 48 << 20;

/// The announced second after which a server compares an answer with the disk again.
const SECOND: Duration = Duration::from_secs(1);

/// How often an answer may still be the old one, each time that such an age has passed. Ages are
/// counted, and not the time, because a slow machine takes longer for a request.
const AGES_MAX: usize = 5;

/// Whether a change shows before so many ages are over.
fn shows_after(age: Duration, mut shows: impl FnMut() -> bool) -> bool {
    let waits = || std::thread::sleep(age);
    shows()
        || (0..AGES_MAX).any(|_| {
            waits();
            shows()
        })
}

#[test]
fn a_file_that_shrinks_while_sent_is_never_passed_off_as_complete() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let path = own(&site, combination, "shrinks.bin");
        File::create(&path).expect("a file").set_len(BYTES as u64).expect("its length");
        let server = combination.start(&site.root(), &[]);
        let mut wire = server.connect();
        wire.get(&target(combination, "shrinks.bin"), "").expect("sent");
        assert_eq!(wire.head().expect("a head").length(), Ok(BYTES));
        wire.bytes(1 << 20).expect("the first bytes");
        let file = File::options().write(true).open(&path).expect("the file");
        file.set_len(1 << 20).expect("cut off");
        // By FIN or by reset, but before the announced length, and not by being forgotten.
        match wire.rest() {
            Ok(more) => assert!(more + (1 << 20) < BYTES, "{combination}"),
            Err(fault) => assert!(fault.starts_with("a reset"), "{combination}: {fault}"),
        }
        assert!(server.fetch("/digits.txt").is_ok(), "{combination}: not served any more");
        let said = server.stop();
        assert!(said.contains(" 1 of files"), "{combination}: not counted: {said}");
    });
}

#[test]
fn a_file_that_vanishes_while_sent_is_sent_whole() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let path = own(&site, combination, "vanishes.bin");
        File::create(&path).expect("a file").set_len(BYTES as u64).expect("its length");
        let server = combination.start(&site.root(), &[]);
        let mut wire = server.connect();
        wire.get(&target(combination, "vanishes.bin"), "Connection: close\r\n").expect("sent");
        assert_eq!(wire.head().expect("a head").length(), Ok(BYTES));
        fs::remove_file(&path).expect("removed");
        assert_eq!(wire.rest(), Ok(BYTES), "{combination}");
        server.stop();
    });
}

/// Whose turn it is to look whether an old answer holds may be refused before it does, or take its
/// time with a body: the next one looks, and sees the change.
#[test]
fn a_look_that_is_not_taken_is_the_next_ones() {
    const AGE: Duration = Duration::from_millis(300);
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let path = own(&site, combination, "changes.txt");
        let target = target(combination, "changes.txt");
        let server = combination.start(&site.root(), &["--answer-age-ms", "300"]);
        for (n, fields) in ["Content-Length: 99999\r\n", "Content-Length: 9\r\n"].iter().enumerate()
        {
            fs::write(&path, format!("before {n}")).expect("a file");
            // Until the answer is kept, with the times that the file has now.
            let is_kept = || server.fetch(&target) == Ok(format!("before {n}").into_bytes());
            assert!(await_true(PATIENCE, is_kept), "{combination}");
            fs::write(&path, format!("after {n}!")).expect("a file");
            // There is nothing to wait for but the answer's age.
            std::thread::sleep(AGE + AGE / 2);
            let mut first = server.connect();
            first.get(&target, fields).expect("sent");
            let looked = || server.fetch(&target) == Ok(format!("after {n}!").into_bytes());
            assert!(shows_after(AGE, looked), "{combination}: {fields}: the old one for long");
        }
        server.stop();
    });
}

/// Run as a user without rights; root may read everything.
#[test]
fn what_may_not_be_read_is_refused_and_the_rest_is_served() {
    if rights::lacks_users() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let set = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("its mode");
    };
    let root = home.path().join("root");
    fs::create_dir_all(root.join("closed")).expect("a directory");
    for name in ["open.txt", "closed.txt", "closed/file.txt", "closed/index.html"] {
        fs::write(root.join(name), name).expect("a file");
    }
    set(home.path(), 0o755);
    set(&root.join("closed.txt"), 0);
    set(&root.join("closed"), 0);
    on_mechanisms(Program::Weir, |combination| {
        let command = as_nobody(home.path(), &combination.arguments(&root, &[]));
        let server = Server::start(command, 0);
        for target in ["/closed.txt", "/closed/file.txt", "/closed/"] {
            let refused = Err("status 403".to_owned());
            assert_eq!(server.fetch(target), refused, "{combination}: {target}");
            assert_eq!(server.fetch("/open.txt"), Ok(b"open.txt".to_vec()), "{combination}");
        }
        let said = server.stop();
        assert!(said.contains(" 6 replies"), "{combination}: not counted: {said}");
    });
}

#[test]
fn of_a_file_that_grows_exactly_the_announced_bytes_are_sent() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let path = own(&site, combination, "grows.bin");
        File::create(&path).expect("a file").set_len(BYTES as u64).expect("its length");
        let server = combination.start(&site.root(), &[]);
        let mut wire = server.connect();
        wire.get(&target(combination, "grows.bin"), "").expect("sent");
        assert_eq!(wire.head().expect("a head").length(), Ok(BYTES));
        let mut file = File::options().append(true).open(&path).expect("the file");
        file.write_all(&[b'+'; 100_000]).expect("grown");
        let body = wire.bytes(BYTES).expect("the announced bytes");
        assert!(body.iter().all(|byte| *byte == 0), "{combination}: other bytes");
        wire.get("/digits.txt", "").expect("sent");
        assert_eq!(wire.reply(false).expect("in step").0.status, 200, "{combination}");
        server.stop();
    });
}

#[test]
fn a_file_that_is_replaced_shows_soon() {
    let site = Fixture::new();
    on_mechanisms_alone(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        let mut kept = server.connect();
        for (name, bytes) in [("small.txt", 100), ("big.bin", 1 << 20)] {
            let path = own(&site, combination, name);
            let target = target(combination, name);
            replace(&path, &vec![b'1'; bytes]);
            assert_eq!(server.fetch(&target), Ok(vec![b'1'; bytes]), "{combination}");
            // The same length, and within the same second perhaps: only the file is another.
            replace(&path, &vec![b'2'; bytes]);
            shows(combination, &server, &target, &vec![b'2'; bytes]);
            fs::write(&path, vec![b'3'; bytes + 1]).expect("written in place");
            shows(combination, &server, &target, &vec![b'3'; bytes + 1]);
            kept.get(&target, "").expect("sent");
            assert!(kept.reply(false).expect("answered").1 == vec![b'3'; bytes + 1]);
            fs::remove_file(&path).expect("removed");
            let gone = shows_after(SECOND, || {
                server.fetch(&target).is_err_and(|fault| fault == "status 404")
            });
            assert!(gone, "{combination}: {target} is served though it is gone");
            replace(&path, b"back");
            shows(combination, &server, &target, b"back");
        }
        server.stop();
    });
}

#[test]
fn a_root_that_is_swapped_by_its_link_shows_soon() {
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination| {
        let home = site.beside(&format!("releases-{}", slug(combination)));
        for release in ["one", "two"] {
            fs::create_dir_all(home.join(release)).expect("a release");
            fs::write(home.join(release).join("index.html"), release).expect("its index");
        }
        let current = home.join("current");
        symlink("one", &current).expect("a link");
        let server = combination.start(&current, &[]);
        assert_eq!(server.fetch("/"), Ok(b"one".to_vec()), "{combination}");
        symlink("two", home.join("next")).expect("the next link");
        fs::rename(home.join("next"), &current).expect("swapped");
        shows(combination, &server, "/", b"two");
        server.stop();
    });
}

#[test]
fn a_huge_file_is_whole() {
    let site = Fixture::new();
    let content = pattern(20 << 20);
    fs::write(site.root().join("whole.bin"), &content).expect("a file");
    for flags in [&[][..], &["--sendfile", "off"]] {
        let takes = |combination: &Combination| combination.takes(flags);
        on_mechanisms_where(Program::Weir, takes, |combination| {
            let server = combination.start(&site.root(), flags);
            for _ in 0..2 {
                let whole = server.fetch("/whole.bin").as_ref() == Ok(&content);
                assert!(whole, "{combination} {flags:?}");
            }
            server.stop();
        });
    }
}

fn shows(combination: &Combination, server: &Server, target: &str, content: &[u8]) {
    let shows =
        shows_after(SECOND, || server.fetch(target).is_ok_and(|fetched| fetched == content));
    assert!(shows, "{combination}: {target} is still the old one after {AGES_MAX} s");
}

/// As an editor or a deployment does it: a new file takes the name.
fn replace(path: &Path, content: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, content).expect("a new file");
    fs::rename(&new, path).expect("renamed");
}

/// A file of this combination's own, since all run at once.
fn own(site: &Fixture, combination: &Combination, name: &str) -> std::path::PathBuf {
    site.root().join(format!("{}-{name}", slug(combination)))
}

fn target(combination: &Combination, name: &str) -> String {
    format!("/{}-{name}", slug(combination))
}

fn slug(combination: &Combination) -> String {
    combination.to_string().replace(' ', "-")
}
