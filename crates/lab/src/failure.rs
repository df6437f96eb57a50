use std::any::Any;
use std::fmt;
use std::io::{self, ErrorKind};

/// Why something was not done; each line of the text is a complaint of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The operator asked for what makes no sense.
    Operator(String),
    /// The machine refuses: a right, a limit, a program that is not there.
    Machine(String),
    /// A disk has no room: whatever is measured next has none either.
    Full(String),
    /// Somebody wanted it to end; what is known so far is kept.
    Stopped,
}

impl Failure {
    /// The machine refuses what was done with `what`.
    pub fn machine(what: impl fmt::Display, error: impl fmt::Display + Any) -> Self {
        let text = format!("{what}: {error}");
        let error: &dyn Any = &error;
        match error.downcast_ref().map(io::Error::kind) {
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => Self::Full(text),
            _ => Self::Machine(text),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator(what) | Self::Machine(what) | Self::Full(what) => f.write_str(what),
            Self::Stopped => f.write_str("stopped; what was measured is kept"),
        }
    }
}

impl std::error::Error for Failure {}
