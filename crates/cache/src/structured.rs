use crate::ring::{self, Ring, ring};
use crate::state::OWN;
use crate::{Arrival, Corrupt, Policy, State};

/// Structured: directories stay or go, and in them files.
///
/// Idea: who asks for a page soon asks for what lies beside it. Directories (classes) stand in a
/// row, and the entries of each in one of their own. Whoever is asked for goes to the front of his,
/// and his directory to the front of all; of the directory that stands last the last entry goes.
/// Source: JAWS97 3.1 names a "Structured" strategy and does not say what it does: this is our
/// reading. Knobs: none. What it is bad at: a hot file keeps its whole directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Structured;

/// Directories that are told apart: those alike in that many of their number's values are one.
/// Their rows take 8 KiB, and few sites have more that are hot at one time.
const DIRECTORIES: u32 = 256;

/// The row of directories. Their nodes come first, and close the rows of their entries, too.
const ALL: Ring = Ring { end: 0, word: OWN };
const HEADS: u32 = 1 + DIRECTORIES;
/// Of an entry's words: the node of its directory.
const DIRECTORY: usize = OWN;

impl Policy for Structured {
    fn heads(&self) -> u32 {
        HEADS
    }

    fn words(&self) -> usize {
        1
    }

    fn insert(&self, state: &mut State<&mut [u64]>, index: u32, arrival: &Arrival) {
        let directory = 1 + arrival.class % DIRECTORIES;
        state[(HEADS + index, DIRECTORY)] = directory.into();
        if state[directory] == 0 {
            ALL.join(state, directory);
        } else {
            ALL.renew(state, directory);
        }
        ring(directory).join(state, HEADS + index);
    }

    fn touch(&self, state: &mut State<&mut [u64]>, index: u32) {
        let directory = state[(HEADS + index, DIRECTORY)] as u32;
        ALL.renew(state, directory);
        ring(directory).renew(state, HEADS + index);
    }

    fn remove(&self, state: &mut State<&mut [u64]>, index: u32) {
        let directory = state[(HEADS + index, DIRECTORY)] as u32;
        ring(directory).leave(state, HEADS + index);
        if state[directory] == 0 {
            ALL.leave(state, directory);
        }
    }

    fn choose(
        &self,
        state: &mut State<&mut [u64]>,
        _hear: &mut impl FnMut(u32) -> u32,
    ) -> Option<u32> {
        match ALL.last(state) {
            0 => None,
            directory => ring(directory).last(state).checked_sub(HEADS),
        }
    }

    fn check(&self, state: &State<&[u64]>, count: u32) -> Result<(), Corrupt> {
        let mut counted = 0;
        let directories = ALL.check(state, 1, DIRECTORIES, |directory| {
            let wrong = |what| Err(Corrupt::new(what, directory.into()));
            if directory >= HEADS {
                return wrong("no directory, but in their row");
            }
            let entries = ring(directory).check(state, HEADS, count - counted, |node| {
                let is_told = state.get(node, DIRECTORY) == Some(directory.into());
                is_told.then_some(()).ok_or(Corrupt::new("told of another row", node.into()))
            })?;
            counted += entries;
            if entries == 0 { wrong("an empty directory in the row") } else { Ok(()) }
        })?;
        let with_entries = (1..HEADS).filter(|node| state.get(*node, 0) != Some(0)).count();
        if with_entries != directories as usize {
            return Err(Corrupt::new("not the count of the directories", directories.into()));
        }
        ring::all(counted, count)
    }
}
