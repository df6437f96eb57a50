use std::fmt;
use std::io;

use super::choices::{SPEED_LEAST, SPEED_MOST};

/// Why a file is no workload. Whoever opened it says which file it was.
#[derive(Debug)]
pub enum Fault {
    /// The machine's: it cannot be read.
    Io(io::Error),
    /// The operator's: a line, counted from 1, or a record is not what the format knows.
    Line {
        /// Which one.
        number: u64,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// There is more of it than is kept in memory.
    TooMany {
        /// Of what.
        what: &'static str,
        /// So many are kept.
        most: u64,
    },
    /// It is compressed.
    Compressed,
    /// It has no session, where sessions are what it is to have.
    NoSession,
    /// Nothing in it can be asked for.
    Empty {
        /// Lines or records that are none of this format.
        unreadable: u64,
        /// Requests that say nothing of a file.
        left_out: u64,
    },
    /// Nothing in it is a file that could be made.
    Unmade,
    /// The speed is none.
    Speed,
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(to, "cannot be read: {error}"),
            Self::Line { number, what } => write!(to, "line or record {number}: {what}"),
            Self::TooMany { what, most } => {
                write!(to, "more than {most} {what}: replay a part of it (`head`, `split`)")
            }
            Self::Compressed => write!(to, "is compressed: pipe it through `zcat`"),
            Self::NoSession => write!(
                to,
                "there is no session in it: each line is what is asked for, an empty one ends a \
                 session"
            ),
            Self::Empty { unreadable: 0, left_out: 0 } => write!(to, "there is no request in it"),
            Self::Empty { unreadable, left_out } => write!(
                to,
                "no request in it can be replayed ({unreadable} lines or records are unreadable, \
                 {left_out} are no GET or HEAD of a file that was there): is that its format?"
            ),
            Self::Unmade => write!(
                to,
                "no request in it is for a file that could be made: their sizes are not known, or \
                 they can be no file"
            ),
            Self::Speed => write!(to, "a speed is a number from {SPEED_LEAST} to {SPEED_MOST}"),
        }
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
