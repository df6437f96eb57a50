//! MT's pool, as it ships, in every order in which a few threads can use it: its counts, whose turn
//! it is to accept, which of those who ask for the same loads it, and who is closed for room. Loom
//! tries these orders one after the other, and fails where all wait for each other.

#[path = "../../src/threads/holds.rs"]
#[allow(dead_code, unreachable_pub, reason = "a module of a library, all alone")]
mod holds;
#[path = "../../src/connection/loads.rs"]
#[allow(dead_code, unreachable_pub, reason = "a module of a library, all alone")]
mod loads;
#[path = "../../src/threads/members.rs"]
#[allow(dead_code, unreachable_pub, reason = "a module of a library, all alone")]
mod members;
mod sync;

use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use loom::thread;
use measure::Instant;

use holds::{Does, Holds, Wanted};
use loads::Loads;
use members::{Bounds, Came, Door, Members, Stays};
use sync::{AtomicBool, AtomicU32, Condvar, Mutex, MutexGuard, Socket};

/// A pool whose connections are numbers, and the kernel in which these wait.
struct Pool {
    members: Members<u32>,
    backlog: Mutex<Backlog>,
    more: Condvar,
    /// Which of them were served.
    served: Mutex<Vec<u32>>,
    another: Condvar,
    /// The first ends only after the second: each holds a thread.
    together: bool,
    least: u32,
}

#[derive(Default)]
struct Backlog {
    waiting: Vec<u32>,
    is_draining: bool,
    is_shut: bool,
    /// The last free thread has waited for long enough once.
    has_waited: bool,
}

impl Pool {
    fn new(bounds: Bounds, together: bool) -> Self {
        Self {
            members: Members::new(bounds).unwrap(),
            backlog: Mutex::new(Backlog::default()),
            more: Condvar::new(),
            served: Mutex::new(Vec::new()),
            another: Condvar::new(),
            together,
            least: bounds.least,
        }
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap()
    }

    fn is_draining(&self) -> bool {
        self.backlog().is_draining
    }

    fn connect(&self, connection: u32) {
        self.backlog().waiting.push(connection);
        self.more.notify_all();
    }

    fn order_to_drain(&self) {
        self.backlog().is_draining = true;
        self.more.notify_all();
        self.members.wake().wake();
    }

    /// As [the pool](../src/threads/pool.rs), but that it never looks again by itself: who waits
    /// for long because a wake-up was lost waits for ever.
    fn look_after(self: &Arc<Self>) {
        let members = &self.members;
        while !self.is_draining() {
            members.wake().wait();
            members.wake().clear();
            if members.is_short() && members.free() == 0 && members.may_grow() {
                self.spawn();
            }
        }
        while members.all() > 0 {
            if members.free() == 0 && members.may_grow() && members.is_waited_for(&**self) {
                self.spawn();
            }
            thread::yield_now();
        }
    }

    fn spawn(self: &Arc<Self>) {
        self.members.join();

        let pool = Arc::clone(self);
        thread::spawn(move || pool.serve());
    }

    /// A thread's life.
    fn serve(&self) {
        while let Some(mut turn) = self.members.wait_to_accept(self) {
            if turn.queue.is_empty() {
                let room = self.members.room();
                let mut backlog = self.backlog();
                let most = room.min(backlog.waiting.len());
                turn.queue.extend(backlog.waiting.drain(..most));
                if backlog.is_draining {
                    turn.count_drained();
                }
            }
            if let Some(connection) = self.members.take(turn) {
                self.answer(connection);
                self.members.is_free_again();
            }
        }
        let (all, free) = (self.members.all(), self.members.free());
        let is_missed = free == 0 || all < self.least;
        assert!(!is_missed || self.is_draining(), "{all}, {free} of them free, are too few");
    }

    fn await_served(&self, connections: u32) {
        let served = self.served.lock().unwrap();
        let are_missed = |served: &mut Vec<u32>| served.len() < connections as usize;
        drop(self.another.wait_while(served, are_missed).unwrap());
    }

