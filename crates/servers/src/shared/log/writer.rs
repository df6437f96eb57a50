//! The file behind a log: opened again when that is ordered, and never a reason to stop.

use std::io::{self, Write};
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::{Duration, Instant};
use os::Output;
use os::output::Appended;

use crate::shared::counters::{Counter, Counters};
use crate::shared::error_log::{By, ErrorLog, Seldom};
use crate::shared::orders::Orders;
use crate::shared::settings::{Level, LogTo};
use crate::shared::tally::Tally;

/// How often lost lines are told: a full disk stays full for longer than that.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// How long a reader of what was inherited may let a line wait: longer than any that is alive.
const READER_MS: u32 = 1000;

/// Who writes the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    /// A thread that has the time to wait for whoever reads them.
    Alone,
    /// Whoever serves: what is not taken at once is lost.
    Serving,
}

/// Where an access log goes, as all workers of a server have it.
pub(crate) enum Target {
    /// Each worker opens it.
    File(PathBuf),
    /// Taken before there were workers: who is confined could not any more.
    Inherited(Arc<Mutex<Output>>, LogTo),
}

impl Target {
    /// Takes what was inherited; looks whether a file can be written.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn take(to: &LogTo) -> io::Result<Self> {
        let inherited = |output| Self::Inherited(Arc::new(Mutex::new(output)), to.clone());
        match to {
            LogTo::File(path) => os::output::append(path).map(|_| Self::File(path.clone())),
            LogTo::Stdout => Output::stdout().map(inherited),
            LogTo::Stderr => Output::stderr().map(inherited),
        }
    }

    /// The number of the descriptor that a worker needs.
    pub(crate) fn number(&self) -> Option<RawFd> {
        match self {
            Self::File(_) => None,
            Self::Inherited(output, _) => Some(locked(output).number()),
        }
    }
}

/// A worker's access log, as the thread that writes it has it.
pub(super) struct Written {
    place: Place,
    writes: Writes,
    /// Lines lost and not yet told.
    lost: u64,
    told: Seldom,
    worker: usize,
    orders: Orders,
    counters: Counters,
    errors: Arc<ErrorLog>,
}

enum Place {
    File {
        path: PathBuf,
        /// None while it cannot be opened.
        open: Option<Open>,
        /// Of the order to open it again that was obeyed last.
        generation: u64,
    },
    /// The standard output or error output, and which.
    Inherited(Arc<Mutex<Output>>, LogTo),
}

struct Open {
    file: Appended,
    /// It ends within a line.
    is_torn: bool,
}

impl Written {
    pub(super) fn new(
        (to, writes): (&Target, Writes),
        worker: usize,
        orders: &Orders,
        counters: &Counters,
        errors: &Arc<ErrorLog>,
    ) -> Self {
        let place = match to {
            Target::File(path) => Place::File {
                path: path.clone(),
                // If that fails the first lines do again, and tell.
                open: Open::at(path, writes).ok(),
                generation: orders.logs_generation(),
            },
            Target::Inherited(output, to) => Place::Inherited(Arc::clone(output), to.clone()),
        };
        Self {
            place,
            writes,
            lost: 0,
            told: Seldom::new(TOLD_EVERY),
            worker,
            orders: orders.clone(),
            counters: counters.clone(),
            errors: Arc::clone(errors),
        }
    }

    /// Writes lines; those that are not taken are lost and counted.
    pub(super) fn write(&mut self, lines: &[u8], now: Instant) {
        self.open_again();
        let written = match &mut self.place {
            Place::File { open: Some(open), .. } => open.write(lines),
            Place::File { open, path, .. } => Open::at(path, self.writes)
                .map_err(|e| (0, e))
                .and_then(|opened| open.insert(opened).write(lines)),
            Place::Inherited(output, _) => {
                let patience_ms = if self.writes == Writes::Alone { READER_MS } else { 0 };
                locked(output).write_lines(lines, patience_ms)
            }
        };
        if let Err((written, why)) = written {
            let lost = count(&lines[written..]);
            let mut tally = Tally::default();
            tally.add(Counter::LogDrops, lost);
            tally.publish(&self.counters, self.counters.row_of(self.worker, 0));
            self.lost(lost, &why.to_string(), now);
        }
    }

    /// Lines were lost because too many waited, and counted by who had them.
    pub(super) fn was_slow(&mut self, lost: u64, now: Instant) {
        if lost > 0 {
            self.lost(lost, "the disk is too slow for them", now);
        }
    }

    fn open_again(&mut self) {
        let Place::File { path, open, generation } = &mut self.place else { return };
        let ordered = self.orders.logs_generation();
        if core::mem::replace(generation, ordered) == ordered {
            return;
        }
        match Open::at(path, self.writes) {
            Ok(opened) => {
                *open = Some(opened);
                self.tell(Level::Info, "is open again");
            }
            Err(e) if open.is_some() => self.tell(
                Level::Warn,
                &format!(
                    "cannot be opened again: {e}; the file that was open goes on; correct the \
                     path and send SIGUSR1"
                ),
            ),
            // The lines that follow are lost, and that is told.
            Err(_) => {}
        }
    }

    fn lost(&mut self, lines: u64, why: &str, now: Instant) {
        self.lost += lines;
        if self.told.passes(now).is_some() {
            self.tell_lost(why);
        }
    }

    fn tell_lost(&mut self, why: &str) {
        let lost = core::mem::take(&mut self.lost);
        self.tell(Level::Error, &format!("has lost {lost} lines: {why}; the site is served on"));
    }

    fn tell(&self, level: Level, what: &str) {
        let text = match &self.place {
            Place::File { path, .. } => format!("access log {} {what}", path.display()),
            Place::Inherited(_, to) => format!("access log {to} {what}"),
        };
        self.errors.write(level, By::Worker(self.worker), &text);
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        if self.lost > 0 {
            self.tell_lost("the same as before");
        }
    }
}

impl Open {
    fn at(path: &Path, writes: Writes) -> io::Result<Self> {
        let file = match writes {
            Writes::Alone => os::output::append(path)?,
            Writes::Serving => os::output::append_now(path)?,
        };
        Ok(Self { file, is_torn: false })
    }

    /// An error comes with how many bytes were written before it.
    fn write(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        if self.is_torn {
            // What was lost of a line must not take the next one with it.
            (&self.file).write_all(b"\n").map_err(|e| (0, e))?;
            self.is_torn = false;
        }
        let mut written = 0;
        while written < lines.len() {
            match (&self.file).write(&lines[written..]) {
                Ok(n) if n > 0 => written += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                failed => {
                    self.is_torn = written > 0 && lines[written - 1] != b'\n';
                    let why = failed.err().unwrap_or_else(|| io::ErrorKind::WriteZero.into());
                    return Err((written, why));
                }
            }
        }
        Ok(())
    }
}

/// How many lines end in these bytes.
fn count(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

// A line that somebody who panicked has left unfinished is ended before the next.
fn locked(output: &Mutex<Output>) -> MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}
