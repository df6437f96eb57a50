//! What is served is the same whatever policy the cache has, its own or one that processes share;
//! and what the operator says of paths is heeded.

use std::fs;
use std::time::Duration;

use crate::town::{Got, Town};
use cache::PolicyKind;
use h1::{Content, Loaded, Status};
use site::rules::{Effect, Host, Origin, Rule, Rules};
use site::{HINTS_MAX, Hints, Missing, Settings, Site, Statistics};
use tempfile::TempDir;

const FILES: usize = 120;
const CACHE_BYTES: u64 = 64 << 10;
const CACHE_FILES: usize = 6;

/// Some files are kept in memory, some open; of a cache that processes share all are in memory,
/// as there is but one here.
fn town(policy: PolicyKind, in_common: bool, hints: &str) -> Town {
    let settings = Settings {
        cache_bytes: CACHE_BYTES,
        cache_files: CACHE_FILES,
        small_bytes_max: if in_common { 1 << 20 } else { 1_500 },
        policy,
        hints: Hints::parse(hints).expect("hints"),
        ..Settings::default()
    };
    let files: Vec<_> = (0..FILES).map(|n| (name(n), text(n))).collect();
    let files: Vec<_> = files.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    let town = Town::with(&settings, &files);
    if in_common {
        town.site.share(2).expect("memory");
    }
    town
}

fn name(n: usize) -> String {
    format!("d{}/f{n}", n % 7)
}

fn text(n: usize) -> String {
    format!("{n:0$}", 1 + n * 37 % 2_000)
}

#[test]
fn every_policy_serves_what_there_is_within_the_bounds() {
    for policy in PolicyKind::ALL {
        for in_common in [false, true] {
            let town = town(*policy, in_common, "/d1/f1\n");
            for step in 0..3_000_usize {
                // Half of the requests are for a tenth of the files.
                let mixed = step.wrapping_mul(0x9e37_79b9) >> 7;
                let n = if step % 2 == 0 { mixed % FILES } else { mixed % (FILES / 10) };
                let page = town.get(&format!("/{}", name(n)));
                assert_eq!(page.text(), text(n), "{policy:?}");
                if step % 50 == 0 {
                    assert_eq!(town.get("/none"), Got::Status(Status::NOT_FOUND));
                    assert_eq!(town.site.check(), Ok(true), "{policy:?}");
                }
                let Statistics { bytes, descriptors, .. } = town.site.statistics();
                assert!(bytes <= CACHE_BYTES, "{policy:?}: {bytes} bytes");
                assert!(descriptors <= CACHE_FILES as u64, "{policy:?}: {descriptors} files");
            }
            let hits = town.site.statistics().hits;
            let expected = if *policy == PolicyKind::None { 0..=0 } else { 300..=3_000 };
            assert!(expected.contains(&hits), "{policy:?}, shared {in_common}: {hits} hits");
        }
    }
}

#[test]
fn what_is_sent_stays_open_whoever_goes() {
    for policy in PolicyKind::ALL {
        let policy = *policy;
        let settings =
            Settings { cache_files: 2, small_bytes_max: 0, policy, ..Settings::default() };
        let files: Vec<_> = (0..20).map(|n| (format!("f{n}"), format!("text {n}"))).collect();
        let names: Vec<_> = files.iter().map(|(name, text)| (&name[..], &text[..])).collect();
        let town = Town::with(&settings, &names);
        let answers = names.iter().map(|(name, text)| {
            let lookup = town.lookup(&format!("/{name}"));
            let Loaded::Answer(answer) = town.site.load(&lookup, &town.now) else { panic!() };
            (answer, *text)
        });
        for (answer, text) in answers.collect::<Vec<_>>() {
            let Content::File { file, .. } = &answer.representation.content else { panic!() };
            let mut bytes = vec![0; text.len()];
            assert_eq!(file.read_at(&mut bytes, 0).unwrap(), text.len(), "{policy:?}");
            assert_eq!(bytes, text.as_bytes(), "{policy:?}");
        }
    }
}

/// One pass over all files: those of which a hint says so are still there. Where processes share
/// memory who lies beside one that goes may have to go, too.
#[test]
fn what_was_hinted_stays() {
    let hinted = [3, 10, 17];
    let hints: Vec<_> = hinted.iter().map(|n| format!("/{}\n", name(*n))).collect();
    for (policy, stays) in [(PolicyKind::Hinted, true), (PolicyKind::Lru, false)] {
        let town = town(policy, false, &hints.concat());
        (0..FILES).for_each(|n| drop(town.get(&format!("/{}", name(n)))));
        for n in hinted {
            let page = town.get(&format!("/{}", name(n))).page();
            assert_eq!(page.hit, stays, "{policy:?}: {n}");
        }
    }
}

