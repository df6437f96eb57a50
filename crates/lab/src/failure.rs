use std::fmt;

/// Why something was not done; each line of the text is a complaint of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The operator asked for what makes no sense.
    Operator(String),
    /// The machine refuses: a right, a limit, a program that is not there, a disk that is full.
    Machine(String),
    /// Somebody wanted it to end; what is known so far is kept.
    Stopped,
}

impl Failure {
    /// The machine refuses what was done with `what`.
    pub fn machine(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Self::Machine(format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator(what) | Self::Machine(what) => f.write_str(what),
            Self::Stopped => f.write_str("stopped; what was measured is kept"),
        }
    }
}

impl std::error::Error for Failure {}
