//! Statistics: plain words in memory that workers and supervisor share, under the papers' names.
//!
//! Reading them costs the workers nothing and goes on working under overload. A worker counts in a
//! [`Tally`] of its own and publishes it once a round (loops) or once a reply (threads).

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize, fence};

use os::{SharedWords, Socket};

macro_rules! counters {
    ($($name:ident $text:literal $unit:literal $meaning:literal,)*) => {
        /// What is counted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Counter {
            $(#[doc = $meaning] $name,)*
        }

        /// Every counter with its name, its unit and its meaning.
        pub const COUNTERS: &[(Counter, &str, &str, &str)] =
            &[$((Counter::$name, $text, $unit, $meaning),)*];
    };
}

counters! {
    Started "started" "workers" "Times a worker was ready to serve: beyond one each, restarts",
    GeteventsCalls "getevents_calls" "calls" "Times a loop asked for events (Brecht04 4.1)",
    Events "events" "events" "Events those calls returned",
    RingEnters "ring_enters" "calls" "Times a ring entered the kernel: to submit, or to wait",
    RingOverflows "ring_overflows" "calls" "Of these, with completions that had found no room",
    Interest "interest" "connections" "Connections those calls asked about (Pariag07 4.4)",
    AcceptPhases "accept_phases" "phases" "Rounds that accepted somebody, N_phases of equation 1",
    Accepted "accepted" "connections" "Connections accepted; divided by the phases it is C_avg",
    WorkPhases "work_phases" "phases" "Work phases with at least one connection to work on",
    Worked "worked" "connections" "Connections worked on in those phases",
    GeteventsNs "getevents_ns" "ns" "Time in getevents phases, waiting included",
    AcceptNs "accept_ns" "ns" "Time in accept phases",
    WorkNs "work_ns" "ns" "Time in work phases",
    Closed "closed" "connections" "Connections closed; accepted minus closed are open",
    Requests "requests" "requests" "Requests looked up",
    Replies "replies" "replies" "Replies sent whole",
    Refusals "refusals" "replies" "Of these, with a status of 400 and above",
    Bytes "bytes" "bytes" "Bytes sent, heads included",
    Loads "loads" "loads" "Lookups that had to touch the disk",
    HandOvers "hand_overs" "loads" "Times a helper or the ring was asked to load",
    LoadRefusals "load_refusals" "replies" "Refused with 503: too many loads wait already",
    Blocked "blocked_ns" "ns" "Time loops waited for disks, threads in loads; rather too little",
    Timeouts "timeouts" "timeouts" "Deadlines at which patience was over",
    PeerFaults "peer_faults" "connections" "Connections that a peer reset or left",
    FileFaults "file_faults" "replies" "Replies cut short because their file shrank",
    MachineFaults "machine_faults" "faults" "Errors of the machine: no descriptor, no memory, disk",
    Shed "shed" "connections" "Connections closed at accept because no descriptor was left",
    TurnedAway "turned_away" "connections" "Closed for their address or want of a PROXY header",
    Throttled "throttled" "requests" "Requests answered 429 because their address asked too often",
    Verifications "verifications" "passwords" "Passwords verified: hashes that were computed",
    LoginsThrottled "logins_throttled" "requests" "Answered 429: wrong passwords of their address",
    LoginsRefused "logins_refused" "requests" "Answered 503: too many wait for their verification",
    Thirsts "receives_put_off" "receives" "Receives that found no buffer of their ring just then",
    Evicted "evicted" "connections" "Closed for new ones: idle, no whole head, or a slow transfer",
    EvictedSlow "evicted_slow" "connections" "Of these, those that were not between two requests",
    LogDrops "log_drops" "lines" "Lines of logs dropped: the disk was full or slow",
    QueueSamples "queue_samples" "connections" "Connections whose wait in the kernel was asked for",
    QueueDelay "queue_delay_ns" "ns" "Time they had waited to be accepted; the first of a round",
    StageSamples "stage_samples" "batches" "Batches that a stage of a pipeline took from its queue",
    StageDelay "stage_delay_ns" "ns" "Time that the eldest connection of each had waited there",
    ReadyDelay "ready_delay_ns" "ns" "Time from ready to worked on: half a work phase each",
    UserSwitches "user_switches" "switches" "Times a scheduler went over to a fiber (Pariag07 7)",
    Bounded "bounded" "phases" "Accept phases that ended because no fiber was left for more",
    Waits "voluntary_switches" "switches" "Context switches of its threads because they waited",
    Preemptions "involuntary_switches" "switches" "Those because others were to run",
}

