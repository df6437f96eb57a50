//! What all formats have together: an entry becomes a request of a session.

use std::collections::HashSet;

use super::choices::Choices;
use super::fault::Fault;
use super::made::made;
use super::names::Names;
use super::order::{Order, Resolution, Seen};
use super::replay::TraceWorkload;
use super::request::{Way, origin};
use super::tally::Tally;
use super::visits::Visits;

/// A request as a log tells it.
pub(crate) struct Entry<'l> {
    /// Microseconds since 1970; whole seconds where it knows no more.
    pub(crate) at_us: i64,
    /// Equal for requests of the same one.
    pub(crate) client: u64,
    /// As logged.
    pub(crate) target: &'l [u8],
    /// `None`: it says nothing of a file.
    pub(crate) way: Option<Way>,
    /// Of the file, where the reply had all of it.
    pub(crate) bytes: Option<u64>,
}

pub(crate) struct Collector {
    pub(crate) tally: Tally,
    names: Names,
    order: Order,
    visits: Visits,
    clients: HashSet<u64>,
    /// The target in hand.
    target: String,
}

impl Collector {
    pub(crate) fn new(resolution: Resolution, choices: &Choices) -> Self {
        Self {
            tally: Tally::default(),
            names: Names::default(),
            order: Order::new(resolution),
            visits: Visits::new(choices.gap),
            clients: HashSet::new(),
            target: String::new(),
        }
    }

    pub(crate) fn take(&mut self, entry: &Entry<'_>) -> Result<(), Fault> {
        let Some(way) = entry.way else {
            self.tally.left_out += 1;
            return Ok(());
        };
        if !origin(entry.target, &mut self.target) {
            self.tally.unreadable += 1;
            return Ok(());
        }
        let file = self.names.id(&self.target)?;
        if let Some(bytes) = entry.bytes {
            self.names.learn(file, bytes);
        }
        self.tally.kept += 1;
        self.clients.insert(entry.client);
        let Entry { at_us, client, .. } = *entry;
        self.order.put(Seen { at_us, client, file, way }, &mut |seen| self.visits.take(seen))
    }

    pub(crate) fn finish(mut self, choices: &Choices) -> Result<TraceWorkload, Fault> {
        let Tally { kept, left_out, unreadable, .. } = self.tally;
        if kept == 0 {
            return Err(Fault::Empty { unreadable, left_out });
        }
        self.order.finish(&mut |seen| self.visits.take(seen))?;
        let mut tally =
            Tally { late: self.order.late, clients: self.clients.len() as u64, ..self.tally };
        let (mut files, mut sessions) = (self.names.into_files(), self.visits.finish());
        if choices.is_made {
            let (made, of) = made(&files);
            (files, sessions) = (made, sessions.renamed(&of, choices.gap));
            tally.not_made = kept - sessions.requests.len() as u64;
            tally.kept -= tally.not_made;
            if sessions.visits.is_empty() {
                return Err(Fault::Unmade);
            }
        }
        Ok(TraceWorkload::new(files, sessions, choices, tally))
    }
}
