//! The access log: a line for each reply, written by a thread of its own, so that a slow disk never
//! holds up a reply. Lines that the thread cannot keep up with, or that the disk does not take, are
//! dropped and counted.

mod asked;
mod line;
mod writer;

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use h1::{Now, Reply};
use measure::Duration;

pub(crate) use self::asked::Asked;
use self::line::{Entry, write_line};
use self::writer::Written;
use crate::shared::counters::{Counter, Tally};
use crate::shared::server::Server;
use crate::shared::settings::LogFormat;

/// Bytes that may wait for the disk; lines beyond them are dropped.
const QUEUE_BYTES_MAX: usize = 2 << 20;
/// Bytes that are worth a write at once.
const BATCH_BYTES: usize = 64 << 10;
/// How long fewer bytes wait for others.
const WRITE_AFTER: Duration = Duration::from_secs(1);
/// Stack of the thread: it formats nothing but complaints.
const STACK_BYTES: usize = 64 << 10;

/// A thread's end of the log. When the last of them is dropped, all lines are written.
#[derive(Clone)]
pub(crate) struct AccessLog {
    format: LogFormat,
    writer: Arc<Writer>,
    /// The line in the making; the allocation serves the next.
    line: Vec<u8>,
    /// The second as the format writes it: made once a second, not once a line.
    stamp: Option<(u64, String)>,
}

/// The thread that writes.
struct Writer {
    lines: Arc<Lines>,
    /// There until it is dropped.
    thread: Option<JoinHandle<()>>,
}

/// What waits for the disk.
#[derive(Default)]
struct Lines {
    waiting: Mutex<Waiting>,
    more: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Lines that found no room since the last were taken.
    dropped: u64,
    /// No more will come.
    over: bool,
}

/// Starts the thread of a worker's log, if there is to be one. A file that cannot be opened costs
/// lines, not the site.
///
/// # Errors
/// No thread can be made.
pub(crate) fn start(server: &Server, worker: usize) -> io::Result<Option<AccessLog>> {
    let Some(path) = &server.settings.access_log else { return Ok(None) };
    let written = Written::new(path, server, worker);
    let lines = Arc::new(Lines::default());
    let read = Arc::clone(&lines);
    let thread = Builder::new().name(String::from("weir-log")).stack_size(STACK_BYTES);
    let thread = Some(thread.spawn(move || read.write(written))?);
    let writer = Arc::new(Writer { lines, thread });
    Ok(Some(AccessLog::new(server.settings.log_format, writer)))
}

impl AccessLog {
    const fn new(format: LogFormat, writer: Arc<Writer>) -> Self {
        Self { format, writer, line: Vec::new(), stamp: None }
    }

    /// Adds a line for a reply.
    pub(crate) fn line(
        &mut self,
        peer: Option<IpAddr>,
        asked: &Asked,
        reply: Reply,
        now: &Now,
        tally: &mut Tally,
    ) {
        let Self { format, writer, line, stamp } = self;
        let seconds = now.date.seconds;
        if stamp.as_ref().is_none_or(|(of, _)| *of != seconds) {
            *stamp = Some((seconds, line::stamp(*format, &now.date)));
        }
        let stamp = stamp.as_ref().map_or("", |(_, text)| text);
        line.clear();
        write_line(line, *format, &Entry { peer, stamp, asked, reply });
        let is_kept = writer.lines.add(line);
        tally.add(Counter::LogDrops, u64::from(!is_kept));
    }
}

impl Lines {
    /// `false`: too much waits already.
    fn add(&self, line: &[u8]) -> bool {
        let mut waiting = self.locked();
        let before = waiting.bytes.len();
        let after = before + line.len();
        if after > QUEUE_BYTES_MAX {
            waiting.dropped += 1;
            return false;
        }
        waiting.bytes.extend_from_slice(line);
        drop(waiting);
        // The thread is woken for the first line, and when there is enough to be written.
        if before == 0 || (before < BATCH_BYTES && after >= BATCH_BYTES) {
            self.more.notify_one();
        }
        true
    }

    /// The life of the thread.
    fn write(&self, mut written: Written) {
        let mut batch = Vec::new();
        while let Some(dropped) = self.take(&mut batch) {
            written.write(&batch, os::clock::monotonic());
            written.was_slow(dropped, os::clock::monotonic());
            batch.clear();
        }
    }

    /// Waits for lines and takes all there are; how many were dropped meanwhile, or nothing: no
    /// more will come.
    fn take(&self, batch: &mut Vec<u8>) -> Option<u64> {
        let is_empty = |waiting: &mut Waiting| waiting.bytes.is_empty() && !waiting.over;
        let waiting = self.more.wait_while(self.locked(), is_empty);
        let are_few = |waiting: &mut Waiting| waiting.bytes.len() < BATCH_BYTES && !waiting.over;
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let waited = self.more.wait_timeout_while(waiting, WRITE_AFTER, are_few);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        core::mem::swap(&mut waiting.bytes, batch);
        let dropped = core::mem::take(&mut waiting.dropped);
        (!batch.is_empty()).then_some(dropped)
    }

    // A thread that panicked has not left lines half added.
    fn locked(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.lines.locked().over = true;
        self.lines.more.notify_one();
        if let Some(thread) = self.thread.take() {
            // Nothing else is to be done any more, so the disk may take its time. A thread that has
            // panicked has said so.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Instant;

    #[test]
    fn a_line_has_the_date_of_its_second() {
        let writer = Arc::new(Writer { lines: Arc::default(), thread: None });
        let mut log = AccessLog::new(LogFormat::Common, writer);
        let reply = Reply { status: h1::Status::OK, bytes: 1024 };
        let mut tally = Tally::default();
        for second in [784_111_777, 784_111_777, 784_111_778] {
            let now = Now { at: Instant::ORIGIN, date: h1::Date::new(second) };
            log.line(Some([10, 0, 0, 1].into()), &Asked::default(), reply, &now, &mut tally);
        }
        let line =
            |second| format!("10.0.0.1 - - [06/Nov/1994:08:49:{second} +0000] \"-\" 200 1024\n");
        let expected = [line(37), line(37), line(38)].concat();
        assert_eq!(log.writer.lines.locked().bytes, expected.as_bytes());
    }

    #[test]
    fn what_waits_for_the_disk_is_bounded() {
        let lines = Lines::default();
        let line = [b'x'; 1000];
        let kept = (0..3000).filter(|_| lines.add(&line)).count();
        assert_eq!(kept, QUEUE_BYTES_MAX / 1000);
        let mut batch = Vec::new();
        assert_eq!(lines.take(&mut batch), Some(3000 - kept as u64));
        assert!(batch.len() == kept * 1000 && lines.add(&line));
        batch.clear();
        assert_eq!(lines.take(&mut batch), Some(0));
    }
}