/// Words of a row: its counters, and behind them its process while it is ready. Whole cache lines,
/// because each row is written by another thread.
const ROW: usize = (COUNTERS.len() + 1).next_multiple_of(LINE);
const READY: usize = COUNTERS.len();
/// Stands there instead of a process while the process begins and is not ready.
const BEGINS: u64 = u64::MAX;
/// Words of a cache line.
const LINE: usize = 8;

/// The shared words: one row for each loop of a worker, and for all threads of one that has none.
#[derive(Clone)]
pub struct Counters {
    words: Arc<SharedWords>,
    own: Arc<Own>,
    /// Of each worker.
    loops: usize,
}

/// What a process knows of itself: after a fork each has its own.
#[derive(Default)]
struct Own {
    /// Which worker it is; the supervisor counts with the first.
    worker: AtomicUsize,
    /// The second in which it was last asked for its context switches, and how many they were.
    second: AtomicU64,
    switches: [AtomicU64; 2],
}

impl Counters {
    /// A row for each of so many workers.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub fn new(workers: usize) -> io::Result<Self> {
        Self::of_loops(workers, 1)
    }

    /// The same where each of them runs so many loops.
    ///
    /// # Errors
    /// The machine has no memory to share.
    pub fn of_loops(workers: usize, loops: usize) -> io::Result<Self> {
        let loops = loops.max(1);
        let words = Arc::new(SharedWords::new(workers.max(1) * loops * ROW)?);
        Ok(Self { words, own: Arc::default(), loops })
    }

    /// How many workers there are.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.rows() / self.loops
    }

    /// How many loops each of them runs.
    #[must_use]
    pub const fn loops(&self) -> usize {
        self.loops
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.words.len() / ROW
    }

    /// The row of a worker's loop, which is counted from 0.
    #[must_use]
    pub const fn row_of(&self, worker: usize, nth: usize) -> usize {
        worker * self.loops + nth
    }

    /// A counter of one worker.
    ///
    /// # Panics
    /// There is no such worker.
    #[must_use]
    pub fn of(&self, worker: usize, counter: Counter) -> u64 {
        self.rows_of(worker).map(|row| row[counter as usize].load(Relaxed)).sum()
    }

    /// A counter of one row.
    ///
    /// # Panics
    /// There is no such row.
    #[must_use]
    pub fn in_row(&self, row: usize, counter: Counter) -> u64 {
        self.row(row)[counter as usize].load(Relaxed)
    }

    /// The sum of a counter over all workers.
    #[must_use]
    pub fn total(&self, counter: Counter) -> u64 {
        let rows = self.words.chunks_exact(ROW);
        rows.map(|row| row[counter as usize].load(Relaxed)).sum()
    }

    /// Counts one for whoever does not know which worker he is in: the one that has started in this
    /// process.
    pub fn count(&self, counter: Counter) {
        self.own_row()[counter as usize].fetch_add(1, Relaxed);
    }

    /// Counts the context switches of this process, once a second: the kernel asks each thread.
    pub(crate) fn count_switches(&self, second: u64) {
        let Own { second: last, switches, .. } = &*self.own;
        if last.load(Relaxed) == second || last.swap(second, Relaxed) == second {
            return;
        }
        let (waits, preemptions) = os::process::switches();
        let row = self.own_row();
        let sums = [(Counter::Waits, waits), (Counter::Preemptions, preemptions)];
        for ((counter, sum), known) in sums.into_iter().zip(switches) {
            let more = sum.saturating_sub(known.fetch_max(sum, Relaxed));
            row[counter as usize].fetch_add(more, Relaxed);
        }
    }

    /// Records that the process of a worker is about to begin. If [`Self::is_gone`] has missed this
    /// record, the process reads what was written before that call.
    pub(crate) fn begins(&self, worker: usize) {
        self.rows_of(worker).for_each(|row| row[READY].store(BEGINS, Relaxed));
        fence(SeqCst);
    }

    /// Whether a worker has no process: it has ended, or has not begun.
    pub(crate) fn is_gone(&self, worker: usize) -> bool {
        fence(SeqCst);
        self.row(self.row_of(worker, 0))[READY].load(Relaxed) == 0
    }

    /// This process is a worker that is ready to serve. The process is recorded before the start
    /// is counted, with release order: where a worker [has started](Self::has_started), its process
    /// is known. Otherwise `/ready` would answer 503 during an upgrade.
    pub fn started(&self, worker: usize) {
        self.own.worker.store(worker, Relaxed);
        let process = os::process::id().into();
        self.rows_of(worker).for_each(|row| row[READY].store(process, Relaxed));
        self.own_row()[Counter::Started as usize].fetch_add(1, Release);
    }

    /// Whether a worker serves: it was ready, and has not ended since.
    ///
    /// # Panics
    /// There is no such worker.
    #[must_use]
    pub fn is_ready(&self, worker: usize) -> bool {
        self.process(worker).is_some()
    }

    /// The same of whoever counts in that row.
    ///
    /// # Panics
    /// There is no such row.
    #[must_use]
    pub fn serves(&self, row: usize) -> bool {
        !matches!(self.row(row)[READY].load(Relaxed), 0 | BEGINS)
    }

    /// The process of a worker that serves.
    ///
    /// # Panics
    /// There is no such worker.
    #[must_use]
    pub fn process(&self, worker: usize) -> Option<u64> {
        let process = self.row(self.row_of(worker, 0))[READY].load(Relaxed);
        Some(process).filter(|process| !matches!(*process, 0 | BEGINS))
    }

    /// Whether a worker is ready, and its process is not stopped (SIGSTOP).
    pub(crate) fn runs(&self, worker: usize) -> bool {
        self.process(worker).is_some_and(|id| !os::process::is_stopped(id as u32))
    }

    /// Adds all rows to what others have counted.
    pub fn add_to(&self, totals: &mut Totals) {
        for row in self.words.chunks_exact(ROW) {
            for (sum, word) in totals.sums.iter_mut().zip(row) {
                *sum += word.load(Relaxed);
            }
        }
    }

    /// How many connections a worker holds, by what its loops have published.
    ///
    /// # Panics
    /// There is no such worker.
    #[must_use]
    pub fn connections(&self, worker: usize) -> u64 {
        self.of(worker, Counter::Accepted).saturating_sub(self.of(worker, Counter::Closed))
    }

    /// How many connections whoever counts in that row holds, by what it has published.
    ///
    /// # Panics
    /// There is no such row.
    #[must_use]
    pub fn open(&self, row: usize) -> u64 {
        self.in_row(row, Counter::Accepted).saturating_sub(self.in_row(row, Counter::Closed))
    }

    /// Whether a worker has ever been ready.
    #[must_use]
    pub fn has_started(&self, worker: usize) -> bool {
        let started = self.of(worker, Counter::Started);
        fence(Acquire);
        started > 0
    }

    /// A worker has ended: its connections are closed. Returns how many they were.
    pub fn ended(&self, worker: usize) -> u64 {
        let end = |row: &[AtomicU64]| {
            row[READY].store(0, Relaxed);
            let accepted = row[Counter::Accepted as usize].load(Relaxed);
            accepted.saturating_sub(row[Counter::Closed as usize].swap(accepted, Relaxed))
        };
        self.rows_of(worker).map(end).sum()
    }

    /// Which worker has started in this process.
    pub(crate) fn worker_here(&self) -> usize {
        self.own.worker.load(Relaxed)
    }

    /// Where is counted what no loop counts for itself: the first row of this process's worker.
    fn own_row(&self) -> &[AtomicU64] {
        self.row(self.row_of(self.worker_here(), 0))
    }

    fn rows_of(&self, worker: usize) -> impl Iterator<Item = &[AtomicU64]> {
        let (words, row) = (self.loops * ROW, self.row_of(worker, 0));
        self.words[row * ROW..][..words].chunks_exact(ROW)
    }

    fn row(&self, row: usize) -> &[AtomicU64] {
        &self.words[row * ROW..][..ROW]
    }
}

