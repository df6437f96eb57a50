use std::fmt;
use std::sync::Arc;

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

/// Where in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.file.to_string();
        if let Some(Place { line, column }) = self.place {
            text.push_str(&format!(":{line}:{column}"));
        }
        for part in [&self.key, &self.told] {
            if !part.is_empty() {
                text.push_str(": ");
                text.push_str(part);
            }
        }
        // Keys, values and names of files may hold anything, and a mistake is one line.
        f.write_str(&text.replace(char::is_control, " "))
    }
}
