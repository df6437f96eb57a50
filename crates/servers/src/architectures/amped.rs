//! AMPED: asymmetric multi-process event driven (Flash).
//!
//! Paper: Choi05 sections 2 and 3.1, figure 1 (d), after Pai99.
//!
//! Same: the loop of [`super::sped`], but what may touch the disk is done by helpers, which wake
//! the loop when they have an answer. Path translation and reading are helpers' work; the loop
//! serves what is in memory.
//!
//! Different: helpers are threads, not processes, so that descriptors need not be passed. Flash
//! asks mincore whether pages are in memory; here the kernel is asked by cachestat, and a part that
//! is there is sent at once. A file that is kept is compared with the disk by the loop, as far as
//! the kernel can tell without one. Who asks for what a helper loads already waits with the first.
//! When the helpers' queue is full the request is refused (503), because a queue that only grows
//! makes everybody wait for ever.

use std::io;

use crate::loops::helpers::Helpers;
use crate::loops::phases::{Loop, Until};
use crate::shared::server::Worker;

/// Serves until drained.
///
/// # Errors
/// The machine refuses a poller, a descriptor or a thread, at start or while waiting.
pub(crate) fn amped(worker: &Worker<'_>) -> io::Result<()> {
    let server = worker.server;
    let helpers = Helpers::new(server)?;
    std::thread::scope(|scope| {
        let mut handed_over = helpers.hire(scope, worker)?;
        let mut phases = Loop::new(worker)?;
        phases.add_extra(helpers.wake())?;
        worker.ready();
        while phases.go_on() {
            phases.get_events()?;
            if phases.is_listener_ready() {
                phases.accept();
            }
            if phases.is_extra_ready() {
                for fetched in handed_over.fetched() {
                    phases.come_back(fetched);
                }
            }
            let round = phases.ready();
            if server.settings.passes == 2 {
                for &token in &round {
                    phases.work(token, Until::Send, &mut handed_over);
                }
            }
            phases.flush(round, &mut handed_over);
            phases.expire();
        }
        Ok(())
    })
}