/// What several generations of workers have counted.
#[derive(Debug, Clone)]
pub struct Totals {
    sums: [u64; COUNTERS.len()],
}

impl Totals {
    /// One of them.
    #[must_use]
    pub fn of(&self, counter: Counter) -> u64 {
        self.sums[counter as usize]
    }
}

impl Default for Totals {
    fn default() -> Self {
        Self { sums: [0; COUNTERS.len()] }
    }
}

/// What one thread has counted since it last published.
pub struct Tally {
    counts: [u64; COUNTERS.len()],
}

impl Default for Tally {
    fn default() -> Self {
        Self { counts: [0; COUNTERS.len()] }
    }
}

impl Tally {
    /// Counts `n` more.
    pub fn add(&mut self, counter: Counter, n: u64) {
        self.counts[counter as usize] += n;
    }

    /// What has been counted and is not published yet.
    pub(crate) const fn pending(&self, counter: Counter) -> u64 {
        self.counts[counter as usize]
    }

    /// Counts a connection. The first one since the last publishing begins an accept phase: there
    /// is at most one in a round, and one that takes nobody is none. It also tells how long it
    /// waited, if it can be asked: it was the first in the queue, so nobody waited longer, and
    /// asking costs one system call.
    pub(crate) fn accepted(&mut self, socket: Option<&Socket>) {
        self.add(Counter::Accepted, 1);
        if self.counts[Counter::Accepted as usize] > 1 {
            return;
        }
        self.add(Counter::AcceptPhases, 1);
        if let Some(waited) = socket.and_then(Socket::since_received) {
            self.add(Counter::QueueSamples, 1);
            self.add(Counter::QueueDelay, waited.as_nanos() as u64);
        }
    }

