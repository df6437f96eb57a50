//! httperf's session logs (`--wsesslog=N,X,F`): read as httperf reads them, and written.
//!
//! ```text
//! # a comment
//! /page.html think=2.0
//!     /picture.gif
//!     /form method=POST contents='name=value'
//!
//! /first/of/the/next/session.html
//! ```
//!
//! A line that is blank ends a session, a line that begins in the first column begins a burst, and
//! an indented one belongs to the burst before it. `think` is the pause after the burst, in
//! seconds. Contents are quoted by either sign, in which `\n`, `\r`, `\t`, a backslash before any
//! other byte, and one before the end of a line mean what they do in C.

use std::borrow::Borrow;
use std::io::{self, BufRead};
use std::mem;

use measure::Duration;
use measure::draw::Stream;

use super::fault::Fault;
use super::input::{Lines, refuse_compressed};
use super::names::Names;
use super::request::escape;
use crate::behaviour::Keeps;
use crate::files::Files;
use crate::session::{Burst, Method, Request, Session};
use crate::source::model::Model;
use crate::source::{self, Workload};

/// The sessions of a file in its order, and from the first one again after the last.
#[derive(Debug, Clone, PartialEq)]
pub struct Wsesslog {
    files: Files,
    /// Never empty, nor is one of them.
    sessions: Vec<Session>,
}

/// Requests of one file: 300 MB of them. (httperf takes a thousand sessions.)
const REQUESTS_MAX: usize = 4 << 20;

/// Of one request, with all its lines; httperf takes 10,000.
const CONTENT_BYTES_MAX: usize = 64 << 10;

/// Of all requests of a file.
const CONTENTS_BYTES_MAX: usize = 256 << 20;

/// A longer pause is a slip: no run lasts so long.
pub(crate) const THINK_S_MAX: f64 = 86_400.0;

impl Wsesslog {
    /// Reads a file; `think` follows bursts that have no pause of their own (httperf's X).
    ///
    /// Targets are made fit to be sent: what may not stand in a request line is escaped. They need
    /// not begin with a slash.
    ///
    /// # Errors
    /// It cannot be read, a line is not as it should be, there is no request or there are too many.
    pub fn read(mut from: impl BufRead, think: Duration) -> Result<Self, Fault> {
        let from: &mut dyn BufRead = &mut from;
        refuse_compressed(from)?;
        let mut lines = Lines::new(from, LINE_BYTES_MAX);
        let mut reading = Reading { think, ..Reading::default() };
        let mut whole = Vec::new();
        while join(&mut lines, &mut whole)? {
            let number = lines.number;
            reading.take(&whole).map_err(|wrong| match wrong {
                Wrong::Line(what) => Fault::Line { number, what },
                Wrong::File(fault) => fault,
            })?;
        }
        reading.end_session();
        let Reading { names, sessions, .. } = reading;
        if sessions.is_empty() {
            return Err(Fault::NoSession);
        }
        Ok(Self { files: names.into_files(), sessions })
    }

    /// With all pauses multiplied by `factor`.
    #[must_use]
    pub fn with_pauses(mut self, factor: f64) -> Self {
        for burst in self.sessions.iter_mut().flat_map(|session| &mut session.bursts) {
            burst.think = Duration::from_secs_f64(burst.think.as_secs_f64() * factor);
        }
        self
    }

    /// All of them.
    #[must_use]
    pub fn sessions(&self) -> &[Session] {
        &self.sessions
    }
}

impl Workload for Wsesslog {
    fn files(&self) -> &Files {
        &self.files
    }

    /// As httperf performs them.
    fn model(&self) -> Model {
        Model { keeps: Some(Keeps::Session), ..Model::default() }
    }

    fn session(&mut self, number: u64, _: &mut Stream, _: &mut Stream) -> Session {
        self.sessions[(number % self.sessions.len() as u64) as usize].clone()
    }

    /// Nothing says how they were answered.
    fn asked(&self) -> Option<Vec<u32>> {
        let mut asked = vec![0; self.files.count()];
        let bursts = self.sessions.iter().flat_map(|session| &session.bursts);
        for request in bursts.flat_map(|burst| &burst.requests) {
            let is_read = matches!(request.method, Method::Get | Method::Head);
            asked[request.file.0 as usize] += u32::from(is_read);
        }
        Some(asked)
    }

    fn pass(&self) -> Option<u64> {
        Some(self.sessions.len() as u64)
    }
}

/// Writes the first sessions of a workload, drawn by a seed as a run draws them: so many, or one
/// pass of a workload that has fewer. httperf itself reads no more than a thousand of a file. See
/// [`write()`].
///
/// # Errors
/// Those of the writer.
pub fn write_of(
    of: &mut dyn Workload,
    sessions: u32,
    seed: u64,
    to: &mut impl io::Write,
) -> io::Result<()> {
    let mut separator = Separator::default();
    for number in 0..source::within_pass(of, sessions).into() {
        let (mut asking, mut thinking) = source::draws(seed, number);
        let session = of.session(number, &mut asking, &mut thinking);
        write_session(of.files(), &session, &mut separator, to)?;
    }
    Ok(())
}

