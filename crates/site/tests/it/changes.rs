//! Changes on disk show within one second, and nothing is read again that has not changed.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::time::{Duration, SystemTime};

use crate::town::{Got, Town};
use h1::{Answer, Chunk, Found, Loaded, Shared, Status};
use site::{Settings, Site};

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

/// By rsync --inplace for instance: no new bytes are sent under the validators of the old ones.
#[test]
fn a_file_that_changes_in_place_is_looked_at_at_once() {
    let settings = Settings { small_bytes_max: 0, ..Settings::default() };
    let town = Town::with(&settings, &[("a", "AAAA"), ("b", "text")]);
    let old = [town.get("/a").page(), town.get("/a").page()];
    assert_eq!(old.each_ref().map(|page| page.hit), [false, true]);
    // A later time, however coarse the clock of the file system is.
    let later = SystemTime::now() + Duration::from_secs(10);
    for text in ["BBBB", "longer than that"] {
        fs::write(town.path("a"), text).unwrap();
        fs::File::open(town.path("a")).unwrap().set_modified(later).unwrap();
        let new = town.get("/a").page();
        assert_eq!((&*new.text, new.hit), (text, false));
        let misses = town.site.statistics().misses;
        assert!(town.get("/a").page().hit);
        assert_eq!(town.site.statistics().misses, misses);
    }
    assert_eq!(town.site.statistics().misses, 3, "the first time, and after each change");
    // A new file under the old name is found when the name is looked at again.
    assert_eq!(town.get("/b").text(), "text");
    fs::remove_file(town.path("b")).unwrap();
    town.write("b", "other");
    assert!(town.get("/b").page().hit);
}

#[test]
fn answers_come_of_age() {
    // Age; how long after it was compared it is asked for, and whether memory answers.
    let rows = [
        (0, 0, false),
        (0, 5000, false),
        (1, 0, true),
        (1, 1, false),
        (900, 899, true),
        (900, 900, false),
        (60_000, 59_999, true),
        (60_000, 60_000, false),
    ];
    for (age, ms, hit) in rows {
        let answer_age = Duration::from_millis(age);
        let mut town =
            Town::with(&Settings { answer_age, ..Settings::default() }, &[("a", "text")]);
        for missing in [false, true] {
            let path = if missing { "/b" } else { "/a" };
            town.at(0);
            town.get(path);
            town.at(ms);
            let is_miss = matches!(town.find(path, "identity"), Found::Miss(_));
            assert_eq!(is_miss, !hit, "{path} after {ms} of {age} ms");
        }
    }
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
        // What is read anew is made while the old is still kept, so it lies elsewhere.
        let load = |town: &Town| match town.site.load(&lookup, &town.now) {
            Loaded::Answer(answer) => Shared::as_ptr(&answer.representation),
            other => panic!("{other:?}"),
        };
        let first = load(&town);
        for second in 1..5 {
            town.at(second * 1000);
            assert!(!town.get("/a").page().hit, "it is compared");
            assert!(town.get("/a").page().hit);
            assert_eq!(first, load(&town), "and kept");
        }
        town.write("a", "two");
        assert_ne!(first, load(&town));
    });
}

#[test]
fn a_file_changed_just_now_is_read_again_because_its_times_prove_nothing() {
    let mut town = Town::new(&[("a", "one")]);
    let changed = fs::metadata(town.path("a")).unwrap().ctime().unsigned_abs();
    let lookup = town.lookup("/a");
    let mut load = |ms| {
        town.now = crate::town::now(changed, ms);
        match town.site.load(&lookup, &town.now) {
            Loaded::Answer(answer) => Shared::as_ptr(&answer.representation),
            other => panic!("{other:?}"),
        }
    };
    let fresh = load(0);
    let settled = load(4000);
    assert_ne!(fresh, settled);
    assert_eq!(settled, load(8000));
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

/// What is being sent when a second begins stays as it is; the next answer has the new date.
#[test]
fn what_is_being_sent_keeps_its_bytes() {
    // What of an answer is still held by whoever sends it, and whether the bytes move for it.
    type Held = (Option<Answer<os::File>>, Option<Chunk>);
    type Hold = fn(Answer<os::File>) -> Held;
    let rows: [(Hold, bool); 3] = [
        (|_| (None, None), false),
        (|answer| (None, answer.prebuilt), true),
        (|answer| (Some(answer), None), true),
    ];
    let mut town = Town::new(&[("a", "text")]);
    town.get("/a");
    let hit = |town: &Town| match town.find("/a", "identity") {
        Found::Answer(answer) => answer,
        other => panic!("{other:?}"),
    };
    let (mut ms, mut sent) = (0, Vec::new());
    for (hold, moves) in rows {
        // The date ticks at 700 ms.
        town.at(ms + 600);
        let answer = hit(&town);
        let before = answer.prebuilt.clone().unwrap();
        let (at, text) = (before.bytes().as_ptr(), before.bytes().to_vec());
        drop(before);
        let (answer, reply) = hold(answer);
        town.at(ms + 800);
        let after = hit(&town).prebuilt.unwrap();
        assert_eq!(after.bytes().as_ptr() != at, moves);
        assert_ne!(after.bytes(), text, "another date");
        let reply = reply.or_else(|| answer?.prebuilt);
        sent.extend(reply.map(|reply| (reply, text)));
        ms += 1000;
        town.at(ms);
        town.get("/a");
    }
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|(reply, text)| reply.bytes() == text));
}

