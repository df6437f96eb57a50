//! Changes on disk show within one second, and nothing is read again that has not changed.

mod town;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use h1::{Loaded, Shared, Status};
use site::{Settings, Site};
use town::{Got, Town};

/// The tests' files are kept in memory with the first setting and open with the second.
fn each_way(files: &[(&str, &str)], check: impl Fn(Town)) {
    for small_bytes_max in [64 << 10, 0] {
        check(Town::with(&Settings { small_bytes_max, ..Settings::default() }, files));
    }
}

#[test]
fn a_change_shows_within_a_second_and_not_before_it_is_looked_for() {
    each_way(&[("a.html", "one")], |mut town| {
        assert_eq!(town.get("/a.html").text(), "one");
        fs::remove_file(town.path("a.html")).unwrap();
        town.write("a.html", "two");
        town.at(899);
        let page = town.get("/a.html").page();
        assert!(page.hit);
        assert_eq!(page.text, "one");
        town.at(999);
        let page = town.get("/a.html").page();
        assert!(!page.hit);
        assert_eq!(page.text, "two");
        assert!(town.get("/a.html").page().hit);
    });
}

#[test]
fn files_grow_shrink_vanish_and_come() {
    type Change = (&'static str, fn(&Town), Result<&'static str, Status>);
    let rows: &[Change] = &[
        ("grown", |town| town.write("a", "one and more"), Ok("one and more")),
        ("shrunk", |town| town.write("a", "o"), Ok("o")),
        ("rewritten", |town| town.write("a", "two"), Ok("two")),
        ("vanished", |town| fs::remove_file(town.path("a")).unwrap(), Err(Status::NOT_FOUND)),
        ("back", |town| town.write("a", "again"), Ok("again")),
        (
            "replaced",
            |town| {
                town.write("b", "other");
                fs::rename(town.path("b"), town.path("a")).unwrap();
            },
            Ok("other"),
        ),
    ];
    each_way(&[("a", "one")], |mut town| {
        assert_eq!(town.get("/a").text(), "one");
        for (step, (what, change, expected)) in (1..).zip(rows) {
            change(&town);
            town.at(step * 1000);
            match (town.get("/a"), expected) {
                (Got::Page(page), Ok(text)) => {
                    assert_eq!((&page.text[..], page.hit), (*text, false), "{what}");
                }
                (got, Err(status)) => assert_eq!(got, Got::Status(*status), "{what}"),
                (got, _) => panic!("{what}: {got:?}"),
            }
        }
        assert_eq!(town.site.statistics().entries, 1);
    });
}

#[test]
fn a_file_becomes_a_directory_and_back() {
    let mut town = Town::new(&[("a", "file")]);
    assert_eq!(town.get("/a").text(), "file");
    fs::remove_file(town.path("a")).unwrap();
    town.write("a/index.html", "index");
    town.at(1000);
    assert_eq!(town.get("/a").page().status, Status::MOVED_PERMANENTLY);
    assert_eq!(town.get("/a/").text(), "index");
    fs::remove_dir_all(town.path("a")).unwrap();
    town.write("a", "file again");
    town.at(2000);
    assert_eq!(town.get("/a").text(), "file again");
    assert_eq!(town.get("/a/"), Got::Status(Status::NOT_FOUND));
}

#[test]
fn siblings_come_and_go() {
    let mut town = Town::new(&[("a.js", "plain")]);
    let both = |town: &Town| {
        ["br", "identity"].map(|codings| {
            let page = town.get_coded("/a.js", codings).page();
            (page.text, page.varies)
        })
    };
    let expect = |first: &str, second: &str, varies| {
        [(first.to_string(), varies), (second.to_string(), varies)]
    };
    assert_eq!(both(&town), expect("plain", "plain", false));
    town.write("a.js.br", "brotli");
    town.at(1000);
    assert_eq!(both(&town), expect("brotli", "plain", true));
    assert_eq!(both(&town), expect("brotli", "plain", true));
    assert_eq!(town.site.statistics().entries, 2);
    fs::remove_file(town.path("a.js.br")).unwrap();
    town.at(2000);
    assert_eq!(both(&town), expect("plain", "plain", false));
    for second in 3..6 {
        town.at(second * 1000);
        assert_eq!(both(&town), expect("plain", "plain", false));
    }
    assert!(town.site.statistics().entries <= 2);
}

