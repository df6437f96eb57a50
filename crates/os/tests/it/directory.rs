//! Names in a directory: what they stand for, and that none leads out.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use os::{Directory, Entry, Kind, Opened};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, fcntl_getfl, mkfifoat, renameat_with};
use rustix::io::{Errno, FdFlags, fcntl_getfd};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Is {
    /// A file with this content.
    File(&'static str),
    Directory,
    Other,
    Refused(Errno),
}
use Is::{File, Other, Refused};

const CONTENTS: [&str; 8] = ["a", "b", "c", "space", "", "latin", "outside", "inside"];
const OUT: Is = Refused(Errno::XDEV);
const MISSING: Is = Refused(Errno::NOENT);

/// From a directory within, nothing leads to what is around it.
#[test]
fn a_directory_beneath_another() {
    let tree = Tree::new();
    let root = tree.open();
    for name in ["dir", "dir/", "dir-link"] {
        let dir = root.beneath(name.as_bytes()).unwrap();
        assert_eq!(dir.stat_beneath(b"b.html").unwrap().kind, Kind::File, "{name}");
        for out in [&b"../a.html"[..], b"up", b"..", b"/"] {
            let refused = dir.stat_beneath(out).unwrap_err();
            assert_eq!(Errno::from_io_error(&refused), Some(Errno::XDEV), "{name} {out:?}");
        }
    }
    let rows = [("out-dir", Errno::XDEV), ("a.html", Errno::NOTDIR), ("missing", Errno::NOENT)];
    for (name, expected) in rows {
        let refused = root.beneath(name.as_bytes()).unwrap_err();
        assert_eq!(Errno::from_io_error(&refused), Some(expected), "{name}");
    }
}

/// What is told without a disk is what the disk tells, or nothing.
#[test]
fn names_are_known_without_a_disk() {
    let tree = Tree::new();
    let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap();
    let asked = tree.open();
    let known = Directory::open_cached(&tree.root()).unwrap();
    let rows = [
        ("a.html", true),
        ("dir/deep/c", true),
        ("dir/", true),
        ("", true),
        ("pipe", true),
        // A link notes when it was followed; some file systems forget what is not there.
        ("a.html/x", false),
        ("to-a", false),
        ("dir/up", false),
        ("out", false),
        ("itself", false),
        ("missing", false),
        ("dir/missing", false),
    ];
    for (name, is_known) in rows {
        let expected = asked.stat_beneath(name.as_bytes()).map_err(errno);
        let told = known.stat_beneath_cached(name.as_bytes()).map_err(errno);
        let is_told = told != Err(Errno::AGAIN);
        assert!(is_told || !is_known, "{name}");
        assert!(!is_told || told == expected, "{name}: {told:?}, {expected:?}");
    }
    // Nobody has asked for these yet.
    for name in ["never", "dir/never"] {
        let told = known.stat_beneath_cached(name.as_bytes()).map_err(errno);
        assert!(matches!(told, Err(Errno::AGAIN | Errno::NOENT)), "{name}: {told:?}");
    }
    let none = Directory::open_cached(&tree.root().join("none")).map(drop).map_err(errno);
    assert!(matches!(none, Err(Errno::AGAIN | Errno::NOENT)), "{none:?}");
    let file = Directory::open_cached(&tree.root().join("a.html")).map(drop).map_err(errno);
    assert_eq!(file, Err(Errno::NOTDIR));
}

/// What is read stays beneath, too, is no more than was asked for, and stands for what it would if
/// it were asked about by itself.
#[test]
fn what_is_in_a_directory() {
    let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap();
    let tree = Tree::new();
    let root = tree.open();
    let rows: &[(&str, Result<&[&str], Errno>)] = &[
        ("dir", Ok(&["b.html", "deep", "up", "up-up"])),
        ("dir/", Ok(&["b.html", "deep", "up", "up-up"])),
        ("dir-link/deep", Ok(&["c"])),
        ("out-dir", Err(Errno::XDEV)),
        ("a.html", Err(Errno::NOTDIR)),
        ("missing", Err(Errno::NOENT)),
    ];
    for (name, expected) in rows {
        for most in [0, 1, 3, 4, 5] {
            let entries = root.entries_beneath(name.as_bytes(), most).map_err(errno);
            match (entries, expected) {
                (Ok((entries, is_all)), Ok(expected)) => {
                    assert_eq!(is_all, most >= expected.len(), "{name} {most}");
                    assert_eq!(entries.len(), most.min(expected.len()), "{name} {most}");
                    for Entry { name: own, stat } in entries {
                        assert!(expected.iter().any(|e| e.as_bytes() == own), "{name}: {own:?}");
                        let asked = root.stat_beneath(&[name.as_bytes(), b"/", &own].concat());
                        assert_eq!(stat.map_err(errno), asked.map_err(errno), "{name}: {own:?}");
                    }
                }
                (got, expected) => assert_eq!(got.err(), expected.err(), "{name}"),
            }
        }
    }
}

/// Every name is opened and asked about.
#[test]
fn names_stay_beneath() {
    let tree = Tree::new();
    let long = "x".repeat(256);
    let longer = "x/".repeat(3000);
    let absolute = format!("{}/a.html", tree.root().display());
    let rows: &[(&str, Is)] = &[
        ("a.html", File("a")),
        ("./a.html", File("a")),
        (".//a.html", File("a")),
        ("dir/b.html", File("b")),
        ("dir//b.html", File("b")),
        ("dir/deep/c", File("c")),
        ("with space", File("space")),
        ("empty", File("")),
        ("", Is::Directory),
        (".", Is::Directory),
        ("dir", Is::Directory),
        ("dir/", Is::Directory),
        ("dir/.", Is::Directory),
        ("pipe", Other),
        ("socket", Other),
        ("missing", MISSING),
        ("dir/missing", MISSING),
        ("missing/a.html", MISSING),
        ("A.HTML", MISSING),
        ("a.html/", Refused(Errno::NOTDIR)),
        ("a.html/x", Refused(Errno::NOTDIR)),
        ("a.html/..", Refused(Errno::NOTDIR)),
        (&long, Refused(Errno::NAMETOOLONG)),
        (&longer, Refused(Errno::NAMETOOLONG)),
        ("a.html\0", Refused(Errno::INVAL)),
        ("\0", Refused(Errno::INVAL)),
        // Up, as long as it stays beneath.
        ("dir/..", Is::Directory),
        ("dir/../a.html", File("a")),
        ("dir/deep/../../a.html", File("a")),
        ("dir/deep/../b.html", File("b")),
        ("..", OUT),
        ("../", OUT),
        ("../root/a.html", OUT),
        ("../outside/secret", OUT),
        ("dir/../../root/a.html", OUT),
        ("dir/../..", OUT),
        ("./..", OUT),
        ("missing/../..", MISSING),
        // The root of names is the system's.
        ("/", OUT),
        ("//", OUT),
        ("/a.html", OUT),
        ("/etc/passwd", OUT),
        (&absolute, OUT),
    ];
    let directory = tree.open();
    for (name, expected) in rows {
        check(&directory, name.as_bytes(), *expected);
    }
    check(&directory, b"caf\xe9", File("latin"));
    check(&directory, b"caf\xc3\xa9", MISSING);
    check(&Directory::open("/dev".as_ref()).unwrap(), b"null", Other);
}

#[test]
fn links_stay_beneath() {
    let rows = [
        ("to-a", File("a")),
        ("chain", File("a")),
        ("dir-link", Is::Directory),
        ("dir-link/b.html", File("b")),
        ("dir-link/../a.html", File("a")),
        ("dir/up", File("a")),
        ("dir-link/up", File("a")),
        ("to-a/", Refused(Errno::NOTDIR)),
        // Out, wherever they end.
        ("out", OUT),
        ("out-dir", OUT),
        ("out-dir/secret", OUT),
        ("out-and-in", OUT),
        ("absolute", OUT),
        ("absolute-in", OUT),
        ("absolute-root", OUT),
        ("via-chain-out", OUT),
        ("dir/up-up", OUT),
        ("process", OUT),
        ("out-dir/../root/a.html", OUT),
        // To nowhere and in circles.
        ("dangling", MISSING),
        ("dangling/x", MISSING),
        ("itself", Refused(Errno::LOOP)),
        ("round", Refused(Errno::LOOP)),
        ("round-about/x", Refused(Errno::LOOP)),
        ("too-many-0", Refused(Errno::LOOP)),
        ("too-many-30", File("a")),
    ];
    let tree = Tree::new();
    let directory = tree.open();
    for (name, expected) in rows {
        check(&directory, name.as_bytes(), expected);
    }
}

fn check(directory: &Directory, name: &[u8], expected: Is) {
    let shown = String::from_utf8_lossy(&name[..name.len().min(40)]);
    assert_eq!(opened(directory, name), expected, "{shown:?}");
    let told = directory.stat_beneath(name).map(|stat| stat.kind);
    let told = told.map_err(|error| Errno::from_io_error(&error).unwrap());
    let kind = match expected {
        File(_) => Ok(Kind::File),
        Is::Directory => Ok(Kind::Directory),
        Other => Ok(Kind::Other),
        Refused(error) => Err(error),
    };
    assert_eq!(told, kind, "{shown:?}");
}

/// What a name stands for; its statistics and flags have to be right, too.
fn opened(directory: &Directory, name: &[u8]) -> Is {
    if let Ok(Opened::File(file, stat)) = directory.open_beneath(name) {
        assert_eq!((stat, stat.kind), (file.stat().unwrap(), Kind::File));
        assert_eq!(stat, directory.stat_beneath(name).unwrap());
        assert!(fcntl_getfd(&file).unwrap().contains(FdFlags::CLOEXEC));
        assert!(!fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK));
    }
    opened_once(directory, name)
}

