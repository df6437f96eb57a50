//! `weir serve` whose every byte on the wire is re-coded, so that no part of a file can be sent
//! from the file itself. It shows that a session may wrap another (as one for TLS will) without a
//! line in any architecture, and the table of dialogs runs on it.
//!
//! `cargo run -p servers --example recoded -- DIR --listen 127.0.0.1:0 ...`, flags as `weir serve`.

use std::process::ExitCode;
use std::sync::Arc;

use h1::{Chunk, Connection, Found, Limits, Loaded, Miss, Now, Reply, Shared, Status, Want};
use os::File;
use servers::session::{Session, Sessions};
use servers::settings::Settings;
use servers::{Failure, Program, knobs};

fn main() -> ExitCode {
    let mut settings = Settings::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let Some(name) = word.strip_prefix("--") else {
            settings.root = word.into();
            continue;
        };
        let value = words.next().unwrap_or_default();
        let Some(knob) = knobs::knob(name) else { return told(&format!("no such flag: {word}")) };
        if let Err(what) = (knob.set)(&mut settings, &value) {
            return told(&format!("{word} {value}: must be {what}"));
        }
    }
    let mut program = Program {
        settings: &mut || Ok(settings.clone()),
        sessions: &recoded,
        say: &mut |line| println!("recoded: {line}"),
    };
    match servers::serve(&mut program) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Operator(what) | Failure::Machine(what)) => told(&what),
        Err(Failure::Cut) => ExitCode::FAILURE,
    }
}

fn told(what: &str) -> ExitCode {
    eprintln!("recoded: {what}");
    ExitCode::FAILURE
}

fn recoded(limits: &Shared<Limits>) -> Sessions {
    let limits = Shared::clone(limits);
    Arc::new(move |now| {
        let inner = Connection::new(Shared::clone(&limits), now.at);
        Box::new(Recoded { inner, out: None, plain: 0 })
    })
}

/// A connection behind a code.
struct Recoded {
    inner: Connection<File>,
    /// Coded bytes on their way out, standing for so many plain ones.
    out: Option<Chunk>,
    plain: u64,
}

/// The code is its own inverse.
fn code(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ 0x5a).collect()
}

impl Recoded {
    /// Codes what the connection wants to send, as far as it is in memory.
    fn prepare(&mut self, now: &Now) {
        if self.out.is_some() {
            return;
        }
        match self.inner.want() {
            // What is read for coding need not be in the page cache before.
            Want::Load(Miss::Pages(_)) => {
                self.inner.loaded(Loaded::Pages, now);
                self.prepare(now);
            }
            Want::Send(chunk, _) if !chunk.bytes().is_empty() => {
                self.plain = chunk.bytes().len() as u64;
                self.out = Some(Chunk::whole(code(chunk.bytes()).into()));
            }
            _ => {}
        }
    }
}

impl Session for Recoded {
    fn want(&self) -> Want<'_, File> {
        if let Some(out) = &self.out {
            return Want::Send(out, None);
        }
        match self.inner.want() {
            Want::Send(_, Some(part)) => Want::Load(Miss::More(part.clone())),
            want => want,
        }
    }

    fn received(&mut self, bytes: &[u8], now: &Now) -> bool {
        let more = self.inner.received(&code(bytes), now);
        self.prepare(now);
        more
    }

    fn ended(&mut self, now: &Now) {
        self.inner.ended(now);
        self.prepare(now);
    }

    fn found(&mut self, found: Found<File>, now: &Now) {
        self.inner.found(found, now);
        self.prepare(now);
    }

    fn loaded(&mut self, loaded: Loaded<File>, now: &Now) {
        match loaded {
            Loaded::More(piece) if piece.bytes().is_empty() => self.inner.failed(),
            Loaded::More(piece) => {
                self.plain = piece.bytes().len() as u64;
                self.out = Some(Chunk::whole(code(piece.bytes()).into()));
            }
            // A reply has begun that cannot be finished.
            Loaded::Status(_) if matches!(self.inner.want(), Want::Send(..)) => {
                self.inner.failed();
            }
            other => self.inner.loaded(other, now),
        }
        self.prepare(now);
    }

    fn sent(&mut self, n: u64, now: &Now) -> Option<Reply> {
        let out = self.out.as_mut()?;
        out.at += n as usize;
        if out.at < out.end {
            return None;
        }
        self.out = None;
        let reply = self.inner.sent(self.plain, now);
        self.prepare(now);
        reply
    }

    fn failed(&mut self) {
        self.out = None;
        self.inner.failed();
    }

    fn refuse(&mut self, status: Status, now: &Now) {
        self.inner.refuse(status, now);
        self.prepare(now);
    }

    fn expired(&mut self, now: &Now) -> bool {
        let is_over = self.inner.expired(now);
        if matches!(self.inner.want(), Want::Close) {
            self.out = None;
        }
        self.prepare(now);
        is_over
    }

    servers::pass_on!(inner);
}
