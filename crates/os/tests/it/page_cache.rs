//! Whether a file can be read without waiting for the disk, and how it comes to be so.

use std::io::Write;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use os::{Directory, File, Opened};
use rustix::fs::{Advice, fadvise};

const PAGE: u64 = 4096;
/// The file of most rows: 64 pages, and a bit of one more.
const SIZE: u64 = 64 * PAGE + 100;
/// To drop pages, a millisecond apart.
const TRIES: usize = 10_000;

/// What was dropped from the cache, what is asked about, and whether it is there.
#[test]
fn missing_pages_are_noticed() {
    let all = 0..SIZE;
    let rows = [
        (0..0, all.clone(), true),
        (all.clone(), all.clone(), false),
        (all.clone(), 0..1, false),
        (all.clone(), SIZE - 1..SIZE, false),
        (all.clone(), 5..5, true),
        // A hole at the beginning, between and at the end, seen whole and from both sides.
        (0..PAGE, all.clone(), false),
        (0..PAGE, 0..1, false),
        (0..PAGE, PAGE - 1..PAGE, false),
        (0..PAGE, PAGE - 1..PAGE + 1, false),
        (0..PAGE, PAGE..SIZE, true),
        (33 * PAGE..34 * PAGE, all.clone(), false),
        (33 * PAGE..34 * PAGE, 0..33 * PAGE, true),
        (33 * PAGE..34 * PAGE, 0..33 * PAGE + 1, false),
        (33 * PAGE..34 * PAGE, 34 * PAGE - 1..SIZE, false),
        (33 * PAGE..34 * PAGE, 34 * PAGE..SIZE, true),
        (63 * PAGE..64 * PAGE, all.clone(), false),
        (63 * PAGE..64 * PAGE, 64 * PAGE..SIZE, true),
        // What is not in the file is not in memory.
        (0..0, 0..SIZE + 1, false),
        (0..0, SIZE..SIZE + 1, false),
        (0..0, 0..u64::MAX, false),
        (0..0, u64::MAX - 1..u64::MAX, false),
    ];
    for (dropped, asked, expected) in rows {
        let Some(file) = Cached::new() else { return };
        file.drop_pages(dropped.start, dropped.end);
        let seen = [
            file.file.is_resident(asked.start, asked.end),
            file.file.is_resident_throughout(asked.start, asked.end),
        ];
        assert_eq!(seen, [expected; 2], "without {dropped:?}: {asked:?}");
    }
}

/// From where to where; afterwards that much is there.
#[test]
fn what_was_fetched_is_there() {
    let rows =
        [0..SIZE, 0..1, SIZE - 1..SIZE, 10 * PAGE..20 * PAGE, PAGE - 1..PAGE + 1, 0..2 * SIZE];
    for range in rows {
        let Some(file) = Cached::new() else { return };
        file.drop_pages(0, SIZE);
        file.file.fetch(range.start, range.end).unwrap();
        assert!(file.file.is_resident(range.start, range.end.min(SIZE)), "{range:?}");
    }
}

/// Nothing to fetch is no reason to wait or to complain.
#[test]
fn nothing_is_fetched_beyond_the_end() {
    let Some(file) = Cached::new() else { return };
    for (at, end) in [(SIZE, SIZE + 1), (SIZE, u64::MAX), (5, 5), (7, 3), (1 << 40, 1 << 41)] {
        file.file.fetch(at, end).unwrap();
    }
    assert!(file.file.is_resident(7, 3), "nothing of nothing is missing");
    assert!(file.file.fetch(u64::MAX - 1, u64::MAX).is_err(), "no file has such a byte");
    let writer = std::fs::File::options().write(true).open(file.path()).unwrap();
    writer.set_len(PAGE).unwrap();
    file.file.fetch(0, SIZE).unwrap();
    assert!(file.file.is_resident(0, PAGE));
    assert!(!file.file.is_resident(0, PAGE + 1));
}

/// A file without blocks is not in memory either, before it is read.
#[test]
fn holes_have_pages_too() {
    let Some(file) = Cached::new() else { return };
    let writer = std::fs::File::create(file.path()).unwrap();
    writer.set_len(SIZE).unwrap();
    assert!(!file.file.is_resident(0, SIZE));
    file.file.fetch(0, SIZE).unwrap();
    assert!(file.file.is_resident(0, SIZE));
}

