//! The error log: what an operator has to know and nobody was there to be told.
//!
//! `2026-11-21T12:00:00Z warn worker 0: text`. Workers and the supervisor write it themselves,
//! without ever waiting for its reader: a line that it has no room for is dropped and counted.

use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use h1::Date;
use measure::{Duration, Instant};
use os::Output;
use site::Hint;

use crate::shared::counters::{Counter, Counters};
use crate::shared::hint_quota::HintQuota;
use crate::shared::orders::Orders;
use crate::shared::settings::{Level, LogTo};
use crate::shared::tally::Tally;

/// The log of one process, and after a fork of each.
pub struct ErrorLog {
    level: Level,
    target: Mutex<Target>,
    orders: Orders,
    counters: Counters,
    /// Of accepts that failed: without a descriptor, and for another reason.
    accepts: Mutex<[Seldom; 2]>,
    /// Of threads that could not be made.
    threads: Mutex<Seldom>,
    hints: HintQuota,
}

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The process that was started.
    Supervisor,
    /// The one that keeps workers in its place.
    Keeper,
    /// One of its workers.
    Worker(usize),
}

/// Where lines go.
struct Target {
    output: Output,
    /// None: what was inherited is written.
    path: Option<PathBuf>,
    /// Of the order to open it again that was obeyed last.
    generation: u64,
}

/// Bytes of a line, its end included: up to so many a pipe takes whole or not at all (PIPE_BUF).
const LINE_BYTES_MAX: usize = 4096;
/// How often one kind of refusals is told: under overload there are thousands.
const TOLD_EVERY: Duration = Duration::from_secs(1);

impl ErrorLog {
    /// Opens it.
    ///
    /// # Errors
    /// It cannot be opened, or the machine has no memory to share.
    pub fn open(
        to: &LogTo,
        level: Level,
        orders: &Orders,
        counters: &Counters,
    ) -> io::Result<Self> {
        let generation = orders.logs_generation();
        let output = match to {
            LogTo::File(path) => Output::append(path),
            LogTo::Stdout => Output::stdout(),
            LogTo::Stderr => Output::stderr(),
        }?;
        let path = to.path().map(Path::to_owned);
        let accepts = [(); 2].map(|()| Seldom::new(TOLD_EVERY));
        Ok(Self {
            level,
            target: Mutex::new(Target { output, path, generation }),
            orders: orders.clone(),
            counters: counters.clone(),
            accepts: Mutex::new(accepts),
            threads: Mutex::new(Seldom::new(TOLD_EVERY)),
            hints: HintQuota::new()?,
        })
    }

    /// The number of the descriptor that it writes to at present.
    pub(crate) fn descriptor(&self) -> RawFd {
        locked(&self.target).output.number()
    }

    /// Whether it is a file, and not what whoever started the server sees.
    pub(crate) fn is_file(&self) -> bool {
        locked(&self.target).path.is_some()
    }

    /// Writes a line, if lines of this level are wanted.
    pub fn write(&self, level: Level, by: By, text: &str) {
        if level > self.level {
            return;
        }
        let mut target = locked(&self.target);
        let mut is_kept = target.obey(&self.orders, by);
        is_kept &= target.output.write(line(level, by, text).as_bytes()).is_ok();
        drop(target);
        if !is_kept {
            let row = match by {
                // It has none of its own.
                By::Supervisor | By::Keeper => 0,
                By::Worker(n) => self.counters.row_of(n, 0),
            };
            let mut tally = Tally::default();
            tally.add(Counter::LogDrops, 1);
            tally.publish(&self.counters, row);
        }
    }

    /// Opens it again, if that was ordered: whoever writes seldom would keep a file open that
    /// others have given up.
    pub(crate) fn obey(&self, by: By) {
        locked(&self.target).obey(&self.orders, by);
    }

    /// The machine has refused a worker a connection.
    pub(crate) fn refused(&self, worker: usize, error: &io::Error, now: Instant) {
        let is_out = os::is_out_of_descriptors(error);
        let Some(held) = locked(&self.accepts)[usize::from(is_out)].passes(now) else { return };
        let mend = if is_out {
            "raise the limit of descriptors (ulimit -n) or lower --connections-max"
        } else {
            "accepting rests for a moment"
        };
        let more = more(held);
        let text = format!("a connection could not be accepted: {error}; {mend}{more}");
        self.write(Level::Warn, By::Worker(worker), &text);
    }

