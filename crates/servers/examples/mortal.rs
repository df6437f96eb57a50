//! `weir serve` with two mistakes: whoever asks for `/die` ends the worker that hears it, as a
//! panic does in a release, and whoever asks for `/deep` has it call itself until its stack is
//! full. It shows what becomes of the others.
//!
//! `cargo run -p servers --example mortal -- DIR --listen 127.0.0.1:0 ...`, flags as `weir serve`.

mod program;

use std::panic;
use std::process::{self, ExitCode};
use std::sync::Arc;

use h1::{Connection, Limits, Now, Reply, Shared, Tag, Want};
use os::File;
use servers::session::{Asked, Event, Session, Sessions, View};

fn main() -> ExitCode {
    // As a release does, in which nothing unwinds.
    panic::set_hook(Box::new(|_| process::abort()));
    program::serve("mortal", mortal)
}

fn mortal(limits: &Shared<Limits>) -> Sessions {
    let limits = Shared::clone(limits);
    Arc::new(move |_, now| Box::new(Mortal(Connection::new(Shared::clone(&limits), now.at))))
}

/// Never ends by itself.
fn deeper(n: u64) -> u64 {
    if n == u64::MAX { n } else { std::hint::black_box(deeper(std::hint::black_box(n + 1))) + 1 }
}

struct Mortal(Connection<File>);

impl Session for Mortal {
    fn want(&self) -> Want<'_, File> {
        Session::want(&self.0)
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        if let Event::Bytes(bytes) = &event {
            assert!(!bytes.starts_with(b"GET /die "), "the mistake");
            if bytes.starts_with(b"GET /deep ") {
                deeper(0);
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
