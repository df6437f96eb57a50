//! Processes that share a table of descriptors and a store, and are killed at any instruction.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use crate::keeper::Keeper;
use crate::keeper::goods::{KEYS, content, home, is_whole, open, open_beneath};
use os::process::{self, Pid};
use os::sharing::{Lent, Store};
use os::{Directory, File, Stat, Wake};

/// Processes that are killed, one after the other.
const KILLED: usize = 100;
const WORKERS: u16 = 3;
/// Where each says how far it is: behind its number.
const PROGRESS: usize = 3;

pub(crate) fn processes_are_killed_and_others_go_on(mut keeper: Keeper) {
    let home = home();
    let stats: Vec<Stat> = (0..KEYS).map(|key| open(home.path(), key).1).collect();
    let mut random = Random(1);
    let mut start = |keeper: &mut Keeper, number: u16| {
        let seed = random.next();
        keeper.start(number, |it| work(it, number, home.path(), &stats, Random(seed)))
    };
    let mut pids: Vec<Pid> = (1..=WORKERS).map(|number| start(&mut keeper, number)).collect();
    let mut emptied = 0;
    let mut drawn = Random(2);
    for _ in 0..KILLED {
        // All of them have gone on since the last one died.
        let before: Vec<u64> = (1..=WORKERS).map(|number| progress(&keeper, number)).collect();
        for (number, before) in (1..=WORKERS).zip(before) {
            while progress(&keeper, number) < before + 2 {
                let ended = process::wait_any_exited().unwrap();
                assert!(ended.is_none(), "by itself: {ended:?}");
                std::thread::yield_now();
            }
        }
        // At any instruction.
        (0..drawn.below(20_000)).for_each(|n| _ = std::hint::black_box(n));
        let victim = drawn.below(WORKERS.into()) as u16 + 1;
        let pid = pids[usize::from(victim) - 1];
        emptied += u32::from(keeper.kill(pid));
        pids[usize::from(victim) - 1] = start(&mut keeper, victim);
    }
    println!("{emptied} of {KILLED} had the lock");
    keeper.words[0].store(1, SeqCst);
    for pid in pids {
        keeper.see_off(pid);
    }
    let mut guard = keeper.store.lock();
    for number in 0..crate::keeper::SHAPE.blocks {
        guard.blocks().retire(number).unwrap();
    }
    let swept = guard.blocks().sweep(u32::MAX).unwrap();
    assert_eq!(guard.blocks().free_units(), crate::keeper::SHAPE.units);
    drop(guard);
    drop(swept);
    keeper.assert_nothing_is_left(0);
}

fn progress(keeper: &Keeper, number: u16) -> u64 {
    keeper.words[PROGRESS + usize::from(number)].load(SeqCst)
}

/// What a process does until it is told to end: all that a server would, and it looks whether what
/// it has is still its own.
fn work(it: &Keeper, number: u16, home: &Path, stats: &[Stat], mut random: Random) {
    let directory = Directory::open(home).unwrap();
    let kept: Vec<File> = (0..4).map(|key| open_beneath(&directory, key).0).collect();
    let mut lent: Vec<(Arc<Lent>, u64)> = Vec::new();
    while it.words[0].load(SeqCst) == 0 {
        let key = random.below(KEYS);
        match random.below(8) {
            0 | 1 => publish_again(&it.store, &directory, key),
            2 if lent.len() < 8 => lent.extend(find(&it.store, key).map(|lent| (lent, key))),
            3 if !lent.is_empty() => _ = lent.swap_remove(key as usize % lent.len()),
            4 => retire(&it.store, key),
            5 => {
                let swept = it.store.lock().blocks().sweep(4).unwrap();
                drop(swept);
            }
            6 => is_whole(&Wake::new().unwrap()),
            _ => {
                let (file, stat) = open_beneath(&directory, key);
                assert_eq!((file.stat().unwrap(), stat), (stat, stats[key as usize]));
            }
        }
        for (file, stat) in kept.iter().zip(stats) {
            assert_eq!(file.stat().unwrap(), *stat, "a file of one's own");
        }
        for (lent, key) in &lent {
            assert_eq!(***lent, *content(*key), "bytes that are lent");
            let file = File::lent(lent).expect("they have a file");
            assert_eq!(file.stat().unwrap(), stats[*key as usize], "and it is theirs");
        }
        it.words[PROGRESS + usize::from(number)].fetch_add(1, SeqCst);
    }
}

fn publish_again(store: &Store, directory: &Directory, key: u64) {
    let mut file = open_beneath(directory, key).0.into_descriptor().ok();
    let mut guard = store.lock();
    if let Some(number) = guard.blocks().publish(&[&content(key)], &mut file).unwrap() {
        let before = std::mem::replace(&mut guard.words()[key as usize], u64::from(number) + 1);
        if before > 0 {
            assert!(guard.blocks().retire(before as u32 - 1).unwrap());
        }
    }
    // What found no room is closed only then.
    drop(guard);
    drop(file);
}

fn find(store: &Store, key: u64) -> Option<Arc<Lent>> {
    let mut guard = store.lock();
    let number = guard.words()[key as usize].checked_sub(1)?;
    Some(Arc::new(
        guard.blocks().lend(number as u32).unwrap().expect("what is in the index is live"),
    ))
}

fn retire(store: &Store, key: u64) {
    let mut guard = store.lock();
    let before = std::mem::take(&mut guard.words()[key as usize]);
    if before > 0 {
        assert!(guard.blocks().retire(before as u32 - 1).unwrap());
    }
}

/// Numbers in an order that is as good as any other.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        self.0 >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
