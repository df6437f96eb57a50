//! A site on a real directory, with a clock that is moved by hand.
#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use h1::{Answer, Connection, Content, Date, Found, Loaded, Lookup, Now, Shared, Status, Want};
use measure::Instant;
use site::{Settings, Site};
use tempfile::TempDir;

/// Everything happens a day from now, so that the files that a test writes are long settled.
const A_DAY: Duration = Duration::from_secs(86_400);

pub struct Town {
    pub site: Site,
    pub place: TempDir,
    start: u64,
    pub now: Now,
    writes: AtomicU64,
}

/// When the first file is written, in seconds since 1970; each later one a second later, so that
/// no test depends on how finely the file system tells times apart.
const FIRST_WRITE: u64 = 1_700_000_000;

impl Town {
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::with(&Settings::default(), files)
    }

    pub fn with(settings: &Settings, files: &[(&str, &str)]) -> Self {
        let place = TempDir::new().unwrap();
        let root = place.path().join("root");
        fs::create_dir(&root).unwrap();
        let later = SystemTime::now() + A_DAY;
        let start = later.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        let site = Site::new(&root, settings).unwrap();
        let town = Self { site, place, start, now: now(start, 0), writes: AtomicU64::new(0) };
        files.iter().for_each(|(name, text)| town.write(name, text));
        town
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join("root").join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        set_modified(&path, FIRST_WRITE + self.writes.fetch_add(1, Relaxed));
    }

    pub fn link(&self, target: impl AsRef<Path>, name: &str) {
        symlink(target, self.path(name)).unwrap();
    }

    /// Makes the file look as if it had been written so many seconds before all others.
    pub fn age(&self, name: &str, seconds: u64) {
        set_modified(&self.path(name), FIRST_WRITE - seconds);
    }

    /// Moves the clock to so many milliseconds after the start.
    pub fn at(&mut self, ms: u64) {
        self.now = now(self.start, ms);
    }

    pub fn find(&self, path: &str, codings: &str) -> Found<os::File> {
        let text = format!("GET {path} HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {codings}\r\n\r\n");
        let mut connection = Connection::<os::File>::new(Shared::default(), self.now.at);
        connection.received(text.as_bytes(), &self.now);
        match connection.want() {
            Want::Find(_, head) => self.site.find(&head, &self.now),
            other => panic!("{path} is not looked for: {other:?}"),
        }
    }

    /// What a client gets who takes no coding.
    pub fn get(&self, path: &str) -> Got {
        self.get_coded(path, "identity")
    }

    pub fn get_coded(&self, path: &str, codings: &str) -> Got {
        match self.find(path, codings) {
            Found::Answer(answer) => Got::of(&answer, true),
            Found::Status(status) => Got::Status(status),
            Found::Miss(lookup) => self.load(&lookup),
        }
    }

    /// What memory answers, if anything.
    pub fn hear(&self, path: &str) -> Option<Got> {
        match self.find(path, "identity") {
            Found::Answer(answer) => Some(Got::of(&answer, true)),
            Found::Status(status) => Some(Got::Status(status)),
            Found::Miss(_) => None,
        }
    }

    pub fn load(&self, lookup: &Lookup) -> Got {
        Got::loaded(&self.site.load(lookup, &self.now))
    }

    /// As [`Self::load`], as far as that needs no disk.
    pub fn compare(&self, lookup: &Lookup) -> Option<Got> {
        self.site.compare(lookup, &self.now).as_ref().map(Got::loaded)
    }

    /// The old answer that a request gets while the disk is looked at.
    pub fn old(&self, lookup: &Lookup) -> Option<Got> {
        self.site.old(lookup, &self.now).as_ref().map(Got::loaded)
    }

    /// The old answer that a request gets whose load is refused.
    pub fn give_up(&self, lookup: &Lookup) -> Option<Got> {
        self.site.give_up(lookup, &self.now).as_ref().map(Got::loaded)
    }

    pub fn lookup(&self, path: &str) -> Lookup {
        match self.find(path, "identity") {
            Found::Miss(lookup) => lookup,
            other => panic!("{path} is known: {other:?}"),
        }
    }
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Got {
    Status(Status),
    Page(Page),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub status: Status,
    pub text: String,
    pub media_type: String,
    pub etag: Option<String>,
    pub modified: Option<u64>,
    pub coding: Option<&'static str>,
    pub varies: bool,
    pub location: String,
    /// Whether it is sent from an open file.
    pub open: bool,
    /// Whether it came from memory.
    pub hit: bool,
    pub prebuilt: Option<String>,
}

impl Got {
    fn loaded(loaded: &Loaded<os::File>) -> Self {
        match loaded {
            Loaded::Answer(answer) => Self::of(answer, false),
            Loaded::Status(status) => Self::Status(*status),
            other => panic!("no answer to a path: {other:?}"),
        }
    }

    fn of(answer: &Answer<os::File>, hit: bool) -> Self {
        let representation = &answer.representation;
        let (bytes, open) = match &representation.content {
            Content::Bytes(chunk) => (chunk.bytes().to_vec(), false),
            Content::File { file, length } => {
                let mut bytes = vec![0; *length as usize];
                let n = file.read_at(&mut bytes, 0).unwrap();
                bytes.truncate(n);
                (bytes, true)
            }
        };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self::Page(Page {
            status: representation.status,
            text: text(&bytes),
            media_type: text(representation.words.media_type()),
            etag: representation.words.etag().map(text),
            modified: representation.modified,
            coding: representation.coding.map(h1::Coding::token),
            varies: representation.varies,
            location: representation.words.location().map(text).unwrap_or_default(),
            open,
            hit,
            prebuilt: answer.prebuilt.as_ref().map(|prebuilt| text(prebuilt.bytes())),
        })
    }

    pub fn page(self) -> Page {
        match self {
            Self::Page(page) => page,
            Self::Status(status) => panic!("refused with {status:?}"),
        }
    }

    pub fn text(self) -> String {
        self.page().text
    }
}

fn set_modified(path: &Path, seconds: u64) {
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let file = File::options().write(true).open(path).unwrap();
    file.set_times(FileTimes::new().set_modified(moment)).unwrap();
}

pub fn now(start: u64, ms: u64) -> Now {
    // The two clocks tick their seconds at different moments.
    Now { at: Instant::from_ms(ms + 123_456), date: Date::new(start + (ms + 300) / 1000) }
}
