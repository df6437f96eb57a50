//! Workloads that come from files, and one that is made to look like such.
//!
//! A log of a server ([`read`]) is read once, from front to end, so it may come through a pipe
//! (`zcat`), and is never held: what stays of a request is 12 bytes, of a session 24, and of a
//! target its text, once. Requests become sessions again, as nobody logs connections: those of one
//! client, with no gap above [`Choices::gap`], came through one. A [`TraceWorkload`] replays them
//! and says when they began.
//!
//! httperf's session logs ([`wsesslog`]) are sessions already. Where there is no file a
//! [`Synthesis`](synthesis::Synthesis) draws requests that a cache finds as hard as a trace that
//! was published; [`presets`] has those of Choi05.

use std::fmt;
use std::io::BufRead;

use measure::Duration;

pub mod clf;
mod collect;
mod fault;
mod input;
mod locality;
mod made;
mod names;
mod order;
pub mod presets;
mod replay;
mod request;
pub mod synthesis;
pub mod ucb;
mod visits;
pub mod wc98;
pub mod wsesslog;

pub use fault::Fault;
pub(crate) use input::refuse_compressed;
pub use replay::TraceWorkload;

use crate::units;
use crate::workload::Made;
use crate::workload::settings::Settings;

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Common or combined log format: see [`clf`].
    Clf,
    /// The records of the World Cup of 1998: see [`wc98`].
    Wc98,
    /// The records of UC Berkeley's Home IP service: see [`ucb`].
    Ucb,
}

impl Format {
    /// A log as a workload.
    pub(crate) fn make(self, from: &mut dyn BufRead, settings: &Settings) -> Made {
        let log = read(self, from, &settings.log).map_err(|fault| fault.to_string())?;
        Ok(Box::new(log))
    }
}

/// What a log does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choices {
    /// The longest time between two requests of one client on one connection; at most
    /// [`GAP_S_MAX`].
    pub gap: Duration,
    /// How many times as fast as it was logged: 2.0 halves all times. From [`SPEED_LEAST`] to
    /// [`SPEED_MOST`].
    pub speed: f64,
    /// Whether the server has files that were made for this log ([`crate::files::content`]), so
    /// that what comes can be compared.
    pub is_made: bool,
}

/// An hour; a pause is kept in 32 bits of microseconds.
pub const GAP_S_MAX: f64 = 3600.0;

/// A log of a day then takes three years.
pub const SPEED_LEAST: f64 = 0.001;

/// A log of ten years then takes five minutes.
pub const SPEED_MOST: f64 = 1e6;

impl Default for Choices {
    /// 15 s: what Apache 1.3 kept a connection open for, and Pariag07's clients their patience.
    fn default() -> Self {
        Self { gap: Duration::from_secs(15), speed: 1.0, is_made: false }
    }
}

/// What became of the lines or records of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that are replayed.
    pub kept: u64,
    /// Requests that are not: other methods than GET and HEAD, and answers that say nothing of a
    /// file (all but 2xx and 304).
    pub left_out: u64,
    /// Requests that are not, in a replay against a made site: for what cannot be made.
    pub not_made: u64,
    /// Lines or records that are none.
    pub unreadable: u64,
    /// Of those kept: logged so much too late that their time is that of the one before.
    pub late: u64,
}

impl fmt::Display for Tally {
    /// One line; what there is none of is not told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} requests of the log", units::count(self.kept))?;
        let rows = [
            (self.late, "of them too late to be put in order"),
            (self.left_out, "more left out: no GET or HEAD of a file that was there"),
            (self.not_made, "more left out: their size is not known, or they can be no file"),
            (self.unreadable, "unreadable"),
        ];
        let mut told = rows.iter().filter(|(count, _)| *count > 0);
        told.try_for_each(|(count, what)| write!(f, "; {} {what}", units::count(*count)))
    }
}

/// Reads a log.
///
/// # Errors
/// It cannot be read, has no request that could be replayed or more than are kept, or a choice is
/// out of its range. What is wrong in a line or a record is counted, not refused: no log is
/// without.
pub fn read(
    format: Format,
    mut from: impl BufRead,
    choices: &Choices,
) -> Result<TraceWorkload, Fault> {
    if !(SPEED_LEAST..=SPEED_MOST).contains(&choices.speed) {
        return Err(Fault::Speed);
    }
    let from: &mut dyn BufRead = &mut from;
    refuse_compressed(from)?;
    let collector = match format {
        Format::Clf => clf::read(from, choices)?,
        Format::Wc98 => wc98::read(from, choices)?,
        Format::Ucb => ucb::read(from, choices)?,
    };
    collector.finish(choices)
}
