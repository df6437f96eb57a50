//! What a subject says: read as it comes, so that it never waits, and but for its end forgotten.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Kept of it.
const KEPT_BYTES: usize = 4 << 10;
/// Lines of its last words: programs say what hinders them first and that they give up last.
const LINES: usize = 3;
/// Characters of each, at most.
const LINE_CHARS: usize = 200;

/// Its output and its errors, in the order they came.
#[derive(Debug)]
pub(super) struct Said {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl Said {
    /// What is written to the second is heard by the first.
    pub(super) fn new() -> io::Result<(Self, PipeWriter)> {
        let (mut from, into) = io::pipe()?;
        let kept = Arc::default();
        let hears = Arc::clone(&kept);
        let thread = std::thread::Builder::new().name(String::from("weir-lab-said"));
        let reader = thread.spawn(move || hear(&mut from, &hears))?;
        Ok((Self { kept, reader }, into))
    }

    /// Whether all who could say something are gone, so that nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.reader.is_finished()
    }

    /// The last lines as one; nothing, if nothing was said.
    pub(super) fn last_words(&self) -> Option<String> {
        let kept: Vec<u8> =
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let text = String::from_utf8_lossy(&kept);
        let mut lines: Vec<String> = text.lines().map(shown).filter(|l| !l.is_empty()).collect();
        lines.dedup();
        let last = lines.len().saturating_sub(LINES);
        (!lines.is_empty()).then(|| lines[last..].join("; "))
    }
}

fn hear(from: &mut PipeReader, kept: &Mutex<VecDeque<u8>>) {
    let mut piece = [0; KEPT_BYTES];
    // A pipe has no failure but its end.
    while let Ok(n) = from.read(&mut piece)
        && n > 0
    {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&piece[..n]);
        let excess = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..excess);
    }
}

/// What a terminal can show of a line.
fn shown(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(LINE_CHARS).collect::<String>().trim().into()
}