    fn answer(&self, connection: u32) {
        let mut served = self.served.lock().unwrap();
        if self.together && connection == 0 {
            served = self.another.wait_while(served, |served| served.is_empty()).unwrap();
        }
        served.push(connection);
        self.another.notify_all();
    }
}

impl Door for Pool {
    /// Who may wait for a while has waited for long enough at once: others may have come meanwhile,
    /// so it stands for every time. So has once who is the last; others wait for ever.
    fn wait(&self, why: Stays) -> Came {
        let mut backlog = self.backlog();
        let is_over = match why {
            Stays::Always => false,
            Stays::WhileLast => !mem::replace(&mut backlog.has_waited, true),
            Stays::ForAWhile => true,
        };
        let nobody = |backlog: &mut Backlog| backlog.waiting.is_empty() && !backlog.is_draining;
        let backlog = self.more.wait_while(backlog, |backlog| !is_over && nobody(backlog)).unwrap();
        match () {
            () if backlog.is_draining => Came::Order,
            () if backlog.waiting.is_empty() => Came::Nobody,
            () => Came::Somebody,
        }
    }

    fn is_ready(&self) -> bool {
        let backlog = self.backlog();
        !backlog.waiting.is_empty() && !backlog.is_shut
    }

    fn shut(&self) {
        self.backlog().is_shut = true;
    }

    fn waiting_max(&self) -> u32 {
        4
    }
}

/// In all orders in which a thread is interrupted so often at most where it could go on: bugs that
/// need more than two are hardly known, and each more makes the orders many times as many.
fn explore(interruptions_max: usize, uses: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(interruptions_max);
    model.check(uses);
}

/// Whoever has come before the order to drain is served, once, and the drain ends; whether the pool
/// has to grow for it, or has threads that may end meanwhile.
#[test]
fn each_connection_is_served_once_and_a_drain_ends() {
    // Threads at least and at most, connections, whether these need a thread each; interruptions.
    let rows = if harness::is_full() {
        vec![(1, 1, 2, false, 2), (1, 2, 1, false, 2), (1, 2, 2, true, 1), (2, 2, 2, false, 1)]
    } else {
        // The third takes 20 s by itself, and a second interruption as much.
        vec![(1, 1, 2, false, 1), (1, 2, 1, false, 1), (2, 2, 2, false, 1)]
    };
    std::thread::scope(|scope| {
        for row in rows {
            scope.spawn(move || serves_each_once_and_drains(row));
        }
    });
}

fn serves_each_once_and_drains(
    (least, most, connections, together, interruptions_max): (u32, u32, u32, bool, usize),
) {
    explore(interruptions_max, move || {
        let pool = Arc::new(Pool::new(Bounds { least, most, reserve: 0 }, together));
        for _ in 0..least {
            pool.spawn();
        }
        let clients = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                (0..connections).for_each(|connection| pool.connect(connection));
                pool.await_served(if together { connections } else { 0 });
                pool.order_to_drain();
            })
        };
        pool.look_after();
        clients.join().unwrap();
        let mut served = pool.served.lock().unwrap();
        served.sort_unstable();
        assert!(served.iter().copied().eq(0..connections), "{:?} were served", *served);
        assert_eq!((pool.members.all(), pool.members.free()), (0, 0));
    });
}

/// One thread at a time loads what several ask for; who has waited finds it loaded. Nobody waits
/// for another name.
#[test]
fn one_loads_while_the_others_wait() {
    for names in [[1, 1, 1], [1, 2, 1]] {
        explore(2, move || {
            let loads = Arc::new(Loads::new());
            let loading = Arc::new([(); 3].map(|()| AtomicBool::new(false)));
            let loaded = Arc::new([(); 3].map(|()| AtomicU32::new(0)));
            let ask = |name: usize| {
                let (loads, loading) = (Arc::clone(&loads), Arc::clone(&loading));
                let loaded = Arc::clone(&loaded);
                move || match loads.alone(&name) {
                    Some(_alone) => {
                        assert!(!loading[name].swap(true, SeqCst), "{name} is loaded already");
                        thread::yield_now();
                        loaded[name].fetch_add(1, SeqCst);
                        loading[name].store(false, SeqCst);
                    }
                    None => assert!(loaded[name].load(SeqCst) > 0, "{name} was not loaded"),
                }
            };
            let [first, second, third] = names;
            let others = [thread::spawn(ask(first)), thread::spawn(ask(second))];
            ask(third)();
            others.into_iter().for_each(|other| other.join().unwrap());
        });
    }
}

