//! AMPED: asymmetric multi-process event driven (Flash).
//!
//! Paper: Choi05 sections 2 and 3.1, figure 1 (d), after Pai99.
//!
//! Same: the loop of [`crate::architectures::sped`], but what may touch the disk is done by helpers, which wake
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

use crate::connection::perform::{Handed, Loads};
use crate::loops::helpers::{Helpers, HelpersShared};
use crate::loops::phases::{Loop, Until};
use crate::shared::server::Server;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a poller, a descriptor or a thread, at start or while waiting.
pub(crate) fn amped(server: &Server, worker: usize) -> io::Result<()> {
    let shared = HelpersShared::new(server.settings.helper_queue as usize)?;
    std::thread::scope(|scope| {
        let mut helpers = shared.hire(scope, server, server.settings.helpers)?;
        let mut turn = Loop::new(server, worker)?;
        turn.add_extra(shared.wake())?;
        while turn.goes_on() {
            turn.get_events()?;
            if turn.is_listener_ready() {
                turn.accept(server.accept_limit());
            }
            if turn.is_extra_ready() {
                for done in helpers.finished() {
                    turn.come_back(done);
                }
            }
            let round = turn.ready();
            if server.settings.passes == 2 {
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
    fn load(&mut self, token: u64, miss: Miss<File>, server: &Server, now: &Now) -> Handed {
        let in_memory = match &miss {
            Miss::Path(_) => false,
            Miss::Pages(part) | Miss::More(part) => {
                part.file.is_resident_throughout(part.at, part.end)
            }
        };
        if in_memory {
            return Handed::Loaded(server.load(&miss, now));
        }
        match self.hand_over(token, miss) {
            Ok(()) => Handed::Away,
            Err(Miss::Path(lookup)) => {
                house.site.give_up(&lookup);
                Handed::Refused
            }
            // An answer that has begun is finished, if the loop has to block for it.
            Err(pages) => Handed::Loaded(server.load(&pages, now)),
        }
    }
}