fn opened_once(directory: &Directory, name: &[u8]) -> Is {
    match directory.open_beneath(name) {
        Ok(Opened::File(file, stat)) => {
            let mut content = vec![0; stat.size as usize + 1];
            let n = file.read_at(&mut content, 0).unwrap();
            let known = CONTENTS.iter().find(|known| known.as_bytes() == &content[..n]);
            File(known.unwrap_or(&"something else"))
        }
        Ok(Opened::Directory(stat)) => {
            assert_eq!(stat.kind, Kind::Directory);
            Is::Directory
        }
        Ok(Opened::Other) => Other,
        Err(error) => Refused(Errno::from_io_error(&error).unwrap()),
    }
}

#[test]
fn only_directories_are_opened() {
    let tree = Tree::new();
    let rows = [
        ("", None),
        ("dir", None),
        // Whoever gives the root may give it by a link, also to outside.
        ("dir-link", None),
        ("out-dir", None),
        ("a.html", Some(Errno::NOTDIR)),
        ("to-a", Some(Errno::NOTDIR)),
        ("pipe", Some(Errno::NOTDIR)),
        ("missing", Some(Errno::NOENT)),
        ("dangling", Some(Errno::NOENT)),
        ("round", Some(Errno::LOOP)),
    ];
    for (name, expected) in rows {
        let refused = Directory::open(&tree.root().join(name)).err();
        let refused = refused.map(|error| Errno::from_io_error(&error).unwrap());
        assert_eq!(refused, expected, "{name}");
    }
}

