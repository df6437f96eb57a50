//! Processes that share a table of descriptors and a store, and what is left when one dies.

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use crate::keeper::goods::{content, home, is_whole, open, publish};
use crate::keeper::{Keeper, exit_of, has_stopped, resume, wait_for_stop, wait_until_asleep};
use os::process::{self, Pid};
use os::sharing::descriptors;
use os::sharing::stops::{Stop, stop_at};
use os::{Blocking, File, Listener, Socket, Wake, users};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub(crate) fn members_share_one_table(mut keeper: Keeper) {
    let home = home();
    let member = keeper.start(1, |it| {
        let (file, stat) = open(home.path(), 0);
        assert_eq!(file.stat().unwrap(), stat);
        it.words[0].store(1, SeqCst);
        wait_for(it, 1);
    });
    wait_for(&keeper, 0);
    assert!(process::share_descriptors(own(), member).unwrap());
    keeper.assert_nothing_is_left(1);
    keeper.words[1].store(1, SeqCst);
    keeper.see_off(member);
    keeper.assert_nothing_is_left(0);
    assert!(keeper.members.dead(member).unwrap().is_none(), "it is buried");
    let again = keeper.start(1, |_| {});
    keeper.see_off(again);
}

pub(crate) fn copies_of_what_the_keeper_has_close_nothing(mut keeper: Keeper) {
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), 1).unwrap();
    let mut copied = Some((listener, Wake::new().unwrap()));
    let member = keeper.start(1, |_| drop(copied.take()));
    keeper.see_off(member);
    let (listener, wake) = copied.as_ref().unwrap();
    assert!(listener.listens());
    wake.wake();
    assert_eq!(os::wait_readable([wake.as_fd_ref()], None).unwrap(), [true]);
    drop(copied);
    keeper.assert_nothing_is_left(0);
}

pub(crate) fn what_is_lent_to_one_is_no_others(mut keeper: Keeper) {
    let number = keeper.store.lock().blocks().publish(&[b"bytes"], &mut None).unwrap().unwrap();
    let mut lent = keeper.store.lock().blocks().lend(number).unwrap();
    let member = keeper.start(1, |it| {
        let copy = lent.take().unwrap();
        assert!(is_refused(|| copy.len()), "it is the keeper's");
        drop(copy);
        assert_eq!(&*it.store.lock().blocks().lend(number).unwrap().unwrap(), b"bytes");
    });
    keeper.see_off(member);
    assert!(keeper.store.lock().blocks().is_pinned(number), "still the keeper's");
    drop(lent);
    assert!(!keeper.store.lock().blocks().is_pinned(number));
}

pub(crate) fn a_keeper_does_not_fork(mut keeper: Keeper) {
    assert!(is_refused(process::fork));
    let member = keeper.start(1, |_| assert!(is_refused(process::fork)));
    keeper.see_off(member);
}

/// The limit is raised behind its back.
pub(crate) fn there_are_no_more_than_there_are_words_for(keeper: Keeper) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let most = limit.current.unwrap() as usize;
    let wakes: Result<Vec<Wake>, _> = (0..most).map(|_| Wake::new()).collect();
    let refused = wakes.unwrap_err();
    assert!(os::is_out_of_descriptors(&refused), "{refused}");
    keeper.assert_nothing_is_left(0);
}

/// At each place that there is: whether the store is empty afterwards.
pub(crate) fn who_dies_anywhere_leaves_nothing(mut keeper: Keeper) {
    let home = home();
    let rows = [
        (Stop::Made, false),
        (Stop::Cleared, false),
        (Stop::Closed, false),
        (Stop::Locked, true),
        (Stop::Copied, true),
        (Stop::Given, true),
        (Stop::Published, true),
        (Stop::Lent, true),
        (Stop::Retired, true),
        (Stop::Swept, true),
    ];
    for (stop, empties) in rows {
        let kept = publish(&keeper.store, home.path(), 7);
        let member = keeper.start(1, |it| {
            stop_at(stop);
            let number = publish(&it.store, home.path(), 3);
            let lent = it.store.lock().blocks().lend(number).unwrap();
            drop(lent);
            it.store.lock().blocks().retire(number).unwrap();
            let swept = it.store.lock().blocks().sweep(8).unwrap();
            drop(swept);
            panic!("it does not stop at {stop:?}");
        });
        wait_for_stop(member);
        assert_eq!(keeper.kill(member), empties, "{stop:?}");
        // What the keeper has published is there, or is not.
        let mut guard = keeper.store.lock();
        let is_live = guard.blocks().bytes(kept).unwrap().is_some();
        assert_eq!(is_live, !empties, "{stop:?}");
        for number in 0..crate::keeper::SHAPE.blocks {
            guard.blocks().retire(number).unwrap();
        }
        let swept = guard.blocks().sweep(8).unwrap();
        assert_eq!(guard.blocks().free_units(), crate::keeper::SHAPE.units, "{stop:?}");
        drop(guard);
        drop(swept);
        keeper.assert_nothing_is_left(0);
    }
}

