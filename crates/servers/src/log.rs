//! The access log: lines in the common log format, written by a thread of its own, so that a slow
//! disk never holds up a reply. Lines that the thread cannot keep up with are dropped and counted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use h1::{Now, Reply};
use measure::Duration;

use crate::counters::{Counter, Tally};

/// Bytes that may wait for the disk; lines beyond them are dropped.
const QUEUE_BYTES_MAX: usize = 2 << 20;
/// Bytes that are worth a write at once.
const BATCH_BYTES: usize = 64 << 10;
/// How long fewer bytes wait for others.
const WRITE_AFTER: Duration = Duration::from_secs(1);

/// A thread's end of the log. When the last of them is dropped, all lines are written.
#[derive(Clone)]
pub(crate) struct AccessLog {
    writer: Arc<Writer>,
    /// The line in the making; the allocation serves the next.
    line: Vec<u8>,
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
    /// No more will come.
    over: bool,
}

/// Opens the log and starts its thread.
///
/// # Errors
/// The file cannot be opened, or no thread can be made.
pub(crate) fn start(path: &Path) -> io::Result<AccessLog> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let lines = Arc::new(Lines::default());
    let read = Arc::clone(&lines);
    let thread = Builder::new().name(String::from("weir-log")).stack_size(64 << 10);
    let thread = Some(thread.spawn(move || read.write(file))?);
    Ok(AccessLog { writer: Arc::new(Writer { lines, thread }), line: Vec::new() })
}

impl AccessLog {
    /// Adds a line for a reply.
    pub(crate) fn line(
        &mut self,
        peer: Option<IpAddr>,
        request: &str,
        reply: Reply,
        now: &Now,
        tally: &mut Tally,
    ) {
        let Reply { status, bytes } = reply;
        let date = clf_date(now);
        self.line.clear();
        // Writing to a Vec cannot fail.
        let _ = match peer {
            Some(ip) => write!(self.line, "{ip}"),
            None => write!(self.line, "-"),
        };
        let _ = writeln!(self.line, " - - [{date}] \"{request}\" {} {bytes}", status.0);
        let is_kept = self.writer.lines.add(&self.line);
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
    fn write(&self, mut file: File) {
        let mut batch = Vec::new();
        while self.take(&mut batch) {
            // A full disk loses lines, not requests.
            let _ = file.write_all(&batch);
            batch.clear();
        }
    }

    /// Waits for lines and takes all there are; `false`: no more will come.
    fn take(&self, batch: &mut Vec<u8>) -> bool {
        let is_empty = |waiting: &mut Waiting| waiting.bytes.is_empty() && !waiting.over;
        let waiting = self.more.wait_while(self.locked(), is_empty);
        let are_few = |waiting: &mut Waiting| waiting.bytes.len() < BATCH_BYTES && !waiting.over;
        let waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        let waited = self.more.wait_timeout_while(waiting, WRITE_AFTER, are_few);
        let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
        core::mem::swap(&mut waiting.bytes, batch);
        !batch.is_empty()
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

/// `Sun, 06 Nov 1994 08:49:37 GMT` as `06/Nov/1994:08:49:37 +0000`.
fn clf_date(now: &Now) -> String {
    let text = str::from_utf8(now.date.text()).unwrap_or_default();
    format!("{}/{}/{}:{} +0000", &text[5..7], &text[8..11], &text[12..16], &text[17..25])
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Instant;

    #[test]
    fn a_line_is_in_the_common_log_format() {
        let now = Now { at: Instant::ORIGIN, date: h1::Date::new(784_111_777) };
        let writer = Arc::new(Writer { lines: Arc::default(), thread: None });
        let mut log = AccessLog { writer, line: Vec::new() };
        let reply = Reply { status: h1::Status::OK, bytes: 1024 };
        let mut tally = Tally::default();
        log.line(Some([10, 0, 0, 1].into()), "GET /1k.bin HTTP/1.1", reply, &now, &mut tally);
        let expected =
            "10.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /1k.bin HTTP/1.1\" 200 1024\n";
        assert_eq!(log.writer.lines.locked().bytes, expected.as_bytes());
    }

    #[test]
    fn what_waits_for_the_disk_is_bounded() {
        let lines = Lines::default();
        let line = [b'x'; 1000];
        let kept = (0..3000).filter(|_| lines.add(&line)).count();
        assert_eq!(kept, QUEUE_BYTES_MAX / 1000);
        let mut batch = Vec::new();
        assert!(lines.take(&mut batch) && batch.len() == kept * 1000 && lines.add(&line));
    }
}
