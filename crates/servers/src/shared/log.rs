//! The access log: a line for each reply, written by a thread of its own, so that a slow disk never
//! holds up a reply. Lines that the thread cannot keep up with, or that the disk does not take, are
//! dropped and counted. A process that serves one connection writes its lines itself: nobody else
//! waits for it, and a thread more for each of a thousand would cost more than that.

mod writer;

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use h1::log_entry::{Entry, Words};
use h1::{LogFormat, Now, Reply};
use measure::Duration;
use os::thread::Queue;

pub(crate) use self::writer::Target;
use self::writer::{Writes, Written};
use crate::shared::counters::{Counter, Counters};
use crate::shared::error_log::ErrorLog;
use crate::shared::orders::Orders;
use crate::shared::tally::Tally;

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
    to: To,
    /// The line in the making; the allocation serves the next.
    line: Vec<u8>,
    /// The second as the format writes it: made once a second, not once a line.
    stamp: Option<(u64, String)>,
}

/// Who writes.
#[derive(Clone)]
enum To {
    /// A thread, for all who have an end of it.
    Writer(Arc<Writer>),
    /// Whoever has a line.
    Here(Arc<Mutex<Written>>),
}

/// The thread that writes.
struct Writer {
    lines: Arc<Lines>,
    /// There until it is dropped.
    thread: Option<JoinHandle<()>>,
}

/// What waits for the disk.
struct Lines {
    bytes: Queue<u8>,
    /// Lines that found no room since the last were taken.
    dropped: AtomicU64,
}

/// Starts the thread of a worker's log. A file that cannot be opened costs lines, not the site.
///
/// # Errors
/// No thread can be made.
pub(crate) fn start(
    to: &Target,
    format: LogFormat,
    worker: usize,
    orders: &Orders,
    counters: &Counters,
    errors: &Arc<ErrorLog>,
) -> io::Result<AccessLog> {
    let written = Written::new((to, Writes::Alone), worker, orders, counters, errors);
    let lines = Arc::new(Lines::new());
    let read = Arc::clone(&lines);
    let thread = Builder::new().name(String::from("weir-log")).stack_size(STACK_BYTES);
    let thread = Some(thread.spawn(move || read.write(written))?);
    Ok(AccessLog::new(format, To::Writer(Arc::new(Writer { lines, thread }))))
}

/// The log of a worker that writes its lines itself, and waits for nobody who reads them.
pub(crate) fn here(
    to: &Target,
    format: LogFormat,
    worker: usize,
    orders: &Orders,
    counters: &Counters,
    errors: &Arc<ErrorLog>,
) -> AccessLog {
    let written = Written::new((to, Writes::Serving), worker, orders, counters, errors);
    AccessLog::new(format, To::Here(Arc::new(Mutex::new(written))))
}

impl AccessLog {
    const fn new(format: LogFormat, to: To) -> Self {
        Self { format, to, line: Vec::new(), stamp: None }
    }

    /// Adds a line for a reply.
    pub(crate) fn line(
        &mut self,
        peer: Option<IpAddr>,
        words: &Words,
        reply: Reply,
        now: &Now,
        tally: &mut Tally,
    ) {
        let Self { format, to, line, stamp } = self;
        let seconds = now.date.seconds;
        if stamp.as_ref().is_none_or(|(of, _)| *of != seconds) {
            *stamp = Some((seconds, format.stamp(&now.date)));
        }
        let stamp = stamp.as_ref().map_or("", |(_, text)| text);
        line.clear();
        let took = words.since().map(|since| os::clock::monotonic() - since);
        Entry { peer, stamp, words, took, reply }.write(*format, line);
        match to {
            To::Writer(writer) => {
                let is_kept = writer.lines.add(line);
                tally.add(Counter::LogDrops, u64::from(!is_kept));
            }
            To::Here(written) => {
                let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
                written.write(line, now.at);
            }
        }
    }
}

impl Lines {
    fn new() -> Self {
        Self { bytes: Queue::new(QUEUE_BYTES_MAX), dropped: AtomicU64::new(0) }
    }

    /// `false`: too much waits already.
    fn add(&self, line: &[u8]) -> bool {
        let is_kept = self.bytes.push_all(line, BATCH_BYTES);
        self.dropped.fetch_add(u64::from(!is_kept), Relaxed);
        is_kept
    }

    /// The life of the thread.
    fn write(&self, mut written: Written) {
        let mut batch = VecDeque::new();
        while self.bytes.take(&mut batch, BATCH_BYTES, WRITE_AFTER) {
            let dropped = self.dropped.swap(0, Relaxed);
            written.write(batch.make_contiguous(), os::clock::monotonic());
            written.was_slow(dropped, os::clock::monotonic());
            batch.clear();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.lines.bytes.close();
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
        let writer = Arc::new(Writer { lines: Arc::new(Lines::new()), thread: None });
        let mut log = AccessLog::new(LogFormat::Common, To::Writer(Arc::clone(&writer)));
        let reply = Reply { status: h1::Status::OK, bytes: 1024, host: 0, begun: Instant::ORIGIN };
        let mut tally = Tally::default();
        for second in [784_111_777, 784_111_777, 784_111_778] {
            let now = Now { at: Instant::ORIGIN, date: h1::Date::new(second) };
            log.line(Some([10, 0, 0, 1].into()), &Words::default(), reply, &now, &mut tally);
        }
        let line =
            |second| format!("10.0.0.1 - - [06/Nov/1994:08:49:{second} +0000] \"-\" 200 1024\n");
        let expected = [line(37), line(37), line(38)].concat();
        let mut batch = VecDeque::new();
        assert!(writer.lines.bytes.take(&mut batch, 0, Duration::ZERO));
        assert_eq!(batch.make_contiguous(), expected.as_bytes());
    }

    #[test]
    fn what_waits_for_the_disk_is_bounded() {
        let lines = Lines::new();
        let line = [b'x'; 1000];
        let kept = (0..3000).filter(|_| lines.add(&line)).count();
        assert_eq!(kept, QUEUE_BYTES_MAX / 1000);
        assert_eq!(lines.dropped.load(Relaxed), 3000 - kept as u64);
        let mut batch = VecDeque::new();
        assert!(lines.bytes.take(&mut batch, BATCH_BYTES, Duration::ZERO));
        assert!(batch.len() == kept * 1000 && lines.add(&line));
    }
}