/// One that was accepted, and nothing was noted of it; one that was noted.
pub(crate) fn a_client_of_the_dead_is_let_go(mut keeper: Keeper) {
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap(), 8).unwrap();
    let clients = [(); 2].map(|()| {
        let client = TcpStream::connect(listener.local_address().unwrap()).unwrap();
        // So that it is noted.
        Socket::from(OwnedFd::from(client))
    });
    os::wait_readable([listener.as_fd_ref()], None).unwrap();
    let member = keeper.start(1, |_| {
        let _noted = listener.accept(Blocking::No).unwrap();
        stop_at(Stop::Made);
        let _ = listener.accept(Blocking::No);
    });
    wait_for_stop(member);
    keeper.assert_nothing_is_left(5);
    assert!(!keeper.kill(member));
    for client in clients {
        assert_eq!(client.recv(&mut [0]).unwrap(), 0);
    }
    drop(listener);
    keeper.assert_nothing_is_left(0);
}

/// Others would be taken for what a dead process has left, and closed while they are read.
pub(crate) fn tables_of_the_system_are_read_by_descriptors_that_are_noted(mut keeper: Keeper) {
    let none = Path::new("/dev/null");
    let reads: [fn(&Path); 3] = [
        |table| assert_eq!(users::homes(table).unwrap(), [""; 0].map(PathBuf::from)),
        |table| assert!(users::user(table, "somebody").is_err()),
        |table| assert!(users::group(table, "somebody").is_err()),
    ];
    for read in reads {
        let member = keeper.start(1, |_| {
            stop_at(Stop::Made);
            read(none);
        });
        wait_for_stop(member);
        assert!(!keeper.kill(member));
        keeper.assert_nothing_is_left(0);
    }
}

/// The one that was to wake it has let go of the lock, and dies.
pub(crate) fn who_was_to_be_woken_is_woken(mut keeper: Keeper) {
    let has = keeper.start(1, |it| {
        stop_at(Stop::Locked);
        stop_at(Stop::Unlocked);
        drop(it.store.lock());
    });
    wait_for_stop(has);
    let waits = keeper.start(2, |it| drop(it.store.lock()));
    wait_until_asleep(waits);
    resume(has);
    wait_for_stop(has);
    assert!(!keeper.kill(has), "it had let go");
    keeper.see_off(waits);
}

/// Two sleep, one of them is woken, and dies before it has the lock.
pub(crate) fn who_sleeps_beside_the_dead_is_woken(mut keeper: Keeper) {
    let store = keeper.store.clone();
    let guard = store.lock();
    let sleepers = [1, 2].map(|number| {
        let sleeper = keeper.start(number, |it| {
            stop_at(Stop::Woken);
            drop(it.store.lock());
        });
        wait_until_asleep(sleeper);
        sleeper
    });
    drop(guard);
    let [mut woken, mut sleeps] = sleepers;
    while !has_stopped(woken) {
        (woken, sleeps) = (sleeps, woken);
    }
    assert!(!keeper.kill(woken));
    wait_for_stop(sleeps);
    resume(sleeps);
    keeper.see_off(sleeps);
}

/// A process that lives stands still where its descriptor looks as if nobody had it, while the
/// orphans of another are found.
pub(crate) fn who_makes_or_closes_is_not_robbed(mut keeper: Keeper) {
    for stop in [Stop::Made, Stop::Cleared, Stop::Closed] {
        let lives = keeper.start(1, |it| {
            let other = Wake::new().unwrap();
            stop_at(stop);
            let wake = Wake::new().unwrap();
            let wake = if stop == Stop::Made { wake } else { other };
            is_whole(&wake);
            drop(wake);
            wait_for(it, 0);
        });
        wait_for_stop(lives);
        let dies = keeper.start(2, |_| {
            stop_at(Stop::Made);
            let _ = Wake::new();
        });
        wait_for_stop(dies);
        process::kill(dies).unwrap();
        exit_of(dies);
        keeper.begin_to_bury(dies);
        let open = os::limits::open_descriptors();
        for _ in 0..1000 {
            assert!(!keeper.orphans.step(), "{stop:?}: somebody is in a window");
        }
        assert_eq!(os::limits::open_descriptors(), open, "nothing was closed");
        resume(lives);
        keeper.find_orphans();
        keeper.words[0].store(1, SeqCst);
        keeper.see_off(lives);
        keeper.words[0].store(0, SeqCst);
        keeper.assert_nothing_is_left(0);
    }
}

