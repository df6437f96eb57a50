//! Statistics: plain words in memory that workers and supervisor share, under the papers' names.
//!
//! Reading them costs the workers nothing and goes on working under overload. A worker counts in a
//! tally of its own and publishes it once a round (loops) or once a reply (threads).

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize, fence};

use os::SharedWords;
use site::COUNTED_HOSTS_MAX;

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

/// Words of a row: its counters, behind them its process while it is ready, and what
/// replies are counted by. Whole cache lines, because each row is written by another thread.
const ROW: usize = (TIME + 1).next_multiple_of(LINE);
const READY: usize = COUNTERS.len();
/// Replies by host and class, replies by time, and the time of all in nanoseconds.
const REPLIES: usize = READY + 1;
const TIMES: usize = REPLIES + (COUNTED_HOSTS_MAX + 1) * CLASSES;
const TIME: usize = TIMES + SPANS;
/// Stands there instead of a process while the process begins and is not ready.
const BEGINS: u64 = u64::MAX;
/// Words of a cache line.
const LINE: usize = 8;
/// Classes of a status: 2xx to 5xx.
pub const CLASSES: usize = 4;
/// Spans of time that are told apart: up to 4 µs, up to twice that, and so on, and beyond 69 s.
pub const SPANS: usize = 26;
/// The first span ends at two to this power, in nanoseconds.
const FIRST_SPAN: u32 = 12;

/// Where a span ends, in nanoseconds; the last one has no end.
#[must_use]
pub const fn span_end_ns(span: usize) -> u64 {
    1 << (FIRST_SPAN as usize + span)
}

fn span_of_ns(took_ns: u64) -> usize {
    let doubled = (took_ns.saturating_sub(1) >> FIRST_SPAN).checked_ilog2();
    doubled.map_or(0, |doubled| doubled as usize + 1).min(SPANS - 1)
}

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

    /// Replies of all workers to requests of a host, as [`site::Site::host_number`] numbers it, and
    /// with a status of a class: 0 for 2xx.
    #[must_use]
    pub fn replies(&self, host: usize, class: usize) -> u64 {
        self.sum(REPLIES + host * CLASSES + class)
    }

    /// Replies of all workers that took as long as a span says, from the first byte of the request
    /// to the last that was handed to the kernel; see [`span_end_ns`].
    #[must_use]
    pub fn took(&self, span: usize) -> u64 {
        self.sum(TIMES + span)
    }

    /// How long all replies took together, in nanoseconds.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        self.sum(TIME)
    }

    fn sum(&self, word: usize) -> u64 {
        self.words.chunks_exact(ROW).map(|row| row[word].load(Relaxed)).sum()
    }

    /// The sum of a counter over all workers.
    #[must_use]
    pub fn total(&self, counter: Counter) -> u64 {
        self.sum(counter as usize)
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

    /// Counts a reply: of a host and a class as [`Self::replies`] has them, and how long it took.
    pub(super) fn count_reply(&self, row: usize, (host, class): (usize, usize), took_ns: u64) {
        let row = self.row(row);
        row[REPLIES + host * CLASSES + class].fetch_add(1, Relaxed);
        row[TIMES + span_of_ns(took_ns)].fetch_add(1, Relaxed);
        row[TIME].fetch_add(took_ns, Relaxed);
    }

    pub(super) fn row(&self, row: usize) -> &[AtomicU64] {
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
    fn each_time_lies_in_the_span_that_ends_behind_it() {
        for span in 0..SPANS - 1 {
            let end = span_end_ns(span);
            assert_eq!([end - 1, end, end + 1].map(span_of_ns), [span, span, span + 1], "{end}");
        }
        assert_eq!([0, 1, u64::MAX].map(span_of_ns), [0, 0, SPANS - 1]);
    }

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
