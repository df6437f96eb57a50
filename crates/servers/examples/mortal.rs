//! `weir serve` with mistakes: whoever asks for `/die` ends the worker that hears it, as a panic
//! does in a release, whoever sends `X-Die-At: found`, `loaded` or `sent` ends it at that step, and
//! whoever asks for `/deep` has it call itself until its stack is full. It shows what becomes of
//! the others.
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
    Arc::new(move |_, now| {
        Box::new(Mortal { of: Connection::new(Shared::clone(&limits), now.at), dies_at: None })
    })
}

/// Never ends by itself.
fn deeper(n: u64) -> u64 {
    if n == u64::MAX { n } else { std::hint::black_box(deeper(std::hint::black_box(n + 1))) + 1 }
}

struct Mortal {
    of: Connection<File>,
    dies_at: Option<&'static str>,
}

/// Where it can be told to die: in which steps events are told.
const STEPS: [&str; 3] = ["found", "loaded", "sent"];

impl Session for Mortal {
    fn want(&self) -> Want<'_, File> {
        Session::want(&self.of)
    }

    fn tell(&mut self, event: Event<'_>, now: &Now) {
        if let Event::Bytes(bytes) = &event {
            assert!(!bytes.starts_with(b"GET /die "), "the mistake");
            if bytes.starts_with(b"GET /deep ") {
                deeper(0);
            }
            let text = String::from_utf8_lossy(bytes);
            let said = |step: &&str| text.contains(&format!("X-Die-At: {step}\r\n"));
            self.dies_at = STEPS.into_iter().find(said).or(self.dies_at);
        }
        let step = match &event {
            Event::Found(..) => Some("found"),
            Event::Loaded(..) => Some("loaded"),
            Event::Sent(_) => Some("sent"),
            _ => None,
        };
        assert!(step.is_none() || step != self.dies_at, "the mistake");
        self.of.tell(event, now);
    }

    fn expired(&mut self, now: &Now) -> bool {
        Session::expired(&mut self.of, now)
    }

    fn next_reply(&mut self) -> Option<(Tag, Reply)> {
        Session::next_reply(&mut self.of)
    }

    fn view(&self) -> View {
        Session::view(&self.of)
    }

    fn asked(&self, tag: Tag) -> Option<Asked<'_>> {
        Session::asked(&self.of, tag)
    }
}
