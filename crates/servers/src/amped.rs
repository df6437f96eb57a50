//! AMPED: asymmetric multi-process event driven (Flash).
//!
//! Paper: Choi05 sections 2 and 3.1, figure 1 (d), after Pai99.
//!
//! Same: the loop of [`crate::sped`], but what may touch the disk is done by helpers, which wake
//! the loop when they have an answer. Path translation and reading are helpers' work; the loop
//! serves what is in memory.
//!
//! Different: helpers are threads, not processes, so that descriptors need not be passed. Flash
//! asks mincore whether pages are in memory; here the kernel is asked by cachestat, and a
//! part that is there is sent at once. When the helpers' queue is full the request is refused
//! (503), because a queue that only grows makes everybody wait for ever.

use std::io;

use h1::{Miss, Now};
use os::File;

use crate::House;
use crate::crew::{Crew, Helpers};
use crate::perform::{Handed, Loads};
use crate::phases::{Loop, Until};

/// Serves until drained.
///
/// # Errors
/// The machine refuses a poller, a descriptor or a thread, at start or while waiting.
pub(crate) fn amped(house: &House, worker: usize) -> io::Result<()> {
    let crew = Crew::new(house.settings.helper_queue as usize)?;
    std::thread::scope(|scope| {
        let mut helpers = crew.hire(scope, house, house.settings.helpers)?;
        let mut turn = Loop::new(house, worker)?;
        turn.add_extra(crew.wake())?;
        while turn.goes_on() {
            turn.get_events()?;
            if turn.is_listener_ready() {
                turn.accept(house.accept_limit());
            }
            if turn.is_extra_ready() {
                for done in helpers.finished() {
                    turn.come_back(done);
                }
            }
            let round = turn.ready();
            if house.settings.passes == 2 {
                for &token in &round {
                    turn.work(token, Until::Send, &mut helpers);
                }
            }
            turn.flush(round, &mut helpers);
            turn.expire();
        }
        Ok(())
    })
}

impl Loads for Helpers<'_> {
    fn load(&mut self, token: u64, miss: Miss<File>, house: &House, now: &Now) -> Handed {
        let in_memory = match &miss {
            Miss::Path(_) => false,
            Miss::Pages(part) | Miss::More(part) => {
                part.file.is_resident_throughout(part.at, part.end)
            }
        };
        if in_memory {
            return Handed::Loaded(house.load(&miss, now));
        }
        match self.hand_over(token, miss) {
            Ok(()) => Handed::Away,
            Err(Miss::Path(lookup)) => {
                house.site.give_up(&lookup);
                Handed::Refused
            }
            // An answer that has begun is finished, if the loop has to block for it.
            Err(pages) => Handed::Loaded(house.load(&pages, now)),
        }
    }
}
