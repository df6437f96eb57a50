//! What could be opened, made or listened on: told as if it were done, and nothing is done.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use os::{Address, Listener, PidFile, output};
use rustix::fs::{CWD, Mode, mkfifoat};

use crate::listener::lacks_localhost;

const NAMES: &[&str] = &[
    "new",
    "new/",
    "none/new",
    "file",
    "file/new",
    "directory",
    "directory/new",
    "closed/new",
    "closed/file",
    "others/new",
    "others/file",
    "link",
    "to-new",
    "to-none",
    "to-itself",
    "chain",
    "twice",
    "pipe",
    "socket",
    "",
    "/dev/null",
];

/// Both ways on trees that are alike, by root and by nobody.
fn check(names: &[&str], probe: fn(&Path) -> io::Result<()>, act: fn(&Path) -> io::Result<()>) {
    let long = "x".repeat(256);
    for name in names.iter().copied().chain([long.as_str()]) {
        for is_nobody in [false, true] {
            let (probed, acted) = (Tree::new(), Tree::new());
            let before = probed.content();
            let outcome = |of: &Tree, act: fn(&Path) -> io::Result<()>| {
                let path = of.path(name);
                let done = || act(&path).map_err(|error| (error.kind(), error.to_string()));
                if is_nobody { crate::nobody::act(done) } else { done() }
            };
            let told = outcome(&probed, probe);
            assert_eq!(told, outcome(&acted, act), "{name:?}, nobody: {is_nobody}");
            assert_eq!(probed.content(), before, "{name:?}, nobody: {is_nobody}");
        }
    }
}

#[test]
fn of_logs() {
    check(NAMES, output::probe, |path| output::append(path).map(drop));
}

#[test]
fn of_files_with_a_number() {
    check(NAMES, PidFile::probe, |path| PidFile::take(path).map(drop));
}

#[test]
fn of_unix_sockets() {
    let names: Vec<_> = NAMES.iter().copied().filter(|name| !name.ends_with('/')).collect();
    check(
        &names,
        |path| Listener::probe(&Address::Unix(path.into())),
        |path| Listener::bind(&Address::Unix(path.into()), 1).map(drop),
    );
}

#[test]
fn of_addresses() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let rows = [
        ("127.0.0.1:1", None),
        (&*taken, None),
        ("0.0.0.0:80", None),
        (":80", None),
        ("localhost:80", None),
        ("fd:77", None),
        // A network set aside for documentation (RFC 5737).
        ("192.0.2.1:80", Some(io::ErrorKind::AddrNotAvailable)),
    ];
    for (text, expected) in rows {
        if text.starts_with("localhost") && lacks_localhost() {
            continue;
        }
        let told = Listener::probe(&text.parse().unwrap());
        assert_eq!(told.err().map(|error| error.kind()), expected, "{text}");
    }
}

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (name, mode) in
            [("", 0o777), ("directory", 0o777), ("closed", 0o700), ("others", 0o755)]
        {
            let place = tree.0.path().join(name);
            fs::create_dir_all(&place).unwrap();
            fs::set_permissions(place, Permissions::from_mode(mode)).unwrap();
        }
        for name in ["file", "closed/file", "others/file", "once"] {
            fs::write(tree.path(name), name).unwrap();
        }
        fs::hard_link(tree.path("once"), tree.path("twice")).unwrap();
        mkfifoat(CWD, tree.path("pipe"), Mode::from_raw_mode(0o666)).unwrap();
        drop(UnixListener::bind(tree.path("socket")).unwrap());
        // Who may not connect does not learn that nobody listens; a probe does not ask.
        fs::set_permissions(tree.path("socket"), Permissions::from_mode(0o666)).unwrap();
        let links = [
            ("link", "file"),
            ("to-new", "directory/new"),
            ("to-none", "none/new"),
            ("to-itself", "to-itself"),
            ("chain", "to-new"),
        ];
        for (name, to) in links {
            symlink(to, tree.path(name)).unwrap();
        }
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Names, sizes and times of all that is there.
    fn content(&self) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
        let mut all = Vec::new();
        for directory in ["", "directory", "closed", "others"] {
            for entry in fs::read_dir(self.path(directory)).unwrap() {
                let entry = entry.unwrap();
                let is = entry.metadata().unwrap();
                all.push((entry.path(), is.len(), is.modified().unwrap()));
            }
        }
        all.sort();
        all
    }
}
