use std::fmt;

use crate::units;

/// What became of the lines or records of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that are replayed.
    pub kept: u64,
    /// Clients that made them, as far as the log tells them apart.
    pub clients: u64,
    /// Requests that are not: other methods than GET and HEAD, and answers that say nothing of a
    /// file (all but 2xx and 304).
    pub left_out: u64,
    /// Requests that are not, in a replay against a made site: for what cannot be made.
    pub not_made: u64,
    /// Lines or records that are none.
    pub unreadable: u64,
    /// Of those kept: logged so much too late that their time is that of the one before.
    pub late: u64,
}

impl fmt::Display for Tally {
    /// One line; what there is none of is not told.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let are = if self.clients == 1 { "client" } else { "clients" };
        let (kept, clients) = (units::count(self.kept), units::count(self.clients));
        write!(f, "{kept} requests of the log by {clients} {are}")?;
        let rows = [
            (self.late, "of them too late to be put in order"),
            (self.left_out, "more left out: no GET or HEAD of a file that was there"),
            (self.not_made, "more left out: their size is not known, or they can be no file"),
            (self.unreadable, "unreadable"),
        ];
        let mut told = rows.iter().filter(|(count, _)| *count > 0);
        told.try_for_each(|(count, what)| write!(f, "; {} {what}", units::count(*count)))
    }
}
