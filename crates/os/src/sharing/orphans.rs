//! Descriptors that a process has left which died while it made or closed them: open, and nobody's.
//!
//! Those of processes that live look the same for a moment, so two waits tell them apart. Each
//! ends when all have left the windows that they were in when it began; whoever has entered another
//! one since does not count. What is open and nobody's at first, after the first wait and after the
//! second, and whose word is the same all the time, is an orphan:
//!
//! - Whoever was making it at first has noted it by the end of the first wait: the word has
//!   changed.
//! - Whoever was closing it at first has closed it by then. If it is open all the same another has
//!   made it since, who lives and is in a window, or has died. If he lives he has noted it by the
//!   end of the second wait. Nobody can be closing it: he would have noted it first.
//!
//! So the word stays the same only if somebody has died who had it. Then nobody will close it, and
//! until the keeper does no other can get that number.

use std::mem;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::fence;

use super::descriptors::{Table, shared};
use super::owner::Owner;

/// How far the keeper is with them.
#[derive(Debug, Default)]
pub struct Orphans(State);

#[derive(Debug, Default)]
enum State {
    /// There are none.
    #[default]
    None,
    /// Numbers below `at` were looked at.
    Looks { at: RawFd, found: Vec<Found> },
    /// For others to leave the windows that they were in.
    Waits { found: Vec<Found>, windows: Vec<(usize, u64)>, wait: Wait },
}

/// A number that is open and nobody's, and its word.
#[derive(Debug)]
struct Found(RawFd, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    First,
    Second,
}

/// Numbers looked at in one step: each that is nobody's takes a call, so this some milliseconds.
const AT_ONCE: usize = 1 << 16;

impl Orphans {
    /// Somebody has died, and was buried: what he was making or closing is to be found. What was
    /// seen before is seen again.
    pub fn look(&mut self) {
        self.0 = State::Looks { at: 0, found: Vec::new() };
    }

    /// Goes on, without waiting; whether nothing is left to do. Otherwise it is to be called again,
    /// soon: whoever is in a call of the kernel, which may take as long as a disk, is waited for.
    ///
    /// # Panics
    /// The calling process is not the keeper.
    pub fn step(&mut self) -> bool {
        assert!(super::owner::number() == super::owner::KEEPER, "the keeper buries");
        let Some(table) = shared() else { return true };
        self.0 = match mem::take(&mut self.0) {
            State::None => State::None,
            State::Looks { at, found } => looked(table, at, found),
            State::Waits { found, windows, wait } => waited(table, found, windows, wait),
        };
        matches!(self.0, State::None)
    }
}

fn looked(table: &Table, at: RawFd, mut found: Vec<Found>) -> State {
    let all = (at..).take(table.numbers() - at as usize);
    found.extend(all.take(AT_ONCE).filter_map(|number| {
        let word = table.unowned(number)?;
        Some(Found(number, word))
    }));
    match at as usize + AT_ONCE {
        end if end < table.numbers() => State::Looks { at: end as RawFd, found },
        _ => waits(table, found, Wait::First),
    }
}

fn waits(table: &Table, found: Vec<Found>, wait: Wait) -> State {
    if found.is_empty() {
        return State::None;
    }
    // Whoever has one of them in hand is seen in his window: he had entered it before.
    fence(SeqCst);
    State::Waits { found, windows: table.open_windows(), wait }
}

fn waited(
    table: &Table,
    mut found: Vec<Found>,
    mut windows: Vec<(usize, u64)>,
    wait: Wait,
) -> State {
    windows.retain(|window| table.is_open_window(*window));
    if !windows.is_empty() {
        return State::Waits { found, windows, wait };
    }
    found.retain(|Found(number, word)| table.unowned(*number) == Some(*word));
    if wait == Wait::First {
        return waits(table, found, Wait::Second);
    }
    for Found(number, _) in found {
        table.note(number, Owner::me());
        table.close(number, Owner::me());
    }
    State::None
}
