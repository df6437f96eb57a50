//! Paths that the operator, or a log, says will be asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::path;

/// Hints for [`crate::Settings::hints`]: the paths, each with its line in the file they are from.
#[derive(Debug, Clone, Default)]
pub struct Hints(Arc<Lines>);

#[derive(Debug, Default)]
struct Lines {
    paths: HashMap<Box<[u8]>, u32>,
    /// Those with a path that no request leads to a file by.
    strange: Vec<u32>,
}

/// Paths there can be. A site that has more hot files than this has no hot files; so many take
/// some 10 MB.
pub const HINTS_MAX: usize = 100_000;

/// What is known of hints once the disk was asked for some of them, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// For how many.
    pub looked_up: usize,
    /// How many of these lead to no file.
    pub nowhere: usize,
    /// The line of the first that does not.
    pub line: Option<u32>,
}

impl Hints {
    /// Reads a path from each line, as it stands in a request; what a query asks for is left out.
    /// Empty lines and those that begin with `#` say nothing.
    ///
    /// # Errors
    /// The number of the line that is wrong, and what is.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = Lines::default();
        for (number, line) in (1_u32..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |why: String| Err((number as usize, why));
            if !line.starts_with('/') {
                return wrong(format!("{line:?} is no path: it does not begin with a slash"));
            }
            if lines.paths.len() + lines.strange.len() == HINTS_MAX {
                return wrong(format!("more than {HINTS_MAX} paths; give the first of them"));
            }
            let raw = line.split_once('?').map_or(line, |(path, _)| path);
            match path::translate(raw.as_bytes()) {
                Ok(path) => drop(lines.paths.entry(Box::from(&*path)).or_insert(number)),
                Err(_) => lines.strange.push(number),
            }
        }
        Ok(Self(Arc::new(lines)))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.paths.is_empty() && self.0.strange.is_empty()
    }

    /// Whether the path is among them that `path` is beneath what stands at `at`.
    pub(crate) fn has(&self, at: &[u8], path: &[u8]) -> bool {
        let whole = if at.is_empty() { Cow::from(path) } else { Cow::from([at, path].concat()) };
        self.0.paths.contains_key(&*whole)
    }

    /// All lines in order, with their paths if they can lead to something.
    pub(crate) fn in_order(&self) -> Vec<(u32, Option<&[u8]>)> {
        let paths = self.0.paths.iter().map(|(path, line)| (*line, Some(&**path)));
        let mut all: Vec<_> =
            paths.chain(self.0.strange.iter().map(|line| (*line, None))).collect();
        all.sort_unstable();
        all
    }
}
