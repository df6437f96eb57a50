//! Paths that the operator, or a log, says will be asked for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::path;

/// Hints for [`crate::Settings::hints`]: the paths, each with its line in the file they are from.
#[derive(Debug, Clone, Default)]
pub struct Hints(Arc<HashMap<Box<[u8]>, u32>>);

/// Paths there can be. A site that has more hot files than this has no hot files; so many take
/// some 10 MB.
pub const HINTS_MAX: usize = 100_000;

impl Hints {
    /// Reads a path from each line, as it stands in a request; empty lines and those that begin
    /// with `#` say nothing.
    ///
    /// # Errors
    /// The number of the line that is wrong, and what is.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut paths = HashMap::new();
        for (number, line) in (1_u32..).zip(text.lines()) {
            let raw = line.trim();
            if raw.is_empty() || raw.starts_with('#') {
                continue;
            }
            let wrong = |why: String| (number as usize, why);
            let Ok(path) = path::translate(raw.as_bytes()) else {
                return Err(wrong(format!("{raw:?} is no path that a request can have")));
            };
            if paths.len() == HINTS_MAX {
                return Err(wrong(format!("more than {HINTS_MAX} paths; give the first of them")));
            }
            paths.entry(Box::from(&*path)).or_insert(number);
        }
        Ok(Self(Arc::new(paths)))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether that path is among them.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.0.contains_key(path)
    }

    /// All of them with their lines, in order.
    pub(crate) fn in_order(&self) -> Vec<(u32, &[u8])> {
        let mut all: Vec<_> = self.0.iter().map(|(path, line)| (*line, &**path)).collect();
        all.sort_unstable();
        all
    }
}