/// Its `Last-Modified` is the date of the reply, as long as that is the earlier one.
#[test]
fn a_file_of_the_future() {
    let mut town = Town::new(&[("a", "text")]);
    let later = SystemTime::now() + Duration::from_secs(86_400 * 9);
    let file = fs::File::options().write(true).open(town.path("a")).unwrap();
    file.set_modified(later).unwrap();
    town.get("/a");
    for ms in [100, 800] {
        town.at(ms);
        let prebuilt = town.get("/a").page().prebuilt.unwrap();
        let date = str::from_utf8(town.now.date.text()).unwrap();
        assert!(prebuilt.contains(&format!("\r\nDate: {date}\r\n")), "{prebuilt}");
        assert!(prebuilt.contains(&format!("\r\nLast-Modified: {date}\r\n")), "{prebuilt}");
    }
}

/// One looks whether an old answer still holds; the others hear it meanwhile, and not for ever.
#[test]
fn one_looks_for_all() {
    enum Who {
        Asks(Heard),
        Loads(Heard),
        GivesUp,
    }
    #[derive(Debug, PartialEq)]
    enum Heard {
        Old,
        New,
        Miss,
    }
    use Heard::{Miss, New, Old};
    use Who::{Asks, GivesUp, Loads};
    let rows = [
        // Within its age, and at its end.
        (899, Asks(Old)),
        (900, Asks(Miss)),
        (900, Asks(Old)),
        (1500, Asks(Old)),
        // Nobody looks any more.
        (1600, GivesUp),
        (1600, Asks(Miss)),
        (1601, Asks(Old)),
        // The disk takes too long.
        (8999, Asks(Old)),
        (9000, Asks(Miss)),
        (9000, Asks(Miss)),
        (9100, Loads(New)),
        (9100, Asks(New)),
        (9999, Asks(New)),
        (10_000, Asks(Miss)),
        (10_000, Asks(New)),
        (10_000, Loads(New)),
        (10_899, Asks(New)),
        (10_900, Asks(Miss)),
    ];
    // A file that changes; one that comes. A refusal is never sent instead of a look.
    for before in [Some("old"), None] {
        let mut town = Town::new(&[]);
        before.into_iter().for_each(|text| town.write("a", text));
        let lookup = town.lookup("/a");
        town.load(&lookup);
        town.write("a", "new");
        let heard = |got: Got| match (got, before) {
            (Got::Page(page), _) if page.text == "new" => New,
            (Got::Page(page), Some(before)) if page.text == before => Old,
            (Got::Status(Status::NOT_FOUND), None) => Old,
            other => panic!("{other:?}"),
        };
        for (ms, who) in &rows {
            town.at(*ms);
            let (got, expected) = match who {
                Asks(expected) => (town.hear("/a").map_or(Miss, heard), expected),
                Loads(expected) => (heard(town.load(&lookup)), expected),
                GivesUp => {
                    let known = town.give_up(&lookup).map(heard);
                    assert_eq!(known, before.map(|_| Old), "{before:?} at {ms} ms");
                    continue;
                }
            };
            assert_eq!(got, *expected, "{before:?} at {ms} ms");
        }
    }
}

/// Whoever wants to look each time gets nothing old, whoever else looks.
#[test]
fn without_an_age_all_look() {
    let settings = Settings { answer_age: Duration::ZERO, ..Settings::default() };
    let mut town = Town::with(&settings, &[("a", "text")]);
    for path in ["/a", "/none"] {
        for ms in [0, 0, 1] {
            town.at(ms);
            assert!(town.hear(path).is_none(), "{path} at {ms} ms");
            town.get(path);
        }
    }
}
