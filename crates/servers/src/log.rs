//! The access log: lines in the common log format, written by a thread of its own, so that a slow
//! disk never holds up a reply. Lines that the thread cannot keep up with are dropped and counted.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};

use h1::{Now, Reply};
use measure::{Duration, Instant};

use crate::counters::{Counter, Tally};

/// Batches that may wait for the disk: with [`BATCH_BYTES`] each, 2 MiB.
const BATCHES_MAX: usize = 32;
const BATCH_BYTES: usize = 64 << 10;
/// How long a line may wait for its batch to fill.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// One thread's end of the log. What it still holds is written when it is dropped.
#[derive(Clone)]
pub(crate) struct AccessLog {
    writer: Arc<Writer>,
    batch: Vec<u8>,
    flushed: Instant,
}

/// The thread that writes. Whoever drops it last waits until all is written.
struct Writer {
    /// Both are there until it is dropped.
    to: Option<SyncSender<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

/// Opens the log and starts its thread, which ends when every `AccessLog` is dropped.
///
/// # Errors
/// The file cannot be opened, or no thread can be made.
pub(crate) fn start(path: &Path) -> io::Result<AccessLog> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let (to, from) = sync_channel(BATCHES_MAX);
    let thread = Builder::new().name(String::from("weir-log")).stack_size(64 << 10);
    let thread = Some(thread.spawn(move || write(file, &from))?);
    let writer = Arc::new(Writer { to: Some(to), thread });
    Ok(AccessLog { writer, batch: Vec::new(), flushed: Instant::ORIGIN })
}

fn write(mut file: File, from: &Receiver<Vec<u8>>) {
    for batch in from {
        // A full disk loses lines, not requests.
        let _ = file.write_all(&batch);
    }
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
        // Writing to a Vec cannot fail.
        let _ = match peer {
            Some(ip) => write!(self.batch, "{ip}"),
            None => write!(self.batch, "-"),
        };
        let _ = writeln!(self.batch, " - - [{date}] \"{request}\" {} {bytes}", status.0);
        if self.batch.len() >= BATCH_BYTES {
            self.flush(now, tally);
        }
    }

    /// When a batch will have waited long enough.
    pub(crate) fn due(&self) -> Option<Instant> {
        (!self.batch.is_empty()).then(|| self.flushed + FLUSH_AFTER)
    }

    /// Hands over a batch that has waited long enough.
    pub(crate) fn flush_if_due(&mut self, now: &Now, tally: &mut Tally) {
        if now.at - self.flushed >= FLUSH_AFTER {
            self.flush(now, tally);
        }
    }

    /// Hands the batch to the thread.
    pub(crate) fn flush(&mut self, now: &Now, tally: &mut Tally) {
        self.flushed = now.at;
        if self.batch.is_empty() {
            return;
        }
        // The next batch is mostly as long as this one.
        let next = Vec::with_capacity(self.batch.len());
        let batch = core::mem::replace(&mut self.batch, next);
        let Some(to) = &self.writer.to else { return };
        if let Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) =
            to.try_send(batch)
        {
            let lines = batch.iter().filter(|&&byte| byte == b'\n').count();
            tally.add(Counter::LogDrops, lines as u64);
        }
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        if let Some(to) = &self.writer.to
            && !self.batch.is_empty()
        {
            // Nothing else is to be done any more, so the disk may take its time. A thread that is
            // gone has panicked and said so.
            let _ = to.send(core::mem::take(&mut self.batch));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // As above.
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

    #[test]
    fn a_line_is_in_the_common_log_format() {
        let now = Now { at: Instant::ORIGIN, date: h1::Date::new(784_111_777) };
        let (to, from) = sync_channel(1);
        let writer = Arc::new(Writer { to: Some(to), thread: None });
        let mut log = AccessLog { writer, batch: Vec::new(), flushed: Instant::ORIGIN };
        let reply = Reply { status: h1::Status::OK, bytes: 1024 };
        let mut tally = Tally::default();
        log.line(Some([10, 0, 0, 1].into()), "GET /1k.bin HTTP/1.1", reply, &now, &mut tally);
        log.flush(&now, &mut tally);
        let line = String::from_utf8(from.recv().unwrap()).unwrap();
        let expected =
            "10.0.0.1 - - [06/Nov/1994:08:49:37 +0000] \"GET /1k.bin HTTP/1.1\" 200 1024\n";
        assert_eq!(line, expected);
    }
}
