//! `weir serve` with much to do: each head that it reads costs milliseconds, and the whole server
//! works on one at a time. So few clients are a flood, on any machine and in any architecture, and
//! several servers can be in one.
//!
//! `cargo run -p servers --example laborious -- DIR --listen 127.0.0.1:0 ...`, flags as `weir
//! serve`.

mod program;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use h1::{Connection, Limits, Now, Reply, Shared, Tag, Want};
use os::{File, SharedWords};
use servers::session::{Asked, Event, Session, Sessions, View};

const LABOUR: Duration = Duration::from_millis(5);

fn main() -> ExitCode {
    program::serve("laborious", laborious)
}

fn laborious(limits: &Shared<Limits>) -> Sessions {
    let limits = Shared::clone(limits);
    let processor = Arc::new(Processor::new());
    Arc::new(move |_, now| {
        let connection = Connection::new(Shared::clone(&limits), now.at);
        Box::new(Laborious { connection, processor: Arc::clone(&processor) })
    })
}

/// As if all threads and processes of the server shared one processor. The work is a wait, so the
/// machine stays free for other servers in a flood.
struct Processor {
    began: Instant,
    /// When it has done all that it was given, in nanoseconds since it began.
    free_at: SharedWords,
}

impl Processor {
    fn new() -> Self {
        Self { began: Instant::now(), free_at: SharedWords::new(1).expect("a word") }
    }

    /// Waits for all the work that was given before, and then for its own. A process that is killed
    /// during the wait has used its slot.
    fn work(&self) {
        let now = self.began.elapsed().as_nanos() as u64;
        let done_at = |free_at: u64| Some(free_at.max(now) + LABOUR.as_nanos() as u64);
        let free_at = &self.free_at[0];
        let given = free_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, done_at);
        let done_at = given.ok().and_then(done_at).unwrap_or(now);
        thread::sleep(Duration::from_nanos(done_at - now));
    }
}

struct Laborious {
    connection: Connection<File>,
    processor: Arc<Processor>,
}

impl Session for Laborious {
    fn want(&self) -> Want<'_, File> {
        Session::want(&self.connection)
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        if let Event::Bytes(_) = &event {
            self.processor.work();
        }
        self.connection.tell(event, now);
    }

    fn expired(&mut self, now: &Now) -> bool {
        Session::expired(&mut self.connection, now)
    }

    fn next_reply(&mut self) -> Option<(Tag, Reply)> {
        Session::next_reply(&mut self.connection)
    }

    fn view(&self) -> View {
        Session::view(&self.connection)
    }

    fn asked(&self, tag: Tag) -> Option<Asked<'_>> {
        Session::asked(&self.connection, tag)
    }
}
