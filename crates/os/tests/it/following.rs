//! Links that lead out of a directory, and are followed to where that is permitted.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use os::{Directory, Entry, Kind, Opened};
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};
use rustix::io::Errno;

#[derive(Debug, Clone, PartialEq)]
enum Is {
    /// A file with this content.
    File(String),
    Directory,
    Other,
    Refused(Errno),
}

const OUT: Is = Is::Refused(Errno::XDEV);
const MISSING: Is = Is::Refused(Errno::NOENT);

fn file(content: &str) -> Is {
    Is::File(content.into())
}

#[test]
fn links_are_followed_to_a_place_and_nowhere_else() {
    let tree = Tree::new();
    let rows = [
        ("a", file("root")),
        ("current", Is::Directory),
        ("current/", Is::Directory),
        ("current/a", file("one")),
        ("current/deep/b", file("deep")),
        ("current/up", file("one")),
        ("current/again/a", file("two")),
        ("current/pipe", Is::Other),
        ("absolute", file("one")),
        ("chain", file("one")),
        ("by-link", file("one")),
        ("place", Is::Directory),
        ("place/2/a", file("two")),
        ("current/none", MISSING),
        ("current/a/", Is::Refused(Errno::NOTDIR)),
        ("gone", MISSING),
        ("round", Is::Refused(Errno::LOOP)),
        // To elsewhere, and by ways that no place is for.
        ("secret", OUT),
        ("secret-directory", OUT),
        ("secret-directory/a", OUT),
        ("current/leak", OUT),
        ("current/leak-directory/a", OUT),
        ("like-it", OUT),
        ("out-and-in", OUT),
        ("around", OUT),
        ("device", OUT),
        ("process", Is::Refused(Errno::LOOP)),
        // Links lead out, names do not.
        ("../releases/1/a", OUT),
        ("..", OUT),
        ("current/..", OUT),
        ("current/../1/a", OUT),
        ("/", OUT),
        (&tree.name("releases/1/a"), OUT),
    ];
    let directory = tree.following(&["releases"]);
    for (name, expected) in rows {
        assert_eq!(opened(&directory, name), expected, "{name}");
        let kind = directory.stat_beneath(name.as_bytes()).map(|stat| stat.kind);
        let expected = match expected {
            Is::File(_) => Ok(Kind::File),
            Is::Directory => Ok(Kind::Directory),
            Is::Other => Ok(Kind::Other),
            Is::Refused(error) => Err(error),
        };
        assert_eq!(kind.map_err(errno), expected, "{name}");
    }
}

#[test]
fn places_are_found_anew_each_time() {
    let tree = Tree::new();
    let [releases, moved] = ["releases", "moved"].map(|name| tree.path(name));
    let rows: [(&[&str], Is); 8] = [
        (&[], OUT),
        (&["none"], OUT),
        (&["root/a"], OUT),
        (&["secrets"], OUT),
        (&["releases/2"], OUT),
        (&["releases/1"], file("one")),
        (&["none", "root/a", "to-releases"], file("one")),
        (&["releases/1/deep", "secrets", "releases"], file("one")),
    ];
    for (places, expected) in rows {
        assert_eq!(opened(&tree.following(places), "current/a"), expected, "{places:?}");
    }
    let directory = tree.following(&["to-releases"]);
    fs::rename(&releases, &moved).unwrap();
    assert_eq!(opened(&directory, "current/a"), MISSING);
    symlink("moved", &releases).unwrap();
    assert_eq!(opened(&directory, "current/a"), file("one"), "a link to where it is now");
    fs::remove_file(tree.path("to-releases")).unwrap();
    assert_eq!(opened(&directory, "current/a"), OUT, "a place that is gone");
}

#[test]
fn what_is_followed_can_be_listed_and_is_never_known_without_asking() {
    let tree = Tree::new();
    let directory = tree.following(&["releases"]);
    for Entry { name, stat } in directory.entries_beneath(b"", usize::MAX).unwrap().0 {
        let asked = directory.stat_beneath(&name).map_err(errno);
        assert_eq!(stat.map_err(errno), asked, "{}", name.escape_ascii());
    }
    let (entries, is_all) = directory.entries_beneath(b"place", 9).unwrap();
    let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
    names.sort();
    assert_eq!((names, is_all), (vec![b"1".to_vec(), b"2".to_vec(), b"back".to_vec()], true));
    for name in ["current/a", "secret"] {
        for _ in 0..2 {
            let _ = directory.stat_beneath(name.as_bytes());
            let told = directory.stat_beneath_cached(name.as_bytes()).map_err(errno);
            assert_eq!(told, Err(Errno::AGAIN), "{name}");
        }
    }
    // A directory beneath it follows none.
    let inner = directory.beneath(b"inner").unwrap();
    assert_eq!(opened(&inner, "a"), file("inner"));
    assert_eq!(opened(&inner, "current"), OUT);
}