#[test]
fn what_is_unchanged_is_not_read_again() {
    each_way(&[("a", "one")], |mut town| {
        let lookup = town.lookup("/a");
        let load = |town: &Town| match town.site.load(&lookup, &town.now) {
            Loaded::Answer(answer) => answer.representation,
            other => panic!("{other:?}"),
        };
        let first = load(&town);
        for second in 1..5 {
            town.at(second * 1000);
            assert!(!town.get("/a").page().hit, "it is compared");
            assert!(town.get("/a").page().hit);
            assert!(Shared::ptr_eq(&first, &load(&town)), "and kept");
        }
        town.write("a", "two");
        assert!(!Shared::ptr_eq(&first, &load(&town)));
    });
}

#[test]
fn a_file_changed_just_now_is_read_again_because_its_times_prove_nothing() {
    let mut town = Town::new(&[("a", "one")]);
    let changed = fs::metadata(town.path("a")).unwrap().ctime().unsigned_abs();
    let lookup = town.lookup("/a");
    let mut load = |ms| {
        town.now = town::now(changed, ms);
        match town.site.load(&lookup, &town.now) {
            Loaded::Answer(answer) => answer.representation,
            other => panic!("{other:?}"),
        }
    };
    let fresh = load(0);
    let settled = load(4000);
    assert!(!Shared::ptr_eq(&fresh, &settled));
    assert!(Shared::ptr_eq(&settled, &load(8000)));
}

#[test]
fn refusals_are_remembered_for_less_than_a_second() {
    let mut town = Town::new(&[]);
    let none = Got::Status(Status::NOT_FOUND);
    assert_eq!(town.get("/a"), none);
    town.write("a", "here");
    town.at(800);
    assert_eq!(town.get("/a"), none);
    assert_eq!(town.site.statistics().hits, 1);
    town.at(1000);
    assert_eq!(town.get("/a").text(), "here");
    assert_eq!(town.site.statistics().entries, 1);
}

#[test]
fn a_root_that_is_a_link_can_be_swapped() {
    let mut town = Town::new(&[]);
    let place = town.place.path().to_path_buf();
    for (version, text) in [("v1", "old"), ("v2", "new")] {
        fs::create_dir(place.join(version)).unwrap();
        fs::write(place.join(version).join("a"), text).unwrap();
    }
    symlink("v1", place.join("current")).unwrap();
    town.site = Site::new(&place.join("current"), &Settings::default()).unwrap();
    assert_eq!(town.get("/a").text(), "old");
    symlink("v2", place.join("next")).unwrap();
    fs::rename(place.join("next"), place.join("current")).unwrap();
    assert_eq!(town.get("/a").text(), "old");
    town.at(1000);
    assert_eq!(town.get("/a").text(), "new");
    fs::remove_file(place.join("current")).unwrap();
    town.at(2000);
    assert_eq!(town.get("/a"), Got::Status(Status::NOT_FOUND));
}

#[test]
fn the_date_is_that_of_the_present_second() {
    each_way(&[("a", "text")], |mut town| {
        town.get("/a");
        let mut dates = Vec::new();
        // The date ticks at 700 ms.
        for ms in [100, 600, 800] {
            town.at(ms);
            let page = town.get("/a").page();
            assert!(page.hit);
            let prebuilt = page.prebuilt.unwrap();
            let date = str::from_utf8(town.now.date.text()).unwrap();
            assert!(prebuilt.contains(&format!("\r\nDate: {date}\r\n")), "{prebuilt}");
            dates.push(date.to_string());
        }
        assert!(dates[0] == dates[1] && dates[1] != dates[2]);
    });
}