    /// Adds all to a row and starts anew.
    pub fn publish(&mut self, counters: &Counters, row: usize) {
        let row = counters.row(row);
        for (count, word) in self.counts.iter_mut().zip(row) {
            if *count > 0 {
                word.fetch_add(*count, Relaxed);
                *count = 0;
            }
        }
    }
}

/// The table of counters as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| counter | unit | meaning |\n|---|---|---|\n");
    for (_, name, unit, meaning) in COUNTERS {
        text.push_str(&format!("| `{name}` | {unit} | {meaning} |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_counted_once_a_second_and_never_twice() {
        let counters = Counters::new(1).unwrap();
        let all = || counters.total(Counter::Waits) + counters.total(Counter::Preemptions);
        let sum = || os::process::switches().0 + os::process::switches().1;
        // Other tests switch too: what is known is between what was before and what is after.
        let before = sum();
        counters.count_switches(7);
        let counted = all();
        assert!((before..=sum()).contains(&counted), "{counted} from {before} on");
        std::thread::yield_now();
        counters.count_switches(7);
        assert_eq!(all(), counted, "in the same second");
        counters.count_switches(8);
        assert!((counted..=sum()).contains(&all()));
    }
    #[test]
    fn worker_is_gone_until_it_begins_and_after_it_ended() {
        let counters = Counters::new(2).unwrap();
        let check = |expected: (bool, bool), when| {
            let found = (counters.is_gone(1), counters.is_ready(1));
            assert_eq!(found, expected, "gone, ready {when}");
            assert_eq!(counters.serves(1), expected.1, "{when}");
        };
        check((true, false), "before");
        for _ in 0..2 {
            counters.begins(1);
            check((false, false), "while it begins");
            counters.started(1);
            check((false, true), "while it serves");
            counters.ended(1);
            check((true, false), "after its end");
        }
        counters.begins(1);
        counters.ended(1);
        check((true, false), "after the machine refused it");
    }
}