#[test]
fn hints_are_paths_as_they_are_asked_for() {
    let rows = [
        ("a", "1: \"a\" is no path: it does not begin with a slash"),
        ("/a\n\n#\nhttp://a/b", "4: \"http://a/b\" is no path: it does not begin with a slash"),
    ];
    for (text, expected) in rows {
        let (line, why) = Hints::parse(text).expect_err(text);
        assert_eq!(format!("{line}: {why}"), expected);
    }
    let too_many: Vec<_> = (0..=HINTS_MAX).map(|n| format!("/{n}\n")).collect();
    let (line, why) = Hints::parse(&too_many.concat()).expect_err("too many");
    assert!(line == HINTS_MAX + 1 && why.starts_with("more than 100000 paths"), "{line}: {why}");
    assert!(Hints::parse(&too_many[1..].concat()).is_ok());
    assert!(Hints::parse("# of a log\n\n").expect("hints").is_empty());
}

#[test]
fn hints_that_lead_nowhere_are_counted() {
    let town = town(PolicyKind::Hinted, false, "");
    let told = |text: &str, most: usize| {
        let Missing { looked_up, nowhere, line } =
            town.site.missing(&Hints::parse(text).expect("hints"), most);
        (looked_up, nowhere, line)
    };
    let text = "#\n/d1/f1\n/d1//f1?query\n/d1/f2\n/none\n/.git\n/b%\n/d2/./f2\n";
    assert_eq!(told(text, 100), (6, 4, Some(4)));
    // So often the disk is asked, if not more often.
    assert_eq!(told(text, 1), (1, 0, None));
    assert_eq!(told(text, 2), (2, 1, Some(4)));
    assert_eq!(told("", 100), (0, 0, None));
}

/// A hint is what is asked for, wherever its root stands.
#[test]
fn hints_name_paths_and_not_files() {
    let place = TempDir::new().expect("a directory");
    fs::write(place.path().join("a"), "text").expect("written");
    let rule = Rule {
        at: "/docs".into(),
        effect: Effect::Root(place.path().into()),
        origin: Origin::flag("root"),
    };
    let host = Host { names: vec!["*".into()], rules: vec![rule] };
    let rules = Rules { hosts: vec![host] };
    let site = Site::new(place.path(), &Settings { rules, ..Settings::default() }).expect("a site");
    for (text, nowhere) in [("/docs/a", 0), ("/a", 1), ("/docs/b", 1)] {
        let hints = Hints::parse(text).expect("hints");
        assert_eq!(site.missing(&hints, 100).nowhere, nowhere, "{text}");
    }
}

/// A hint of a path beneath a root of its own is heeded, in memory that processes share; one of
/// what the file is called there is not.
#[test]
fn hints_beneath_a_root_of_its_own_are_heeded() {
    const HOT: usize = 20;
    let docs = TempDir::new().expect("a directory");
    for n in 0..1_000 {
        fs::write(docs.path().join(format!("f{n}")), "x".repeat(4_000)).expect("written");
    }
    for (at, are_heeded) in [("/docs", true), ("", false)] {
        let hints: Vec<_> = (0..HOT).map(|n| format!("{at}/f{n}\n")).collect();
        let rule = Rule {
            at: "/docs".into(),
            effect: Effect::Root(docs.path().into()),
            origin: Origin::flag("root"),
        };
        let settings = Settings {
            cache_bytes: 1 << 20,
            answer_age: Duration::from_secs(86_400),
            policy: PolicyKind::Hinted,
            hints: Hints::parse(&hints.concat()).expect("hints"),
            rules: Rules { hosts: vec![Host { names: vec!["*".into()], rules: vec![rule] }] },
            ..Settings::default()
        };
        let town = Town::with(&settings, &[]);
        town.site.share(2).expect("memory");
        (0..1_000).for_each(|n| drop(town.get(&format!("/docs/f{n}"))));
        let hot = (0..HOT).filter(|n| town.hear(&format!("/docs/f{n}")).is_some());
        let kept = hot.count();
        assert_eq!(kept > HOT / 2, are_heeded, "{at:?}: {kept} of {HOT}");
    }
}
