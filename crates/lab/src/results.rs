//! What is known, as lines of JSON: each stands by itself, so that a run that was broken off has
//! lost at most the point that was being measured. Pages are drawn of several such files together.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::point::{Point, SCHEMA};
use crate::setup::Setup;

/// The file's name in the directory of a run.
pub const FILE: &str = "results.jsonl";

/// One line; which of the two stands in its key `line`.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// The first one, and again where a run goes on.
    Run(Box<Run>),
    /// One for each point.
    Point(Box<Point>),
}

/// Among [`Run::versions`]: see [`executable::build`](crate::executable::build).
pub const EXECUTABLE: &str = "executable";

/// What stands in the key `line`.
const RUN: &str = "run";
const POINT: &str = "point";

impl Line {
    /// As it stands in a file, without the end of the line.
    ///
    /// # Panics
    /// Never: every line can be written.
    #[must_use]
    pub fn text(&self) -> String {
        #[derive(Serialize)]
        struct Written<'l, T> {
            line: &'static str,
            #[serde(flatten)]
            of: &'l T,
        }
        let text = match self {
            Self::Run(run) => serde_json::to_string(&Written { line: RUN, of: &**run }),
            Self::Point(point) => serde_json::to_string(&Written { line: POINT, of: &**point }),
        };
        text.expect("text for keys, and values")
    }
}

/// What a reader has to know of a run beside its points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Names the run: when it began, and by which process.
    pub run: String,
    /// When, by the calendar (RFC 3339).
    pub began: String,
    /// The experiments, in their order.
    pub experiments: Vec<String>,
    /// What was chosen.
    pub setup: Setup,
    /// The run whose questions it asks again; see [`crate::again`].
    #[serde(default)]
    pub again_of: Option<String>,
    /// As it could be typed again.
    pub command: String,
    /// See [`load::machine::facts`].
    pub machine: BTreeMap<String, String>,
    /// Of this program, of the tools that look inside, and of every subject that says its own;
    /// and by the name [`EXECUTABLE`] what tells this program from all others.
    pub versions: BTreeMap<String, String>,
    /// What could not be had, in a line each: a peer that is not installed.
    pub missing: Vec<String>,
}

impl Run {
    /// Whether the points of two belong together: the same was asked, with the same choices. One
    /// that a busy machine stopped may go on anyway.
    #[must_use]
    pub fn asks_as(&self, other: &Self) -> bool {
        let of = |run: &Self| {
            let setup = Setup { is_anyway: false, ..run.setup.clone() };
            (setup, run.experiments.clone(), run.again_of.clone())
        };
        of(self) == of(other)
    }

    /// What tells the program that measured; `None`: it did not say.
    #[must_use]
    pub fn executable(&self) -> Option<&str> {
        self.versions.get(EXECUTABLE).map(String::as_str)
    }
}

/// All lines of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// Of each start of each run.
    pub runs: Vec<Run>,
    /// In the order in which they were measured.
    pub points: Vec<Point>,
}

impl Results {
    /// Those in a directory; none if it has none.
    ///
    /// # Errors
    /// The file cannot be read, or a line of it is none of ours: with the line's number. A last
    /// line without an end was broken off and is left out.
    pub fn read(dir: &Path) -> Result<Self, Failure> {
        let path = dir.join(FILE);
        match std::fs::read(&path) {
            Ok(text) => Self::of(&path, whole(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Failure::machine(path.display(), error)),
        }
    }

    /// The same, of which the file may be compressed (`results.jsonl.xz`), as those that are
    /// published are.
    ///
    /// # Errors
    /// See [`Self::read`]; there are none, or there is no `xz` to read them with.
    pub fn published(dir: &Path) -> Result<Self, Failure> {
        let packed = dir.join(format!("{FILE}.xz"));
        let is_packed = !dir.join(FILE).exists() && packed.exists();
        let results =
            if is_packed { Self::of(&packed, &unpacked(&packed)?)? } else { Self::read(dir)? };
        if results.runs.is_empty() {
            return Err(Failure::Operator(format!("{}: there are no results", dir.display())));
        }
        Ok(results)
    }

    /// Those in a file's text.
    fn of(path: &Path, text: &[u8]) -> Result<Self, Failure> {
        let mut results = Self::default();
        for (number, line) in (1..).zip(text.split_inclusive(|&byte| byte == b'\n')) {
            results
                .take(line)
                .map_err(|why| Failure::Operator(format!("{}:{number}: {why}", path.display())))?;
        }
        Ok(results)
    }

    /// One line more.
    ///
    /// # Errors
    /// It is none of ours, or of another schema: in words.
    pub fn take(&mut self, line: &[u8]) -> Result<(), String> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
            line: String,
        }
        let none = |error: serde_json::Error| format!("no line of results: {error}");
        let Head { schema, line: of } = serde_json::from_slice(line).map_err(none)?;
        if schema != SCHEMA {
            let which = if schema < SCHEMA { "an older" } else { "a newer" };
            return Err(format!("{which} weir has written it; take another --dir, or that weir"));
        }
        match of.as_str() {
            RUN => self.runs.push(serde_json::from_slice(line).map_err(none)?),
            POINT => self.points.push(serde_json::from_slice(line).map_err(none)?),
            other => return Err(format!("a line of {other}, which there is not")),
        }
        Ok(())
    }
}

/// But for a last line that was broken off.
fn whole(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte == b'\n');
    end.map_or(&[], |end| &text[..=end])
}

/// Where lines are added, by one at a time.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// The file in a directory, for more lines, and those that it has; what was broken off at its
    /// end is taken away.
    ///
    /// # Errors
    /// As [`Results::read`]; it cannot be written, or somebody else adds to it.
    pub fn open(dir: &Path) -> Result<(Self, Results), Failure> {
        let path = dir.join(FILE);
        let failed = |error| Failure::machine(path.display(), error);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Failure::Operator(format!(
                "{}: another weir lab adds to it; take another --dir",
                path.display()
            )),
            TryLockError::Error(error) => failed(error),
        })?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let whole = whole(&text);
        let results = Results::of(&path, whole)?;
        let end = whole.len() as u64;
        file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map_err(failed)?;
        Ok((Self { path, file }, results))
    }

    /// Adds a line, whole or not at all.
    ///
    /// # Errors
    /// The disk is full: what there was before stays whole.
    ///
    /// # Panics
    /// Never: every line can be written.
    pub fn add(&mut self, line: &Line) -> Result<(), Failure> {
        let mut text = line.text();
        text.push('\n');
        let begin = self.file.stream_position();
        let done = begin.and_then(|begin| match self.file.write_all(text.as_bytes()) {
            Ok(()) => Ok(()),
            Err(error) => {
                // If this fails too, who reads leaves the piece out.
                let _ = self.file.set_len(begin);
                let _ = self.file.seek(SeekFrom::Start(begin));
                Err(error)
            }
        });
        done.map_err(|error| {
            let what = format!("{}: what was measured before is kept", self.path.display());
            Failure::machine(what, error)
        })
    }
}
/// By `xz`, which every system has that packages are made on.
fn unpacked(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |why: String| Failure::Machine(format!("xz -dc {}: {why}", path.display()));
    let done = Command::new("xz").arg("-dc").arg(path).output();
    let done = done.map_err(|error| failed(error.to_string()))?;
    match done.status.success() {
        true => Ok(done.stdout),
        false => Err(failed(String::from_utf8_lossy(&done.stderr).trim().into())),
    }
}
