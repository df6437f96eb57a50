//! What was counted of clients, and whether it adds up.

/// What was counted from the start, warm-up included: connections are opened and closed once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that were made.
    pub asked: u64,
    /// Those that were answered.
    pub replied: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Those that are over.
    pub closed: u64,
    /// What the listening queue had no room for.
    pub drops: Drops,
    /// Requests given up, as nothing of theirs came through, or the client had no more patience.
    pub given_up: u64,
    /// Bytes of all replies that came whole.
    pub bytes: u64,
    /// Of those that were given up before all of them had come.
    pub lost_bytes: u64,
    /// Sessions that began.
    pub begun: u64,
    /// Sessions of an open loop that did not, as all clients were busy.
    pub missed: u64,
}

/// Brecht04's classes of queue drops (4.5), as Linux has them today.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// SYNs of more handshakes than may be half open, where no cookies are sent.
    pub syn_queue_full: u64,
    /// SYNs, as too many of these were about to be.
    pub drop_request: u64,
    /// SYNs that found the accept queue full.
    pub accept_queue_full: u64,
    /// Ends of handshakes that did.
    pub listen_overflow: u64,
}

impl Drops {
    /// All of them.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.syn_queue_full + self.drop_request + self.accept_queue_full + self.listen_overflow
    }
}

impl Tally {
    /// What was lost on the way, a line each, where so many requests wait, so many connections are
    /// open, and so many bytes are of replies that are not whole. The server has sent so many.
    pub(super) fn faults(
        &self,
        (asking, open, on_their_way): (u64, u64, u64),
        sent_bytes: u64,
    ) -> Vec<String> {
        let Self { asked, replied, opened, closed, given_up, bytes, lost_bytes, .. } = *self;
        let checks = [
            (
                asked == replied + given_up + asking,
                format!(
                    "{asked} requests, {replied} replies, {given_up} given up, and {asking} wait"
                ),
            ),
            (
                opened == closed + open,
                format!("{opened} connections opened, {closed} closed, and {open} are open"),
            ),
            (
                sent_bytes == bytes + lost_bytes + on_their_way,
                format!(
                    "{sent_bytes} bytes sent, {bytes} of them in whole replies, {lost_bytes} in \
                     vain, and {on_their_way} of replies that are not whole"
                ),
            ),
        ];
        checks.into_iter().filter(|(holds, _)| !holds).map(|(_, what)| what).collect()
    }
}