/// A root is a directory, not a name: what takes its name later is not served.
#[test]
fn a_root_stays_what_it_was() {
    let tree = Tree::new();
    let directory = tree.open();
    let (root, elsewhere) = (tree.root(), tree.place("elsewhere"));
    fs::rename(&root, &elsewhere).unwrap();
    symlink("outside", &root).unwrap();
    check(&directory, b"a.html", File("a"));
    check(&directory, b"secret", MISSING);
    check(&directory, b"../outside/secret", OUT);
    check(&tree.open(), b"secret", File("outside"));
    fs::remove_dir_all(&elsewhere).unwrap();
    check(&directory, b"a.html", MISSING);
    check(&directory, b"", Is::Directory);
}

/// Somebody swaps a directory and a link to outside while names are looked up.
#[test]
fn a_swapped_link_leads_nowhere() {
    const LOOKUPS: u32 = 3000;
    let tree = Tree::new();
    let root = tree.root();
    let (place, link) = (root.join("swapped"), root.join("out-dir"));
    fs::create_dir_all(place.join("deep")).unwrap();
    fs::write(place.join("secret"), "inside").unwrap();
    let directory = tree.open();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &place, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let allowed = [File("inside"), OUT, MISSING, Refused(Errno::AGAIN)];
        let mut wrong = None;
        for n in 0..LOOKUPS {
            let name = ["swapped/secret", "swapped/deep/../secret"][n as usize % 2];
            let seen = opened_once(&directory, name.as_bytes());
            wrong = wrong.or((!allowed.contains(&seen)).then_some((name, seen)));
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(wrong, None);
    });
}

/// What a name stands for may be told about what may not be read.
#[test]
fn permissions_are_kept() {
    const DENIED: Is = Refused(Errno::ACCESS);
    let tree = Tree::new();
    let rows = [
        ("a.html", 0o444, File("a"), Ok(Kind::File)),
        ("a.html", 0o000, DENIED, Ok(Kind::File)),
        ("a.html", 0o222, DENIED, Ok(Kind::File)),
        ("dir", 0o000, DENIED, Ok(Kind::Directory)),
        ("dir/b.html", 0o111, File("b"), Ok(Kind::File)),
        ("dir/b.html", 0o444, DENIED, Err(Errno::ACCESS)),
        ("dir/b.html", 0o000, DENIED, Err(Errno::ACCESS)),
        ("dir/missing", 0o000, DENIED, Err(Errno::ACCESS)),
        ("pipe", 0o000, DENIED, Ok(Kind::Other)),
    ];
    let directory = tree.open();
    for (name, mode, expected, kind) in rows {
        let first = tree.root().join(name.split('/').next().unwrap());
        let before = fs::metadata(&first).unwrap().permissions();
        fs::set_permissions(&first, fs::Permissions::from_mode(mode)).unwrap();
        let (seen, told) = crate::nobody::act(|| {
            (opened(&directory, name.as_bytes()), directory.stat_beneath(name.as_bytes()))
        });
        fs::set_permissions(&first, before).unwrap();
        assert_eq!(seen, expected, "{name}, {mode:o}");
        let told = told.map(|stat| stat.kind);
        assert_eq!(told.map_err(|error| Errno::from_io_error(&error).unwrap()), kind, "{name}");
    }
}

