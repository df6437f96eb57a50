use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use super::descriptors;
use super::owner::{self, Dead, KEEPER, MEMBERS_MAX};
use crate::process::{self, Fork, Pid, SingleThreaded};

/// The processes that share what the calling one, their keeper, has made: it starts them, and has
/// to bury each that ends. In their own copies of this there is nothing to be done.
#[derive(Debug)]
pub struct Members {
    pids: Vec<Option<Pid>>,
}

/// Numbers are those of the process, so it can tell only one row of them apart.
static ARE_COUNTED: AtomicBool = AtomicBool::new(false);

impl Members {
    /// None yet, and at most so many, with the numbers from 1.
    ///
    /// # Panics
    /// This process has had others; `most` is zero, or more than 65,533.
    #[must_use]
    pub fn new(most: u16) -> Self {
        assert!((1..=MEMBERS_MAX).contains(&most), "numbers of 16 bits");
        assert!(!ARE_COUNTED.swap(true, Relaxed), "a process keeps one row of others");
        Self { pids: vec![None; most.into()] }
    }

    /// Starts the one of this number. It goes on from here as [`Fork::Child`] with a copy of this
    /// process's memory, but shares its table of descriptors, also what either of them opens and
    /// closes from then on. When it ends the kernel closes nothing, until all have ended. Of the
    /// types of this crate that it has copies of, it closes none.
    ///
    /// The C library makes no such process, and knows nothing of it: of its first thread it has
    /// noted the number that the keeper's has. So a robust mutex never sees it die, and what
    /// pthread_atfork(3) was told is not done. raise(3) and abort(3) may believe that number: then
    /// abort ends the process by a fault instead, or with musl, where nothing like seccomp forbids
    /// it, the keeper. It may start threads, which are like others, and ends by [`process::exit`].
    ///
    /// # Errors
    /// No memory, or a limit on processes.
    ///
    /// # Panics
    /// There is no such number, or a process has it; the table is not shared; the caller is not the
    /// keeper.
    pub fn start(&mut self, alone: &SingleThreaded, number: u16) -> io::Result<Fork> {
        assert_keeper();
        assert!(descriptors::are_shared(), "a table to share");
        let place = usize::from(number).checked_sub(1).and_then(|at| self.pids.get_mut(at));
        let place = place.expect("a number for it");
        assert!(place.is_none(), "nobody else has its number");
        let fork = process::clone_sharing_descriptors(alone)?;
        match fork {
            Fork::Child => owner::become_member(number),
            Fork::Parent(pid) => *place = Some(pid),
        }
        Ok(fork)
    }

    /// The one that was this process, if it has ended; the keeper then clears up behind it:
    /// [`descriptors::bury`], and [`super::Store::bury`]. `None`: it lives, or is none of them.
    ///
    /// # Errors
    /// None that is known.
    ///
    /// # Panics
    /// The caller is not the keeper.
    pub fn dead(&mut self, pid: Pid) -> io::Result<Option<Dead<'_>>> {
        assert_keeper();
        let at = self.pids.iter().position(|one| *one == Some(pid));
        let Some(at) = at else { return Ok(None) };
        if !process::has_ended(pid)? {
            return Ok(None);
        }
        self.pids[at] = None;
        Ok(Some(Dead::seen(at as u16 + 1)))
    }
}

fn assert_keeper() {
    assert_eq!(owner::number(), KEEPER, "the keeper starts and buries");
}
