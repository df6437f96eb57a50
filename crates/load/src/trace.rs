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

use std::io::BufRead;

mod choices;
pub mod clf;
mod collect;
mod fault;
pub mod hints;
pub(crate) mod input;
mod json_line;
mod line;
mod locality;
mod made;
pub(crate) mod names;
mod order;
pub mod presets;
mod replay;
mod request;
pub mod synthesis;
mod tally;
pub mod ucb;
mod visits;
pub mod wc98;
pub mod wsesslog;

use self::input::refuse_compressed;

pub use self::choices::{Choices, GAP_S_MAX, SPEED_LEAST, SPEED_MOST};
pub use self::fault::Fault;
pub use self::replay::TraceWorkload;
pub use self::tally::Tally;

/// How a log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Common or combined log format, or lines of JSON: see [`clf`].
    Clf,
    /// The records of the World Cup of 1998: see [`wc98`].
    Wc98,
    /// The records of UC Berkeley's Home IP service: see [`ucb`].
    Ucb,
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