/// What is done to a file, and whether it can be told from before.
#[test]
fn changes_are_seen() {
    type Change = fn(&Path);
    let rows: [(&str, Change, bool); 7] = [
        ("nothing", |_| {}, false),
        ("read", |path| drop(fs::read(path).unwrap()), false),
        ("longer", |path| fs::write(path, "longer").unwrap(), true),
        ("shorter", |path| fs::write(path, "").unwrap(), true),
        ("replaced", replace, true),
        (
            "a mode",
            |path| fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap(),
            true,
        ),
        ("a time", |path| fs::File::open(path).unwrap().set_modified(LONG_AGO).unwrap(), true),
    ];
    for (name, change, expected) in rows {
        let tree = Tree::new();
        let directory = tree.open();
        let path = tree.root().join("a.html");
        // Old enough that the kernel's clock has moved on, by a time that only the kernel sets.
        let before = aged(&directory, &path);
        change(&path);
        let after = directory.stat_beneath(b"a.html").unwrap();
        assert_eq!(after != before, expected, "{name}: {before:?}, {after:?}");
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(
            (after.dev, after.ino, after.size),
            (metadata.dev(), metadata.ino(), metadata.len())
        );
        let told = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
        assert_eq!(after.mtime_ns, told);
    }
}

const LONG_AGO: std::time::SystemTime = std::time::SystemTime::UNIX_EPOCH;

fn replace(path: &Path) {
    let new = path.with_extension("new");
    fs::write(&new, "b").unwrap();
    fs::rename(new, path).unwrap();
}

/// The statistics of a file, once a later change would have another time.
fn aged(directory: &Directory, path: &Path) -> os::Stat {
    let stat = directory.stat_beneath(b"a.html").unwrap();
    let probe = path.with_extension("probe");
    loop {
        fs::write(&probe, "").unwrap();
        let probe = directory.stat_beneath(b"a.probe").unwrap();
        if probe.ctime_ns > stat.ctime_ns {
            return stat;
        }
        std::thread::yield_now();
    }
}

/// `root` with what is served, `outside` with what is not.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        let root = tree.root();
        fs::create_dir_all(root.join("dir/deep")).unwrap();
        fs::create_dir(tree.place("outside")).unwrap();
        let files: [(&[u8], &str); 8] = [
            (b"root/a.html", "a"),
            (b"root/dir/b.html", "b"),
            (b"root/dir/deep/c", "c"),
            (b"root/with space", "space"),
            (b"root/empty", ""),
            (b"root/caf\xe9", "latin"),
            (b"outside/secret", "outside"),
            (b"outside/a.html", "outside"),
        ];
        for (name, content) in files {
            fs::write(tree.0.path().join(OsStr::from_bytes(name)), content).unwrap();
        }
        mkfifoat(CWD, root.join("pipe"), Mode::from_raw_mode(0o644)).unwrap();
        drop(UnixListener::bind(root.join("socket")).unwrap());
        tree.link();
        tree
    }

    fn link(&self) {
        let root = self.root().display().to_string();
        let links = [
            ("to-a", "a.html"),
            ("chain", "to-a"),
            ("dir-link", "dir"),
            ("dir/up", "../a.html"),
            ("out", "../outside/secret"),
            ("out-dir", "../outside"),
            ("out-and-in", "../root/a.html"),
            ("absolute", "/etc/passwd"),
            ("absolute-in", &format!("{root}/a.html")),
            ("absolute-root", &root),
            ("via-chain-out", "out"),
            ("dir/up-up", "../../outside/secret"),
            ("process", "/proc/self/root"),
            ("dangling", "nowhere"),
            ("itself", "itself"),
            ("round", "round-about"),
            ("round-about", "round"),
        ];
        for (name, to) in links {
            symlink(to, self.root().join(name)).unwrap();
        }
        // Linux follows 40 in a row (path_resolution(7)).
        for n in 0..50 {
            let to = if n == 49 { "a.html".to_owned() } else { format!("too-many-{}", n + 1) };
            symlink(to, self.root().join(format!("too-many-{n}"))).unwrap();
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn root(&self) -> PathBuf {
        self.place("root")
    }

    fn open(&self) -> Directory {
        Directory::open(&self.root()).unwrap()
    }
}
