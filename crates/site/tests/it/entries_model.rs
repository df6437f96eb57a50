//! Entries with locks of their own, as they ship, in every order in which a few threads can find
//! one while another makes room. The locks are loom's, which tries these orders one after the
//! other.

#[path = "../../src/entries.rs"]
#[allow(dead_code, unreachable_pub, reason = "a module of a library, all alone")]
mod entries;
mod sync {
    pub(crate) use loom::sync::Mutex;
}

use std::time::Duration;

use cache::{PolicyKind, Weight};
use h1::Codings;
use loom::sync::{Arc, RwLock};
use loom::thread;
use measure::Instant;

use entries::{Entries, Entry, Hits, Key};

/// Bugs that need more than so many interruptions are hardly known, and each more makes the orders
/// many times as many.
const INTERRUPTIONS_MAX: usize = 3;

/// Entries that have room.
const ROOM: u64 = 3;

type Shard = RwLock<Entries<u32>>;

fn key(name: &'static [u8]) -> Key<'static, impl Fn() -> Codings> {
    Key { hash: u64::from(name[0]), root: 0, path: name, codings: Codings::default }
}

fn come(entries: &mut Entries<u32>, name: &'static [u8]) -> usize {
    let entry = Entry::new(&key(name), name.into(), None, Instant::from_ms(0), 0);
    entries.insert(entry, Weight { bytes: 0, descriptors: 1 }, 0).len()
}

/// Finds it beside others; says whether it is in. Where all come late, the first of them is to
/// look, and the others are answered.
fn hit(shard: &Shard, name: &'static [u8], are_late: bool) -> bool {
    let entries = shard.read().unwrap();
    let Some(index) = entries.find(&key(name)) else { return false };
    let age = Duration::from_secs(if are_late { 1 } else { 100 });
    let now = Instant::from_ms(5_000);
    let answered = (&*entries).hit(index, age, now, |times| *times += 1).is_some();
    assert!(answered || are_late);
    true
}

fn explore(policy: PolicyKind, uses: fn(&Arc<Shard>)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(INTERRUPTIONS_MAX);
    model.check(move || {
        let bounds = Weight { bytes: u64::MAX, descriptors: ROOM };
        let mut entries = Entries::new(bounds, policy);
        for name in [&b"a"[..], b"b", b"c"] {
            assert_eq!(come(&mut entries, name), 0);
        }
        uses(&Arc::new(RwLock::new(entries)));
    });
}

/// The eldest goes unless somebody has found it before: then that is heard, whoever was at it.
#[test]
fn a_hit_is_heard_by_who_makes_room() {
    explore(PolicyKind::Sieve, |shard| {
        let finders = [(); 2].map(|()| {
            let shard = Arc::clone(shard);
            thread::spawn(move || hit(&shard, b"a", false))
        });
        let gone = come(&mut shard.write().unwrap(), b"d");
        assert_eq!(gone, 1);
        let found = finders.map(|finder| finder.join().unwrap());
        let mut entries = shard.write().unwrap();
        let is_in = entries.find(&key(b"a"));
        match is_in {
            // Who came later found it, too.
            Some(index) => {
                let times = found.iter().filter(|found| **found).count() as u32;
                assert_eq!((times, entries.held(index).value), (2, 2));
            }
            None => assert_eq!(found, [false, false]),
        }
    });
}

/// The same where once is not enough: two have to find it before room is made. It goes to those who
/// stay then, and the next one goes.
#[test]
fn hits_are_heard_by_who_makes_room_where_two_are_needed() {
    explore(PolicyKind::S3Fifo, |shard| {
        let finders = [(); 2].map(|()| {
            let shard = Arc::clone(shard);
            thread::spawn(move || hit(&shard, b"a", false))
        });
        let gone = come(&mut shard.write().unwrap(), b"d");
        assert_eq!(gone, 1);
        let found = finders.map(|finder| finder.join().unwrap());
        let mut entries = shard.write().unwrap();
        let times = found.iter().filter(|found| **found).count() as u32;
        match entries.find(&key(b"a")) {
            Some(index) => assert_eq!((times, entries.held(index).value), (2, 2)),
            None => assert!(times < 2, "both were heard of, and it has gone"),
        }
        let others = [&b"b"[..], b"c", b"d"].map(|name| entries.find(&key(name)).is_some());
        let inside = others.iter().filter(|is_in| **is_in).count();
        let expected = if entries.find(&key(b"a")).is_some() { 2 } else { 3 };
        assert_eq!(inside, expected);
    });
}

/// Of several who come when an entry is old, one looks.
#[test]
fn one_of_those_who_come_late_looks() {
    explore(PolicyKind::S3Fifo, |shard| {
        let finders = [(); 2].map(|()| {
            let shard = Arc::clone(shard);
            thread::spawn(move || hit(&shard, b"b", true))
        });
        assert!(finders.map(|finder| finder.join().unwrap()).iter().all(|found| *found));
        let mut entries = shard.write().unwrap();
        let index = entries.find(&key(b"b")).expect("nobody has gone");
        assert_eq!(entries.held(index).value, 1);
    });
}