    /// The machine has refused a worker a thread; so what it was for is not done.
    pub(crate) fn no_thread(&self, so: &str, worker: usize, error: &io::Error, now: Instant) {
        let Some(held) = locked(&self.threads).passes(now) else { return };
        let more = more(held);
        let text = format!("{so}: {}{more}", said_of_thread(error));
        self.write(Level::Error, By::Worker(worker), &text);
    }

    /// A worker has answered, perhaps not as the operator wants.
    pub(crate) fn hint(&self, worker: usize, hint: &Hint, now: Instant) {
        let level = match hint {
            Hint::NoHost | Hint::NoIndex(_) => Level::Info,
            Hint::LeadsOut(_) | Hint::LeftOut { .. } | Hint::Failed { .. } => Level::Warn,
        };
        if level <= self.level
            && let Some(left_out) = self.hints.take(hint, now)
        {
            self.write(level, By::Worker(worker), &format!("{hint}{}", more(left_out)));
        }
    }
}

/// That the machine has refused a thread, and what to do.
pub(crate) fn said_of_thread(error: &io::Error) -> String {
    format!("no thread can be made: {error}; raise the limit of tasks (ulimit -u, TasksMax)")
}

fn more(held: u64) -> String {
    if held > 0 { format!("; {held} more since the last line") } else { String::new() }
}

impl Target {
    /// Opens the file again if that was ordered; a failure is told once. Whether it could be told.
    fn obey(&mut self, orders: &Orders, by: By) -> bool {
        let Err(e) = self.open_again(orders) else { return true };
        let text = format!(
            "the error log cannot be opened again: {e}; the file that was open goes on; correct \
             the path and send SIGUSR1"
        );
        self.output.write(line(Level::Error, by, &text).as_bytes()).is_ok()
    }

    /// By the number that it has: where processes share a table, others write to that.
    fn open_again(&mut self, orders: &Orders) -> io::Result<()> {
        // Again, if it was ordered again meanwhile: others may be in the next file already.
        while self.generation != orders.logs_generation() {
            self.generation = orders.logs_generation();
            if let Some(path) = self.path.as_deref() {
                self.output.go_on_in(Output::append(path)?)?;
            }
        }
        Ok(())
    }
}

/// A whole line. Messages may quote paths: what is not to be printed is not.
fn line(level: Level, by: By, text: &str) -> String {
    let stamp = Date::new(os::clock::wall_seconds()).rfc3339();
    let mut line = format!("{stamp} {} {by}: {text}", level.name());
    let end = line.floor_char_boundary(LINE_BYTES_MAX - 1);
    line.truncate(end);
    let mut line = line.replace(char::is_control, "?");
    line.push('\n');
    line
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Supervisor => write!(f, "supervisor"),
            Self::Keeper => write!(f, "keeper"),
            Self::Worker(n) => write!(f, "worker {n}"),
        }
    }
}

/// Lets one pass in a while, and counts the others.
pub(crate) struct Seldom {
    every: Duration,
    last: Option<Instant>,
    held: u64,
}

impl Seldom {
    pub(crate) const fn new(every: Duration) -> Self {
        Self { every, last: None, held: 0 }
    }

    /// One comes: if it may pass, how many since the last were held back.
    pub(crate) fn passes(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now - last < self.every) {
            self.held += 1;
            return None;
        }
        self.last = Some(now);
        Some(core::mem::take(&mut self.held))
    }
}

// Whoever panicked has left nothing half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_while_passes() {
        let mut seldom = Seldom::new(Duration::from_secs(1));
        let mut passed = |ms| seldom.passes(Instant::from_ms(ms));
        assert_eq!(passed(0), Some(0));
        assert_eq!([1, 500, 999].map(&mut passed), [None; 3]);
        assert_eq!(passed(1000), Some(3));
        assert_eq!(passed(1999), None);
        assert_eq!(passed(9000), Some(1));
    }

    #[test]
    fn a_line_is_one_line() {
        let check = |text: &str, expected: &str| {
            let line = line(Level::Warn, By::Worker(3), text);
            assert!(line.len() <= LINE_BYTES_MAX, "{} bytes", line.len());
            let told = line.split_once(' ').expect("a date").1;
            assert_eq!(told, format!("warn worker 3: {expected}\n"));
        };
        check("plain", "plain");
        check("two\nlines \u{1b}[2J \u{9b}1m", "two?lines ?[2J ?1m");
        let long = "\u{e4}".repeat(LINE_BYTES_MAX);
        // 2024-02-29T23:59:59Z, a space, `warn worker 3: ` and the end leave 4,059 bytes.
        check(&long, &"\u{e4}".repeat(2029));
    }
}
