//! What is kept is compared with the disk without waiting for it, where the kernel knows enough.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::counter::{Counter, auth, error_page, host};
use crate::town::{Got, Page, Town};
use h1::Found;
use os::Directory;
use site::rules::Effect;
use site::{Settings, Site};

/// What happens to a site of which a path was asked for, and whether that is then as before.
#[test]
fn what_has_changed_is_no_answer() {
    type Change = fn(&Town);
    let rows: [(&str, Change, &str, bool); 14] = [
        ("nothing", |_| {}, "/a.png", true),
        ("nothing", |_| {}, "/b.html", true),
        ("nothing", |_| {}, "/dir", true),
        ("nothing", |_| {}, "/dir/", true),
        ("nothing", |_| {}, "/none", true),
        ("another time", |town| town.age("a.png", 9), "/a.png", false),
        ("another content", |town| town.write("a.png", "b"), "/a.png", false),
        ("it is gone", |town| remove(town, "a.png"), "/a.png", false),
        ("a sibling", |town| town.write("b.html.gz", "g"), "/b.html", false),
        ("an old sibling", old_sibling, "/b.html", true),
        ("another file", |town| town.write("none.html", "n"), "/none", true),
        ("it has come", |town| town.write("none", "n"), "/none", false),
        ("its index is gone", |town| remove(town, "dir/index.html"), "/dir/", false),
        ("a link", |town| symlink("a.png", town.path("none")).unwrap(), "/none", false),
    ];
    for (what, change, path, holds) in rows {
        for small_bytes_max in [64 << 10, 0] {
            let settings = Settings { small_bytes_max, ..Settings::default() };
            let files = [("a.png", "a"), ("b.html", "b"), ("dir/index.html", "index")];
            let mut town = Town::with(&settings, &files);
            if !remembers_what_is_missing(&town.path("")) {
                return;
            }
            let lookup = town.lookup(path);
            assert_eq!(town.compare(&lookup), None, "nothing is kept");
            let before = undated(town.load(&lookup));
            change(&town);
            town.at(1000);
            assert_eq!(town.hear(path), None);
            let compared = town.compare(&lookup).map(undated);
            assert_eq!(compared, holds.then(|| before.clone()), "{what}: {path}");
            // A request gets no old answer of which the kernel knows that it has changed.
            assert_eq!(town.old(&lookup), None, "{what}: {path}");
            if !holds {
                assert_ne!(undated(town.load(&lookup)), before, "{what}: {path}");
            }
            // Compared or loaded, it is answered for as long.
            for (ms, is_known) in [(1899, true), (1900, false)] {
                town.at(ms);
                assert_eq!(town.hear(path).is_some(), is_known, "{what}: {path} at {ms}");
            }
        }
    }
}

/// The root itself is found anew each time.
#[test]
fn a_root_that_has_changed_is_judged_anew() {
    type Change = fn(&Path);
    let rows: [(&str, Change, bool); 4] = [
        ("nothing", |_| {}, true),
        ("swapped", |place| swap(place, "v2"), false),
        ("swapped and back", |place| ["v2", "v1"].into_iter().for_each(|to| swap(place, to)), true),
        ("gone", |place| fs::remove_file(place.join("current")).unwrap(), false),
    ];
    for (what, change, holds) in rows {
        let mut town = Town::new(&[]);
        let place = town.place.path().to_path_buf();
        for version in ["v1", "v2"] {
            fs::create_dir(place.join(version)).unwrap();
            fs::write(place.join(version).join("a.png"), version).unwrap();
        }
        symlink("v1", place.join("current")).unwrap();
        town.site = Site::new(&place.join("current"), &Settings::default()).unwrap();
        let lookup = town.lookup("/a.png");
        town.load(&lookup);
        change(&place);
        // Whoever follows a link for the first time makes the disk note that.
        let _ = Directory::open(&place.join("current"));
        town.at(1000);
        assert_eq!(town.compare(&lookup).is_some(), holds, "{what}");
    }
}