/// Writes sessions of these files as httperf and [`Wsesslog::read`] read them.
///
/// The format has one pause for a burst, behind it. So a request that has a pause of its own begins
/// a burst, and that pause is the one before it: all comes when it would, but is not pipelined or
/// made on several connections at once. What the format has no words for is lost: whether a request
/// is conditional.
///
/// # Errors
/// Those of the writer.
pub fn write<S: Borrow<Session>>(
    files: &Files,
    sessions: impl IntoIterator<Item = S>,
    to: &mut impl io::Write,
) -> io::Result<()> {
    let mut separator = Separator::default();
    let mut sessions = sessions.into_iter();
    sessions.try_for_each(|session| write_session(files, session.borrow(), &mut separator, to))
}

/// What stands between two sessions: nothing before the first.
#[derive(Default)]
struct Separator(&'static str);

fn write_session(
    files: &Files,
    session: &Session,
    separator: &mut Separator,
    to: &mut impl io::Write,
) -> io::Result<()> {
    let bursts = split_at_pauses(session);
    if bursts.is_empty() {
        return Ok(());
    }
    to.write_all(mem::replace(&mut separator.0, "\n").as_bytes())?;
    for (requests, think) in bursts {
        for (place, request) in requests.iter().enumerate() {
            let indent = if place > 0 { "\t" } else { "" };
            write!(to, "{indent}{}", files.file(request.file).target)?;
            let method = Method::NAMES.iter().find(|(_, method)| *method == request.method);
            let (name, _) = method.expect("each method has a name");
            if request.method != Method::Get {
                write!(to, " method={name}")?;
            }
            if place == 0 {
                write!(to, " think={}.{:09}", think.as_secs(), think.subsec_nanos())?;
            }
            if !request.content.is_empty() {
                write_content(&request.content, to)?;
            }
            to.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// Requests without a pause between them, and the pause behind them.
fn split_at_pauses(session: &Session) -> Vec<(&[Request], Duration)> {
    let mut parts: Vec<(&[Request], Duration)> = Vec::new();
    for burst in &session.bursts {
        for (place, part) in burst.requests.chunk_by(|_, next| next.pause.is_zero()).enumerate() {
            if let (Some((_, before)), Some(first)) = (parts.last_mut(), part.first()) {
                // Behind a burst stands its own pause, within one there is none.
                *before = if place == 0 { *before + first.pause } else { first.pause };
            }
            parts.push((part, burst.think));
        }
    }
    parts
}

fn write_content(content: &[u8], to: &mut impl io::Write) -> io::Result<()> {
    let mut quoted = Vec::with_capacity(content.len() + 16);
    for &byte in content {
        match byte {
            b'\n' => quoted.extend(b"\\n"),
            b'\r' => quoted.extend(b"\\r"),
            b'\t' => quoted.extend(b"\\t"),
            b'"' | b'\\' => quoted.extend([b'\\', byte]),
            _ => quoted.push(byte),
        }
    }
    to.write_all(b" contents=\"")?;
    to.write_all(&quoted)?;
    to.write_all(b"\"")
}

/// The next line with all that continue it, which only contents have. Whether there is one.
fn join(lines: &mut Lines<'_>, whole: &mut Vec<u8>) -> Result<bool, Fault> {
    let mut has_contents = false;
    let mut is_first = true;
    whole.clear();
    loop {
        let Some(line) = lines.next()? else {
            if is_first {
                return Ok(false);
            }
            let what = "the file ends where its contents go on".to_owned();
            return Err(Fault::Line { number: lines.number, what });
        };
        let fits = |line: &&[u8]| whole.len() + line.len() <= LINE_BYTES_MAX;
        let Some(line) = line.filter(fits) else {
            let what = format!("longer than {LINE_BYTES_MAX} bytes, with all that continues it");
            return Err(Fault::Line { number: lines.number, what });
        };
        let escapes = line.iter().rev().take_while(|byte| **byte == b'\\').count();
        whole.extend_from_slice(line);
        if mem::take(&mut is_first) {
            let mut windows = line.windows(CONTENTS.len());
            has_contents = !line.starts_with(b"#") && windows.any(|window| window == CONTENTS);
        }
        if escapes % 2 == 0 || !has_contents {
            return Ok(true);
        }
        whole.push(b'\n');
    }
}

/// A target, and contents in which each byte is escaped.
const LINE_BYTES_MAX: usize = (16 << 10) + 2 * CONTENT_BYTES_MAX;

const CONTENTS: &[u8] = b"contents=";

/// What a file has come to so far.
#[derive(Default)]
struct Reading {
    think: Duration,
    names: Names,
    sessions: Vec<Session>,
    /// The one in hand.
    session: Session,
    requests: usize,
    contents_bytes: usize,
}

enum Wrong {
    Line(String),
    File(Fault),
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Self::Line(what)
    }
}

impl Reading {
    fn take(&mut self, line: &[u8]) -> Result<(), Wrong> {
        if line.starts_with(b"#") {
            return Ok(());
        }
        let is_indented = line.first().is_some_and(|byte| is_space(*byte));
        let (target, mut rest) = word(line);
        if target.is_empty() {
            self.end_session();
            return Ok(());
        }
        let mut escaped = String::new();
        if !escape(target, &mut escaped) {
            return Err("the target is longer than a head may be".to_owned().into());
        }
        let file = self.names.id(&escaped).map_err(Wrong::File)?;
        let mut request = Request::get(file);
        let mut think = None;
        while let Some(word) = argument(&mut rest)? {
            match word {
                Argument::Method(method) => request.method = method,
                Argument::Think(pause) => think = Some(pause),
                Argument::Contents(content) => request.content = content.into(),
            }
        }
        self.requests += 1;
        self.contents_bytes += request.content.len();
        if self.requests > REQUESTS_MAX {
            let most = REQUESTS_MAX as u64;
            return Err(Wrong::File(Fault::TooMany { what: "requests", most }));
        }
        if self.contents_bytes > CONTENTS_BYTES_MAX {
            let most = CONTENTS_BYTES_MAX as u64;
            return Err(Wrong::File(Fault::TooMany { what: "bytes of contents", most }));
        }
        let bursts = &mut self.session.bursts;
        if !is_indented || bursts.is_empty() {
            bursts.push(Burst { requests: Vec::new(), think: self.think });
        }
        if let Some(burst) = bursts.last_mut() {
            burst.requests.push(request);
            burst.think = think.unwrap_or(burst.think);
        }
        Ok(())
    }

    fn end_session(&mut self) {
        if !self.session.bursts.is_empty() {
            self.sessions.push(mem::take(&mut self.session));
        }
    }
}

enum Argument {
    Method(Method),
    Think(Duration),
    Contents(Box<[u8]>),
}

/// The next one of a line, taken off its rest.
fn argument(rest: &mut &[u8]) -> Result<Option<Argument>, String> {
    let line = unindented(rest);
    if let Some(quoted) = line.strip_prefix(CONTENTS) {
        let (content, length) = contents(quoted)?;
        *rest = &quoted[length..];
        return Ok(Some(Argument::Contents(content.into())));
    }
    let (word, after) = word(line);
    *rest = after;
    if word.is_empty() {
        return Ok(None);
    }
    let word =
        str::from_utf8(word).map_err(|_| format!("`{}` is no argument", word.escape_ascii()))?;
    match word.split_once('=') {
        Some(("method", name)) => method(name).map(|method| Some(Argument::Method(method))),
        Some(("think", seconds)) => think(seconds).map(|pause| Some(Argument::Think(pause))),
        _ => Err(format!("`{word}` is none of method=, think= and contents=")),
    }
}

fn method(name: &str) -> Result<Method, String> {
    let known = Method::NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, method)| *method).ok_or_else(|| {
        let all = Method::NAMES.map(|(known, _)| known).join(", ");
        format!("the method `{name}` is none of {all}")
    })
}

fn think(seconds: &str) -> Result<Duration, String> {
    let number = seconds.parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=THINK_S_MAX).contains(number));
    let pause = number.map(Duration::from_secs_f64);
    pause.ok_or_else(|| format!("think={seconds} is no pause of 0 to {THINK_S_MAX} seconds"))
}