/// A number is being closed when it is first seen, and then another process makes it anew.
pub(crate) fn who_gets_a_number_again_is_not_robbed(mut keeper: Keeper) {
    let closes = keeper.start(1, |it| {
        let wake = Wake::new().unwrap();
        stop_at(Stop::Cleared);
        stop_at(Stop::Closed);
        drop(wake);
        it.words[1].store(1, SeqCst);
        wait_for(it, 0);
    });
    wait_for_stop(closes);
    keeper.orphans.look();
    assert!(!keeper.orphans.step(), "it is seen, and its owner is in a window");
    resume(closes);
    wait_for_stop(closes);
    keeper.assert_nothing_is_left(0);
    let makes = keeper.start(2, |it| {
        stop_at(Stop::Made);
        // The lowest that is free: the one that was closed.
        let wake = Wake::new().unwrap();
        is_whole(&wake);
        wait_for(it, 0);
        is_whole(&wake);
    });
    wait_for_stop(makes);
    assert!(!keeper.orphans.step(), "the first is in his window yet");
    resume(closes);
    wait_for(&keeper, 1);
    let is_done = (0..1000).any(|_| keeper.orphans.step());
    assert!(!is_done, "the second is in his");
    resume(makes);
    keeper.find_orphans();
    keeper.words[0].store(1, SeqCst);
    keeper.see_off(makes);
    keeper.see_off(closes);
    keeper.assert_nothing_is_left(0);
}

pub(crate) fn what_others_read_outlives_the_store(mut keeper: Keeper) {
    let home = home();
    let number = publish(&keeper.store, home.path(), 5);
    let reads = keeper.start(1, |it| {
        let lent = Arc::new(it.store.lock().blocks().lend(number).unwrap().unwrap());
        let file = File::lent(&lent).unwrap();
        let (_, stat) = open(home.path(), 5);
        it.words[0].store(1, SeqCst);
        wait_for(it, 1);
        assert_eq!((&**lent, file.stat().unwrap()), (&*content(5), stat));
        let mut all = vec![0; 64];
        let n = file.read_at(&mut all, 0).unwrap();
        assert_eq!(&all[..n], b"file 5");
        assert!(file.into_descriptor().ok().is_none(), "it is lent");
    });
    wait_for(&keeper, 0);
    let dies = keeper.start(2, |it| {
        stop_at(Stop::Retired);
        it.store.lock().blocks().retire(number).unwrap();
    });
    wait_for_stop(dies);
    assert!(keeper.kill(dies));
    let other = publish(&keeper.store, home.path(), 6);
    assert_ne!(other, number);
    keeper.words[1].store(1, SeqCst);
    keeper.see_off(reads);
    let swept = keeper.store.lock().blocks().sweep(8).unwrap();
    assert_eq!(swept.len(), 1);
    drop(swept);
    keeper.assert_nothing_is_left(1);
}

pub(crate) fn a_file_is_closed_by_who_sweeps_it(mut keeper: Keeper) {
    let home = home();
    let publishes = keeper.start(1, |it| {
        assert_eq!(publish(&it.store, home.path(), 5), 0);
    });
    keeper.see_off(publishes);
    keeper.assert_nothing_is_left(1);
    let sweeps = keeper.start(2, |it| {
        let mut guard = it.store.lock();
        assert!(guard.blocks().retire(0).unwrap());
        let swept = guard.blocks().sweep(1).unwrap();
        drop(guard);
        it.assert_nothing_is_left(1);
        drop(swept);
        it.assert_nothing_is_left(0);
    });
    keeper.see_off(sweeps);
    keeper.assert_nothing_is_left(0);
    assert!(descriptors::are_shared());
}

fn is_refused<T>(does: impl FnOnce() -> T) -> bool {
    std::panic::set_hook(Box::new(|_| {}));
    let refused = catch_unwind(AssertUnwindSafe(does)).is_err();
    drop(std::panic::take_hook());
    refused
}

/// Waits until a word of all is not zero.
fn wait_for(it: &Keeper, word: usize) {
    while it.words[word].load(SeqCst) == 0 {
        std::thread::yield_now();
    }
}

fn own() -> Pid {
    Pid::new(process::id()).unwrap()
}