/// Content whose times prove nothing is read again.
#[test]
fn a_file_changed_just_now_is_not_compared() {
    let mut town = Town::new(&[("a.png", "one")]);
    let lookup = town.lookup("/a.png");
    for (seconds, holds) in [(0, false), (60, false), (120, true)] {
        town.now = crate::town::now(os::clock::wall_seconds(), seconds * 1000);
        assert_eq!(town.compare(&lookup).is_some(), holds, "after {seconds} s");
        town.load(&lookup);
    }
}

/// What of a site with rules is compared, and that this makes no other reply of it.
#[test]
fn rules_hold_for_what_is_compared() {
    let hash = bcrypt::hash("secret", 4).unwrap();
    let files = [
        ("www/a.png", "a"),
        ("www/front.png", "front"),
        ("www/404.html", "<p>none"),
        ("www/list/x", "x"),
        ("www/closed/a.png", "closed"),
        ("www/clean/page.html", "page"),
        ("home/ann/www/a.png", "Ann's"),
    ];
    let mut counter = Counter::new(&files, |place| {
        let home = place.join("home/ann");
        fs::write(place.join("passwd"), format!("ann:x:1:1::{}:\n", home.display())).unwrap();
        let rules = vec![
            ("/", error_page(404, "/404.html")),
            ("/app", Effect::Fallback("/front.png".into())),
            ("/lost", Effect::Fallback("/lost.png".into())),
            ("/list", Effect::Listing(true)),
            ("/clean", Effect::CleanUrls(true)),
            ("/closed", auth("r", &[("x", &hash)])),
            ("/people", Effect::UserDirectories("www".into())),
            ("/", Effect::Root(place.join("www"))),
        ];
        vec![host(&["a"], rules)]
    });
    if !remembers_what_is_missing(&counter.place.path().join("www")) {
        return;
    }
    let rows = [
        ("/a.png", true),
        ("/none", true),
        ("/app/any/where", true),
        ("/app/other", true),
        ("/lost/any", true),
        ("/list/x", true),
        ("/list/", false),
        ("/clean/page", true),
        ("/clean/none", true),
        ("/people/~ann/a.png", false),
        ("/closed/a.png", true),
    ];
    for (path, holds) in rows {
        // x:secret
        let request = format!("GET {path} HTTP/1.1\nHost: a\nAuthorization: Basic eDpzZWNyZXQ=");
        let lookup = |counter: &Counter| match counter.find(&request) {
            Found::Miss(lookup) => Some(lookup),
            _ => None,
        };
        let unverified = lookup(&counter).filter(|lookup| lookup.credentials.is_some());
        let before = counter.ask(&request);
        if let Some(lookup) = unverified {
            assert!(counter.site.compare(&lookup, &counter.now).is_none(), "{path}");
        }
        counter.wait_ms(1000);
        let lookup = lookup(&counter).expect("it is old");
        assert_eq!(counter.site.compare(&lookup, &counter.now).is_some(), holds, "{path}");
        assert_eq!(counter.ask(&request), before, "{path}");
    }
}

fn remove(town: &Town, name: &str) {
    fs::remove_file(town.path(name)).unwrap();
}

fn old_sibling(town: &Town) {
    town.write("b.html.gz", "g");
    town.age("b.html.gz", 9);
}

fn swap(place: &Path, to: &str) {
    symlink(to, place.join("next")).unwrap();
    fs::rename(place.join("next"), place.join("current")).unwrap();
}

fn undated(got: Got) -> Got {
    match got {
        Got::Page(page) => Got::Page(Page { prebuilt: None, hit: false, ..page }),
        status => status,
    }
}

/// Whether the file system there does, which some in memory do not. If not, records that the
/// calling test is skipped.
#[track_caller]
fn remembers_what_is_missing(place: &Path) -> bool {
    let known = Directory::open(place).unwrap();
    let _ = known.stat_beneath(b"missing");
    let told = known.stat_beneath_cached(b"missing").unwrap_err();
    let is_told = told.kind() == std::io::ErrorKind::NotFound;
    if !is_told {
        harness::skip(format!(
            "needs a file system at {} that remembers what is missing",
            place.display()
        ));
    }
    is_told
}
