//! A cache that processes share, asked by one of them: what is kept in memory. That files stay open
//! for all and what deaths leave is tested where there are processes.

use std::time::Duration;

use crate::town::Town;
use cache::PolicyKind;
use h1::{Answer, Content, Found};
use site::Settings;

/// The least recently used goes, so that it is known who.
fn shared(cache_bytes: u64, files: &[(&str, &str)]) -> Town {
    shared_by(PolicyKind::Lru, cache_bytes, files)
}

/// Answers hold for longer than any test: none is compared with the disk.
fn shared_by(policy: PolicyKind, cache_bytes: u64, files: &[(&str, &str)]) -> Town {
    let answer_age = Duration::from_secs(86_400);
    let settings = Settings { cache_bytes, answer_age, policy, ..Settings::default() };
    let town = Town::with(&settings, files);
    town.site.share(2).unwrap();
    town
}

fn hit(town: &Town, path: &str) -> Answer<os::File> {
    match town.find(path, "identity") {
        Found::Answer(answer) => answer,
        other => panic!("{path}: {other:?}"),
    }
}

fn content(answer: &Answer<os::File>) -> &[u8] {
    match &answer.representation.content {
        Content::Bytes(chunk) => chunk.bytes(),
        Content::File { .. } => panic!("in memory"),
    }
}

#[test]
fn an_answer_is_the_same_from_the_disk_and_from_memory() {
    let town = shared(1 << 20, &[("a/index.html", "page"), ("b.css", "p {}"), ("empty", "")]);
    for path in ["/a/", "/a", "/b.css", "/empty"] {
        let loaded = town.get(path).page();
        let kept = town.get(path).page();
        assert!(!loaded.hit && kept.hit, "{path}");
        assert_eq!(crate::town::Page { hit: true, ..loaded }, kept, "{path}");
    }
    assert_eq!(town.site.check(), Ok(true));
}

/// Whoever reads slowly is sent the reply of the second in which he came, for minutes. Others get
/// theirs with the date of this second, and all of them together keep one of it.
#[test]
fn who_reads_slowly_keeps_no_reply_for_each_second() {
    let text = "a".repeat(60_000);
    let mut town = shared(1 << 20, &[("a", &text), ("b", "small")]);
    town.get("/a");
    town.get("/b");
    let slow: Vec<_> = (1..100)
        .map(|second| {
            town.at(1000 * second);
            hit(&town, "/a")
        })
        .collect();
    assert!(town.hear("/b").is_some(), "nobody had to go for them");
    assert_eq!(town.site.check(), Ok(true));
    assert!(slow.iter().all(|answer| content(answer) == text.as_bytes()));
    let is_dated = |town: &Town| {
        let answer = hit(town, "/a");
        let date = str::from_utf8(town.now.date.text()).unwrap();
        answer.prebuilt.is_some_and(|reply| {
            let reply = str::from_utf8(reply.bytes()).unwrap();
            assert!(reply.ends_with(&text));
            reply.contains(date)
        })
    };
    assert!(!is_dated(&town), "composed while the one of before is sent");
    drop(slow);
    assert!(is_dated(&town), "and built when nobody is sent it");
    assert_eq!(town.site.check(), Ok(true));
}

/// Of two processes one may see the second before.
#[test]
fn a_date_is_not_set_back() {
    let mut town = shared(1 << 20, &[("a", "text")]);
    town.get("/a");
    let is_built = |town: &Town| hit(town, "/a").prebuilt.is_some();
    // (when, in ms after the start, whether a reply is there with the date of that second)
    for (ms, expected) in [(100_000, true), (99_000, false), (100_000, true), (50_000, true)] {
        town.at(ms);
        assert_eq!(is_built(&town), expected, "{ms}");
    }
}

/// Small answers lie everywhere, and those that have to go next lie apart. A large one has room
/// where some of them lie together, and takes no more away than it needs.
#[test]
fn a_large_answer_has_room_among_many_small_ones() {
    let names: Vec<String> = (0..1000).map(|n| format!("f{n}")).collect();
    let (small, large) = ("s".repeat(2_000), "l".repeat(30_000));
    let mut files: Vec<_> = names.iter().map(|name| (&**name, &*small)).collect();
    files.push(("large", &large));
    let town = shared(1 << 20, &files);
    for name in &names {
        town.get(&format!("/{name}"));
    }
    let kept = || names.iter().filter(|name| town.hear(&format!("/{name}")).is_some()).count();
    // In an order that has nothing to do with where they lie.
    let mut at = 1;
    for _ in 0..1000 {
        at = at * 7 % 1009;
        town.hear(&format!("/f{at}"));
    }
    let before = kept();
    town.get("/large");
    assert!(town.hear("/large").is_some(), "it is kept");
    let lost = before - kept();
    assert!(lost <= 64, "{lost} of {before} had to go for 30 KB");
    assert_eq!(town.site.check(), Ok(true));
}

