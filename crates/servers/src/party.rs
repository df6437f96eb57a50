use h1::Now;
use os::ring::Handle;

use crate::House;
use crate::peer::Witness;
use crate::registry::Performer;
use crate::session::Session;
use crate::trace::Step;

/// One connection as a completion loop holds it.
pub(crate) struct Party {
    pub(crate) handle: Handle,
    pub(crate) session: Box<dyn Session>,
    /// A receive is armed.
    pub(crate) receiving: bool,
    /// A send or a read is in flight.
    pub(crate) busy: bool,
    /// FIN is out, or goes out behind the send in flight.
    pub(crate) shut: bool,
    /// It is to be closed as soon as nothing is in flight.
    pub(crate) closing: bool,
    pub(crate) witness: Option<Box<Witness>>,
}

impl Party {
    pub(crate) fn new(handle: Handle, house: &House, logs: bool, now: &Now) -> Self {
        // A direct descriptor has no name to ask for: logs show no address.
        let witness = (logs || house.trace.is_some())
            .then(|| Witness::new(None, house.trace.is_some(), Performer::Ring));
        Self {
            handle,
            session: (house.sessions)(now),
            receiving: false,
            busy: false,
            shut: false,
            closing: false,
            witness,
        }
    }

    /// A step of its request was performed through the ring.
    pub(crate) fn mark(&mut self, step: Step, by: Performer) {
        if let Some(witness) = &mut self.witness {
            witness.mark(step, by);
        }
    }
}