/// Whoever asks does not learn what there is where no link may lead.
#[test]
fn what_is_closed_is_outside() {
    let tree = Tree::new();
    let directory = tree.following(&["releases"]);
    let rows = [
        ("secrets", 0o000, "secret", OUT),
        ("secrets", 0o000, "secret-directory/none", OUT),
        ("releases/1", 0o000, "current/a", OUT),
        ("releases/1/a", 0o000, "current/a", Is::Refused(Errno::ACCESS)),
        ("releases", 0o000, "current/a", OUT),
        ("releases", 0o111, "current/a", file("one")),
    ];
    for (closed, mode, name, expected) in rows {
        let closed = tree.path(closed);
        let before = fs::metadata(&closed).unwrap().permissions();
        fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
        let seen = crate::nobody::act(|| opened(&directory, name));
        fs::set_permissions(&closed, before).unwrap();
        assert_eq!(seen, expected, "{} {mode:o}: {name}", closed.display());
    }
}

/// Somebody swaps what is on the way and a way to secrets, while names are looked up.
#[test]
fn a_swap_never_shows_what_is_outside() {
    const LOOKUPS: u32 = 3000;
    let rows = [
        // The link in the root.
        ("root/current", "root/secret-directory"),
        // What it leads to.
        ("releases/1", "releases/back"),
        // A directory further down.
        ("releases/1/deep", "releases/1/leak-directory"),
    ];
    for (one, other) in rows {
        let tree = Tree::new();
        fs::write(tree.path("secrets/b"), "SECRET").unwrap();
        fs::create_dir(tree.path("secrets/deep")).unwrap();
        fs::write(tree.path("secrets/deep/b"), "SECRET").unwrap();
        let directory = tree.following(&["releases"]);
        let (one, other) = (tree.path(one), tree.path(other));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let again = Is::Refused(Errno::AGAIN);
            let allowed = [file("one"), file("deep"), OUT, MISSING, again];
            let mut wrong = None;
            for n in 0..LOOKUPS {
                let name = ["current/a", "current/deep/b"][n as usize % 2];
                let seen = opened(&directory, name);
                wrong = wrong.or((!allowed.contains(&seen)).then_some((name, seen)));
            }
            done.store(true, Ordering::Relaxed);
            assert_eq!(wrong, None, "{} and {}", one.display(), other.display());
        });
    }
}

#[test]
fn a_directory_knows_where_it_is() {
    let tree = Tree::new();
    let [link, releases, moved] = ["to-releases", "releases", "moved"].map(|name| tree.path(name));
    let directory = Directory::open(&link).unwrap();
    assert_eq!(directory.path().unwrap(), releases);
    fs::rename(&releases, &moved).unwrap();
    assert_eq!(directory.path().unwrap(), moved);
    assert_eq!(Directory::open(Path::new("/")).unwrap().path().unwrap(), Path::new("/"));
}

fn opened(directory: &Directory, name: &str) -> Is {
    match directory.open_beneath(name.as_bytes()) {
        Ok(Opened::File(file, _)) => {
            let mut content = [0; 16];
            let n = file.read_at(&mut content, 0).unwrap();
            Is::File(String::from_utf8(content[..n].to_vec()).unwrap())
        }
        Ok(Opened::Directory(_)) => Is::Directory,
        Ok(Opened::Other) => Is::Other,
        Err(error) => Is::Refused(errno(error)),
    }
}

fn errno(error: std::io::Error) -> Errno {
    match Errno::from_io_error(&error) {
        Some(errno) => errno,
        None if error.kind() == std::io::ErrorKind::WouldBlock => Errno::AGAIN,
        None => panic!("{error}"),
    }
}

/// `root` with what is served, `releases` that links may lead to, and `secrets`.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        fs::set_permissions(tree.0.path(), Permissions::from_mode(0o755)).unwrap();
        let files = [
            ("root/a", "root"),
            ("root/inner/a", "inner"),
            ("releases/1/a", "one"),
            ("releases/1/deep/b", "deep"),
            ("releases/2/a", "two"),
            ("releases-too/a", "SECRET"),
            ("secrets/a", "SECRET"),
        ];
        for (name, content) in files {
            let path = tree.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        mkfifoat(CWD, tree.path("releases/1/pipe"), Mode::from_raw_mode(0o644)).unwrap();
        let links = [
            ("to-releases", "releases"),
            ("root/current", "../releases/1"),
            ("root/absolute", &tree.name("releases/1/a")),
            ("root/chain", "current/deep/../a"),
            ("root/by-link", "../to-releases/1/a"),
            ("root/place", "../releases"),
            ("root/gone", "../releases/none"),
            ("root/round", "../releases/../root/round"),
            ("root/secret", "../secrets/a"),
            ("root/secret-directory", "../secrets"),
            ("root/like-it", "../releases-too/a"),
            ("root/out-and-in", "../root/a"),
            ("root/around", "../releases/back/../root/a"),
            ("root/device", "/dev/null"),
            ("root/process", "/proc/self/root"),
            ("root/inner/current", "../../releases/1/a"),
            ("releases/1/up", "../1/a"),
            ("releases/1/again", "../2"),
            ("releases/1/leak", "../../secrets/a"),
            ("releases/1/leak-directory", "../../secrets"),
            ("releases/back", "../secrets"),
        ];
        for (name, to) in links {
            symlink(to, tree.path(name)).unwrap();
        }
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().into()
    }

    fn following(&self, places: &[&str]) -> Directory {
        let places: Arc<[PathBuf]> = places.iter().map(|place| self.path(place)).collect();
        Directory::open(&self.path("root")).unwrap().following(&places)
    }
}