/// What finds no room, because somebody is sent what lies there, leaves all but one as it is.
#[test]
fn who_asks_again_and_again_does_not_empty_the_cache() {
    let names: Vec<String> = (0..400).map(|n| format!("f{n}")).collect();
    let (small, large) = ("s".repeat(2_000), "l".repeat(500_000));
    let mut files: Vec<_> = names.iter().map(|name| (&**name, &*small)).collect();
    files.push(("large", &large));
    let settings = Settings { small_bytes_max: 1 << 20, ..Settings::default() };
    let answer_age = Duration::from_secs(86_400);
    let town = Town::with(&Settings { cache_bytes: 1 << 20, answer_age, ..settings }, &files);
    town.site.share(2).unwrap();
    for name in &names {
        town.get(&format!("/{name}"));
    }
    let hears = |name: &String| town.hear(&format!("/{name}")).is_some();
    let before = names.iter().filter(|name| hears(name)).count();
    let sent: Vec<_> = names.iter().filter(|name| hears(name)).step_by(10).collect();
    let sent: Vec<_> = sent.iter().map(|name| hit(&town, &format!("/{name}"))).collect();
    for _ in 0..5 {
        town.get("/large");
    }
    let after = names.iter().filter(|name| hears(name)).count();
    assert!(town.hear("/large").is_none() && after + 5 >= before, "{before}, then {after}");
    drop(sent);
    assert_eq!(town.site.check(), Ok(true));
}

#[test]
fn the_least_recently_used_goes_and_what_is_sent_stays() {
    let names: Vec<String> = (0..100).map(|n| format!("f{n}")).collect();
    let text = |n: usize| format!("{n:05}").repeat(6_000);
    let mut files: Vec<(&str, String)> = Vec::new();
    for (n, name) in names.iter().enumerate() {
        files.push((name, text(n)));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    let town = shared(1 << 20, &files);
    town.get("/f0");
    let sent = hit(&town, "/f0");
    for name in &names[1..] {
        town.get(&format!("/{name}"));
    }
    assert!(town.hear("/f0").is_none() && town.hear("/f99").is_some(), "the last is kept");
    assert_eq!(content(&sent), text(0).as_bytes(), "while it is being sent");
    assert!(town.site.statistics().bytes <= 1 << 20);
    drop(sent);
    assert_eq!(town.site.check(), Ok(true));
}

/// Whoever goes by whatever policy, and whatever comes into his place.
#[test]
fn what_is_sent_stays_whole_by_every_policy() {
    let text = |n: usize| format!("{n:05}").repeat(6_000);
    let files: Vec<(String, String)> = (0..100).map(|n| (format!("f{n}"), text(n))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    for policy in PolicyKind::ALL {
        let town = shared_by(*policy, 1 << 20, &files);
        let mut sent = Vec::new();
        for n in 0..100 {
            let path = format!("/f{n}");
            // Ever more often, so that they take the others' places by any policy.
            (0..=n / 5).for_each(|_| drop(town.get(&path)));
            if n % 7 == 0 && town.hear(&path).is_some() {
                sent.push((n, hit(&town, &path)));
            }
        }
        assert_eq!(sent.is_empty(), *policy == PolicyKind::None, "{policy:?}: nobody was kept");
        let gone = sent.iter().filter(|(n, _)| town.hear(&format!("/f{n}")).is_none()).count();
        assert!(gone > 0 || sent.is_empty(), "{policy:?}: nobody has gone");
        for (n, answer) in &sent {
            assert_eq!(content(answer), text(*n).as_bytes(), "{policy:?}: {n}");
        }
        drop(sent);
        assert_eq!(town.site.check(), Ok(true), "{policy:?}");
    }
}

/// One pass over all files takes nothing from those that are asked for again and again, where the
/// policy promises it; LRU forgets them.
#[test]
fn a_scan_does_in_common_memory_what_it_does_elsewhere() {
    const HOT: usize = 20;
    let text = "x".repeat(4_000);
    let names: Vec<String> = (0..1_000).map(|n| format!("f{n}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*text)).collect();
    use PolicyKind::{Lfu, Lru, S3Fifo, Sieve, WTinyLfu};
    for policy in [Lru, Lfu, WTinyLfu, S3Fifo, Sieve] {
        let town = shared_by(policy, 1 << 20, &files);
        for _ in 0..20 {
            names[..HOT].iter().for_each(|name| drop(town.get(&format!("/{name}"))));
        }
        names[HOT..].iter().for_each(|name| drop(town.get(&format!("/{name}"))));
        let hot = names[..HOT].iter();
        let kept = hot.filter(|name| town.hear(&format!("/{name}")).is_some()).count();
        let promises = policy != Lru;
        assert_eq!(kept > HOT / 2, promises, "{policy:?}: {kept} of {HOT}");
    }
}