/// What is read comes into the cache, and goes when it is dropped.
#[test]
fn pages_are_counted_and_dropped() {
    let Some(cached) = Cached::new() else { return };
    let file = std::fs::File::open(cached.path()).unwrap();
    for (fetched, pages) in [(0, 0), (SIZE, SIZE.div_ceil(PAGE)), (0, 0)] {
        drop_until(&file, 0, || os::page_cache::drop_pages(&file).unwrap());
        cached.file.fetch(0, fetched).unwrap();
        match os::page_cache::cached_bytes(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {
                return harness::skip(format!("needs Linux 6.5, to count cached pages: {error}"));
            }
            bytes => assert_eq!(bytes.unwrap(), pages * PAGE, "{fetched} bytes were fetched"),
        }
    }
}

/// Linux tells only owners and writers which pages there are; others have to try.
#[test]
fn files_of_others_are_probed() {
    if harness::lacks(&[harness::Need::Root]) {
        return;
    }
    for (dropped, expected) in [(0..0, true), (0..SIZE, false), (0..PAGE, false)] {
        let Some(file) = Cached::new() else { return };
        file.drop_pages(dropped.start, dropped.end);
        let file = &file.file;
        let seen = crate::nobody::act(|| {
            [file.is_resident(0, SIZE), file.is_resident_throughout(0, SIZE)]
        });
        assert_eq!(seen, [expected; 2], "without {dropped:?}");
    }
}

/// From where, and what is read into 8 bytes.
#[test]
fn files_are_read_from_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("file"), "0123456789").unwrap();
    let file = open(directory.path());
    let rows: [(u64, &[u8]); 7] = [
        (0, b"01234567"),
        (2, b"23456789"),
        (3, b"3456789"),
        (9, b"9"),
        (10, b""),
        (11, b""),
        (1 << 40, b""),
    ];
    for (at, expected) in rows {
        let mut buffer = [0; 8];
        let n = file.read_at(&mut buffer, at).unwrap();
        assert_eq!(&buffer[..n], expected, "from {at}");
        assert_eq!(file.read_at(&mut [], at).unwrap(), 0);
    }
    file.read_at(&mut [0], u64::MAX).unwrap_err();
    assert_eq!(file.stat().unwrap().size, 10);
    std::fs::write(directory.path().join("file"), "0123").unwrap();
    assert_eq!(file.read_at(&mut [0; 8], 0).unwrap(), 4, "as long as it is now");
    assert_eq!(file.stat().unwrap().size, 4);
}

/// A file that is on the disk and in the cache, in pages of their own.
struct Cached {
    directory: tempfile::TempDir,
    file: File,
}

impl Cached {
    /// `None`, and says so: on this file system the cache cannot be dropped, or tells nothing.
    fn new() -> Option<Self> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut writer = std::fs::File::create(directory.path().join("file")).unwrap();
        // Written at once, pages are kept together, and dropped together only.
        for page in [b'x'; SIZE as usize].chunks(PAGE as usize) {
            writer.write_all(page).unwrap();
        }
        // What the disk does not have yet cannot be dropped.
        writer.sync_all().unwrap();
        let cached = Self { file: open(directory.path()), directory };
        if cached.tells() {
            return Some(cached);
        }
        let place = env!("CARGO_TARGET_TMPDIR");
        harness::skip(format!("needs a file system at {place} that tells what is cached"));
        None
    }

    /// Whether the kernel tells which pages of the file are cached. On a tmpfs all of a file is in
    /// memory, and on an overlay the pages belong to the file below.
    fn tells(&self) -> bool {
        let is_tmpfs = rustix::fs::fstatfs(&self.file).unwrap().f_type == TMPFS_MAGIC;
        std::fs::read(self.path()).unwrap();
        rustix::param::page_size() as u64 == PAGE && !is_tmpfs && self.file.is_resident(0, SIZE)
    }

    /// Drops whole pages.
    fn drop_pages(&self, at: u64, end: u64) {
        let Some(bytes) = NonZeroU64::new(end - at) else { return };
        let file = std::fs::File::open(self.path()).unwrap();
        let kept = (SIZE.div_ceil(PAGE) - bytes.get().div_ceil(PAGE)) * PAGE;
        drop_until(&file, kept, || fadvise(&file, at, Some(bytes), Advice::DontNeed).unwrap());
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("file")
    }
}

/// Drops again and again until no more bytes are left: the kernel leaves pages that it is at work
/// on just then.
fn drop_until(file: &std::fs::File, left: u64, drops: impl Fn()) {
    for _ in 0..TRIES {
        drops();
        // An older kernel does not tell.
        if os::page_cache::cached_bytes(file).map_or(true, |bytes| bytes <= left) {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// linux/magic.h.
const TMPFS_MAGIC: i64 = 0x0102_1994;

fn open(directory: &Path) -> File {
    match Directory::open(directory).unwrap().open_beneath(b"file").unwrap() {
        Opened::File(file, _) => file,
        other => panic!("{other:?}"),
    }
}
