//! `weir serve` with much to do: each head that it hears costs milliseconds of the processor.
//! So a small machine, asked by few, is in a flood.
//!
//! `cargo run -p servers --example laborious -- DIR --listen 127.0.0.1:0 ...`, flags as `weir
//! serve`.

mod program;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use h1::{Connection, Limits, Now, Reply, Shared, Tag, Want};
use os::{File, thread};
use servers::session::{Asked, Event, Session, Sessions, View};

const LABOUR: Duration = Duration::from_millis(2);

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
            // Not by the clock on the wall: of many threads each would finish while it waits.
            let begun = thread::cpu_time();
            while thread::cpu_time() - begun < LABOUR {
                std::hint::spin_loop();
            }
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
