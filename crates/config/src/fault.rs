use std::fmt;
use std::sync::Arc;

use site::rules::{Origin, Place};

/// A mistake in a file: a line for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// As the operator named it.
    pub file: Arc<str>,
    /// None: the file as a whole.
    pub place: Option<Place>,
    /// With the tables that it is in, `host.rule.at` for instance; empty where no key is to blame.
    pub key: String,
    /// What is wrong, and what to do.
    pub told: String,
}

impl Fault {
    /// Where it is, for mistakes that are found later.
    pub(crate) fn origin(&self) -> Origin {
        Origin { file: Arc::clone(&self.file), place: self.place, key: (&*self.key).into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{:#}", self.origin());
        if !self.told.is_empty() {
            text.push_str(": ");
            text.push_str(&self.told);
        }
        // Keys, values and names of files may hold anything, and a mistake is one line.
        f.write_str(&text.replace(char::is_control, " "))
    }
}
