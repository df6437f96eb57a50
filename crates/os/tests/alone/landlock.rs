//! Landlock: what is granted can be reached, and nothing else.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use os::landlock::{self, Grant, Rules};
use os::process::{self, Exit, Fork};
use os::{Directory, Opened, users};

/// Runs `act` in a child; a panic there is a failure here.
fn in_child(act: impl FnOnce()) {
    let pid = match process::fork().unwrap() {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
            process::exit(i32::from(done.is_err()))
        }
    };
    let exit = loop {
        if let Some(exit) = process::wait_any_exited().unwrap() {
            break exit;
        }
        std::thread::yield_now();
    };
    assert_eq!(exit, (pid, Exit::Status(0)));
}

/// `root/a/file`, `root/link` to it, `root/out` to `other/secret`, `logs/old`, `other/secret`.
fn place() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let home = place.path();
    for (name, content) in [("root/a/file", "file"), ("logs/old", "old\n"), ("other/secret", "s")] {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    symlink("a/file", home.join("root/link")).unwrap();
    symlink("../other/secret", home.join("root/out")).unwrap();
    place
}

fn confine(grants: &[(&Path, Grant)]) -> std::io::Result<()> {
    Rules::new(grants)?.confine()
}

fn confined(home: &Path) {
    let (root, logs) = (home.join("root"), home.join("logs"));
    let grants = [(&*root, Grant::Read), (&*logs, Grant::Write)];
    confine(&grants).expect("this kernel has it");
}

fn append(path: &Path) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(b"line\n")
}

pub(crate) fn what_is_granted_can_be_reached() {
    let place = place();
    in_child(|| {
        let home = place.path();
        confined(home);
        assert_eq!(fs::read(home.join("root/link")).unwrap(), b"file");
        assert_eq!(fs::read_dir(home.join("root")).unwrap().count(), 3);
        let root = Directory::open(&home.join("root")).unwrap();
        assert!(matches!(root.open_beneath(b"a/file").unwrap(), Opened::File(..)));
        append(&home.join("logs/old")).expect("a log that is there");
        append(&home.join("logs/new")).expect("a log that was moved away");
        std::thread::scope(|scope| {
            scope.spawn(|| append(&home.join("logs/new")).expect("from a thread started later"));
        });
    });
    assert_eq!(fs::read(place.path().join("logs/new")).unwrap(), b"line\nline\n");
}

pub(crate) fn nothing_else_can_be_reached() {
    let place = place();
    in_child(|| {
        let home = place.path();
        let before = File::open(home.join("other/secret")).unwrap();
        confined(home);
        let refused = |what: &str, done: std::io::Result<()>| {
            let kind = done.expect_err(what).kind();
            assert_eq!(kind, ErrorKind::PermissionDenied, "{what}");
        };
        let read = |name: &str| fs::read(home.join(name)).map(drop);
        refused("a file elsewhere", read("other/secret"));
        refused("the same by a link", read("root/out"));
        refused("a log", read("logs/old"));
        refused("the passwords", fs::read("/etc/passwd").map(drop));
        refused("what the kernel tells", fs::read("/proc/self/status").map(drop));
        refused("a directory elsewhere", fs::read_dir(home).map(drop));
        refused("writing to the site", append(&home.join("root/a/file")));
        refused("a new file in the site", append(&home.join("root/a/new")));
        refused("a file elsewhere", append(&home.join("other/new")));
        refused("removing a log", fs::remove_file(home.join("logs/old")));
        refused("a link in the logs", symlink("/etc/passwd", home.join("logs/link")));
        refused("a directory in the logs", fs::create_dir(home.join("logs/new")));
        refused(
            "other rules",
            confine(&[(Path::new("/"), Grant::Read)])
                .and_then(|()| fs::read("/etc/passwd").map(drop)),
        );
        assert_eq!(before.metadata().unwrap().len(), 1, "what was open stays open");
    });
}

pub(crate) fn the_network_is_closed() {
    if landlock::version().unwrap() < 4 {
        harness::skip("needs version 4 of Landlock, which knows ports");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = TcpStream::connect(address).unwrap();
    in_child(|| {
        confine(&[]).unwrap();
        let refused = TcpStream::connect(address).expect_err("connecting");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        let refused = TcpListener::bind("127.0.0.1:0").expect_err("binding");
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        listener.accept().expect("accepting goes on");
    });
    drop(client);
}

/// Among homes of users there are such.
pub(crate) fn a_path_that_cannot_be_looked_up_grants_nothing() {
    let place = place();
    let home = place.path();
    for name in ["", "root", "root/a", "other"] {
        fs::set_permissions(home.join(name), Permissions::from_mode(0o755)).unwrap();
    }
    let closed = home.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    symlink("loop", home.join("loop")).unwrap();
    let names = ["gone", "root/a/file/below", "closed/below", "loop/below", &"x".repeat(300)];
    in_child(|| {
        if users::effective().0 == 0 {
            users::become_user(65_534, 65_534).expect("root may");
        }
        let paths = names.map(|name| home.join(name));
        let mut grants: Vec<_> = paths.iter().map(|path| (&**path, Grant::Read)).collect();
        let other = home.join("other");
        grants.push((&other, Grant::Read));
        confine(&grants).expect("nothing is wrong");
        fs::read(home.join("root/a/file")).expect_err("not granted");
        assert_eq!(fs::read(other.join("secret")).unwrap(), b"s", "what stands behind them");
    });
}
