//! `weir serve` with much to do: each head that it reads costs milliseconds, and a process works on
//! one at a time. So few clients are a flood, on any machine, and several servers can be in one.
//!
//! `cargo run -p servers --example laborious -- DIR --listen 127.0.0.1:0 ...`, flags as `weir
//! serve`.

mod program;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use h1::{Connection, Limits, Now, Reply, Shared, Tag, Want};
use os::File;
use servers::session::{Asked, Event, Session, Sessions, View};

const LABOUR: Duration = Duration::from_millis(2);
static PROCESSOR: Mutex<()> = Mutex::new(());

fn main() -> ExitCode {
    program::serve("laborious", laborious)
}

fn laborious(limits: &Shared<Limits>) -> Sessions {
    let limits = Shared::clone(limits);
    Arc::new(move |_, now| Box::new(Laborious(Connection::new(Shared::clone(&limits), now.at))))
}

struct Laborious(Connection<File>);

impl Session for Laborious {
    fn want(&self) -> Want<'_, File> {
        Session::want(&self.0)
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        if let Event::Bytes(_) = &event {
            // One at a time, as if all threads shared one processor. The work is a wait, so the
            // machine stays free for other servers in a flood.
            let _processor = PROCESSOR.lock().unwrap_or_else(PoisonError::into_inner);
            std::thread::sleep(LABOUR);
        }
        self.0.tell(event, now);
    }

    fn expired(&mut self, now: &Now) -> bool {
        Session::expired(&mut self.0, now)
    }

    fn next_reply(&mut self) -> Option<(Tag, Reply)> {
        Session::next_reply(&mut self.0)
    }

    fn view(&self) -> View {
        Session::view(&self.0)
    }

    fn asked(&self, tag: Tag) -> Option<Asked<'_>> {
        Session::asked(&self.0, tag)
    }
}
