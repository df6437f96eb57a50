//! The cache keeps within its bounds, and threads share it.

use crate::town::{Got, Town};
use cache::PolicyKind;
use h1::{Content, Found, Status};
use site::{Settings, Statistics};

fn many(count: usize) -> Vec<(String, String)> {
    (0..count).map(|n| (format!("f{n}"), format!("{n:01000}"))).collect()
}

fn town(settings: &Settings, files: &[(String, String)]) -> Town {
    let files: Vec<_> = files.iter().map(|(name, text)| (&name[..], &text[..])).collect();
    Town::with(settings, &files)
}

#[test]
fn an_empty_cache_holds_nothing() {
    let town = Town::new(&[]);
    assert_eq!(town.site.statistics(), Statistics::default());
}

#[test]
fn bytes_are_bounded_and_the_least_recently_used_go() {
    let policy = PolicyKind::Lru;
    let settings = Settings { cache_bytes: 32 << 10, policy, ..Settings::default() };
    let files = many(40);
    let town = town(&settings, &files);
    for (name, text) in &files {
        assert_eq!(town.get(&format!("/{name}")).text(), *text);
        assert!(town.site.statistics().bytes <= 32 << 10);
        // Asked for all the time, so it stays.
        town.get("/f0");
    }
    assert!(town.get("/f0").page().hit);
    assert!(town.get("/f39").page().hit);
    assert!(!town.get("/f1").page().hit);
    assert!(town.site.statistics().entries > 5);
}

/// With its head or without, a file in memory is there once.
#[test]
fn contents_are_kept_once() {
    const FILE_BYTES: usize = 8 << 10;
    for head_cache in [true, false] {
        let settings = Settings { cache_bytes: 1 << 20, head_cache, ..Settings::default() };
        let content = "x".repeat(FILE_BYTES);
        let files: Vec<_> = (0..200).map(|n| (format!("f{n}"), content.clone())).collect();
        let town = town(&settings, &files);
        files.iter().for_each(|(name, _)| drop(town.get(&format!("/{name}"))));
        let Statistics { entries, bytes, .. } = town.site.statistics();
        assert!(bytes <= 1 << 20);
        // Refusals have a share of their own, and a head is several hundred bytes.
        assert!(entries as usize * FILE_BYTES > (1 << 20) * 4 / 5, "{entries} files");
        let Found::Answer(answer) = town.find("/f199", "identity") else { panic!() };
        let Content::Bytes(chunk) = &answer.representation.content else { panic!() };
        assert_eq!(chunk.bytes(), content.as_bytes());
        let reply = answer.prebuilt.as_ref();
        assert_eq!(reply.is_some_and(|reply| std::ptr::eq(&*reply.of, &*chunk.of)), head_cache);
    }
}

#[test]
fn descriptors_are_bounded() {
    for cache_files in [0, 1, 7] {
        let settings = Settings { cache_files, small_bytes_max: 10, ..Settings::default() };
        let files = many(20);
        let town = town(&settings, &files);
        for (name, text) in files.iter().chain(&files) {
            assert_eq!(town.get(&format!("/{name}")).text(), *text);
            let held = town.site.statistics().descriptors;
            assert!(held <= cache_files as u64, "{held} of {cache_files}");
        }
        assert_eq!(town.site.statistics().entries, cache_files as u64);
        let open = town.get("/f19").page();
        assert_eq!(open.hit, cache_files > 0);
    }
}

#[test]
fn a_file_outlives_its_eviction_while_it_is_sent() {
    let settings = Settings { cache_files: 1, small_bytes_max: 0, ..Settings::default() };
    let town = Town::with(&settings, &[("a", "first"), ("b", "second")]);
    let lookup = town.lookup("/a");
    let h1::Loaded::Answer(answer) = town.site.load(&lookup, &town.now) else { panic!() };
    town.get("/b");
    let Content::File { file, .. } = &answer.representation.content else { panic!() };
    let mut bytes = [0; 5];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 5);
    assert_eq!(&bytes, b"first");
}

#[test]
fn invented_names_push_no_file_out() {
    let settings = Settings { cache_bytes: 64 << 10, ..Settings::default() };
    let town = Town::with(&settings, &[("a", "text")]);
    town.get("/a");
    for n in 0..1000 {
        assert_eq!(town.get(&format!("/none{n}")), Got::Status(Status::NOT_FOUND));
    }
    assert!(town.get("/a").page().hit);
    let statistics = town.site.statistics();
    assert!(statistics.bytes <= 64 << 10);
    assert!(statistics.entries > 1);
}

#[test]
fn a_cache_of_nothing_still_serves() {
    let settings = Settings { cache_bytes: 0, cache_files: 0, shards: 0, ..Settings::default() };
    let town = Town::with(&settings, &[("a", "text")]);
    for _ in 0..3 {
        let page = town.get("/a").page();
        assert_eq!((&page.text[..], page.hit), ("text", false));
        assert_eq!(town.get("/b"), Got::Status(Status::NOT_FOUND));
    }
    assert_eq!(town.site.statistics().entries, 0);
}

/// However many locks there are, they share one set of bounds.
#[test]
fn locks_share_the_bounds() {
    // Files are kept open, or their content is in memory.
    for small_bytes_max in [0, 2000] {
        for shards in [1, 2, 3, 16, 64] {
            let (cache_bytes, cache_files) = (512 << 10, 300);
            let bounds = Settings { cache_bytes, cache_files, ..Settings::default() };
            let settings = Settings { small_bytes_max, shards, ..bounds };
            let files = many(400);
            let town = town(&settings, &files);
            for (name, text) in &files {
                assert_eq!(town.get(&format!("/{name}")).text(), *text);
                let Statistics { bytes, descriptors, .. } = town.site.statistics();
                assert!(bytes <= cache_bytes, "{bytes} bytes with {shards} locks");
                assert!(descriptors <= cache_files as u64, "{descriptors} with {shards} locks");
            }
            assert!(town.site.statistics().entries > 0, "{shards} locks");
        }
    }
}

/// With whatever policy, and where several find answers in one part at the same time.
#[test]
fn eight_threads_share_one_site() {
    for policy in PolicyKind::ALL {
        check_eight_threads(&Settings { policy: *policy, shards: 4, ..Settings::default() });
        let entry_locks = policy.hits_are_local();
        check_eight_threads(&Settings { policy: *policy, entry_locks, ..Settings::default() });
    }
}

fn check_eight_threads(settings: &Settings) {
    const ROUNDS: u64 = 10;
    let settings = Settings {
        cache_bytes: 128 << 10,
        cache_files: 8,
        small_bytes_max: 500,
        ..settings.clone()
    };
    let mut files = many(16);
    files.extend((0..16).map(|n| (format!("s{n}"), format!("small {n}"))));
    let mut town = town(&settings, &files);
    for round in 0..ROUNDS {
        town.at(round * 500);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (town, files) = (&town, &files);
                scope.spawn(move || {
                    for step in 0..files.len() {
                        let (name, text) = &files[(step * 7 + thread) % files.len()];
                        assert_eq!(town.get(&format!("/{name}")).text(), *text);
                        assert_eq!(town.get("/none"), Got::Status(Status::NOT_FOUND));
                    }
                });
            }
        });
    }
    let statistics = town.site.statistics();
    let asked = ROUNDS * 8 * 2 * files.len() as u64;
    assert_eq!(statistics.hits + statistics.misses, asked, "{:?}", settings.policy);
    assert_eq!(statistics.hits > 0, settings.policy != PolicyKind::None);
    assert!(statistics.bytes <= 128 << 10);
    assert!(statistics.descriptors <= 8);
}
