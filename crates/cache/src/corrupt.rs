use core::{error::Error, fmt};

/// Words that no operation leaves behind: whoever wrote them died halfway, or wrote astray.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupt {
    what: &'static str,
    number: u64,
}

impl Corrupt {
    /// What is wrong, and the number (an index, a count, a unit) that it is about.
    #[must_use]
    pub const fn new(what: &'static str, number: u64) -> Self {
        Self { what, number }
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.what, self.number)
    }
}

impl Error for Corrupt {}