/// A quoted string and its length with its quotes: up to white space that is not within quotes,
/// which may begin and end anywhere.
fn contents(quoted: &[u8]) -> Result<(Vec<u8>, usize), String> {
    let mut content = Vec::new();
    let mut quote = None;
    let mut bytes = (0..).zip(quoted.iter().copied());
    while let Some((at, byte)) = bytes.next() {
        match (byte, quote) {
            (b'\\', _) => match bytes.next() {
                Some((_, b'n')) => content.push(b'\n'),
                Some((_, b'r')) => content.push(b'\r'),
                Some((_, b't')) => content.push(b'\t'),
                Some((_, escaped)) => content.push(escaped),
                None => return Err("the contents end in a backslash".to_owned()),
            },
            (_, Some(open)) if byte == open => quote = None,
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, None) if is_space(byte) => return judged(content, at),
            _ => content.push(byte),
        }
    }
    match quote {
        Some(open) => Err(format!("the contents have no closing {}", char::from(open))),
        None => judged(content, quoted.len()),
    }
}

fn judged(content: Vec<u8>, length: usize) -> Result<(Vec<u8>, usize), String> {
    if content.len() > CONTENT_BYTES_MAX {
        return Err(format!("the contents have more than {CONTENT_BYTES_MAX} bytes"));
    }
    Ok((content, length))
}

/// The first word of a line, and what follows it.
fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let line = unindented(line);
    line.split_at(line.iter().position(|&byte| is_space(byte)).unwrap_or(line.len()))
}

fn unindented(line: &[u8]) -> &[u8] {
    &line[line.iter().position(|&byte| !is_space(byte)).unwrap_or(line.len())..]
}

/// C's `isspace`.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests;
