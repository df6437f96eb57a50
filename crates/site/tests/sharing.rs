//! A cache that processes share, asked by one of them: what is kept in memory. That files stay open
//! for all and what deaths leave is tested where there are processes.

mod town;

use std::time::Duration;

use h1::{Answer, Content, Found};
use site::Settings;
use town::Town;

/// Answers hold for longer than any test: none is compared with the disk.
fn shared(cache_bytes: u64, files: &[(&str, &str)]) -> Town {
    let answer_age = Duration::from_secs(86_400);
    let town = Town::with(&Settings { cache_bytes, answer_age, ..Settings::default() }, files);
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
        assert_eq!(town::Page { hit: true, ..loaded }, kept, "{path}");
    }
    assert_eq!(town.site.check(), Ok(true));
}

/// Each second the bytes move, as the reply of the second before is still being sent; what is not
/// sent any more is used again.
#[test]
fn replies_that_are_always_being_sent_have_room_for_ever() {
    let text = "a".repeat(60_000);
    let mut town = shared(1 << 20, &[("a", &text)]);
    town.get("/a");
    let mut sent = Vec::new();
    for second in 1..100 {
        town.at(1000 * second);
        let answer = hit(&town, "/a");
        let reply = answer.prebuilt.as_ref().unwrap_or_else(|| panic!("none after {second} s"));
        let date = str::from_utf8(town.now.date.text()).unwrap();
        let reply = str::from_utf8(reply.bytes()).unwrap();
        assert!(reply.contains(date) && reply.ends_with(&text), "after {second} s");
        // The one before is out.
        sent = vec![answer];
    }
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