/// A thread that has a request in hand is told before its reply that its connection goes, or that
/// stays; and whoever goes without a request counts as going until its thread is free.
#[test]
fn nobody_is_closed_for_room_without_knowing() {
    for asks in [true, false] {
        explore(3, move || {
            let bounds = Bounds { least: 1, most: 1, reserve: 0 };
            let members = Arc::new(Members::<()>::new(bounds).unwrap());
            members.join();
            let mut turn = members.turn();
            turn.queue.push_back(());
            members.take(turn).unwrap();
            let (holds, socket) = (Arc::new(Holds::new()), Arc::new(Socket::new(7)));
            let hold = holds.insert(Arc::clone(&socket), 0);
            let thread = {
                let (members, holds) = (Arc::clone(&members), Arc::clone(&holds));
                thread::spawn(move || {
                    let waits = |ms| Does::Waits(Instant::from_ms(ms));
                    let mut goes = holds.says(&hold, true, waits(1));
                    if asks {
                        goes |= holds.says(&hold, false, Does::Serves);
                        assert!(!goes || holds.leaving() == 0, "who serves counts as going");
                        let is_over = hold.socket.is_over.load(SeqCst);
                        assert!(goes || !is_over, "it tells its client that it stays");
                    }
                    if !goes {
                        // For the rest of a head.
                        holds.says(&hold, false, waits(2));
                    }
                    holds.says(&hold, false, Does::Ends);
                    holds.remove(hold, || {
                        let is_closed = Arc::strong_count(&socket) == 1;
                        assert!(is_closed, "an accept in its place has no descriptor");
                        members.is_free_again();
                    });
                })
            };
            let evicted = holds.evict(&one_wanted()).all;
            let coming = holds.leaving() + members.free();
            assert!(asks || evicted == 0 || coming > 0, "another would be closed for the same");
            thread.join().unwrap();
            assert_eq!((holds.leaving(), members.free()), (0, 1));
        });
    }
}

/// Any connection may be evicted.
fn one_wanted() -> Wanted {
    let at = Instant::from_ms(3);
    Wanted { most: 1, idle: at, head: Some(at), transfer: Some(at) }
}

/// A transfer that is ended amid is reset, and one that was complete by then is not.
#[test]
fn a_complete_reply_is_not_reset() {
    for completes in [true, false] {
        explore(3, move || {
            let (holds, socket) = (Arc::new(Holds::new()), Arc::new(Socket::new(7)));
            let hold = holds.insert(Arc::clone(&socket), 0);
            let thread = {
                let holds = Arc::clone(&holds);
                thread::spawn(move || {
                    let transfers = || Does::Transfers(Instant::from_ms(1));
                    let mut is_told = holds.says(&hold, false, transfers());
                    is_told |= holds.says(&hold, false, transfers());
                    if completes {
                        holds.says(&hold, true, Does::Waits(Instant::from_ms(2)));
                    }
                    holds.remove(hold, || {});
                    is_told
                })
            };
            let evicted = holds.evict(&one_wanted());
            let is_told = thread.join().unwrap();
            assert_eq!(holds.leaving(), 0);
            let is_reset = socket.is_reset.load(SeqCst);
            assert!(!is_reset || !completes, "its last bytes are lost");
            assert!(is_reset || completes || evicted.all == 0, "what it has not taken is kept");
            assert!(!is_told || evicted.all == 1);
        });
    }
}
