//! What Little's law says of a row: the number that is in it, over time, is the sum of how long
//! each was (Little, A Proof for the Queuing Formula L = λW, 1961). Both sides are whole
//! nanoseconds, and are counted by different hands: the one when the number changes, the other when
//! somebody leaves. So a row that loses somebody, or has him twice, is found out in any run.

use std::fmt;

/// Those who are somewhere together: who wait for a disk, or are in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    inside: u64,
    /// When that changed.
    changed_ns: u64,
    /// The number, over time.
    number_ns: u128,
    /// How long each was there who has left.
    stays_ns: u128,
}

/// Both sides of the law, up to some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Little {
    /// The number in a row, over time.
    pub number_ns: u128,
    /// How long each of them was there, together.
    pub stays_ns: u128,
    /// How many are there now by counting who came and went, and how many are found.
    pub inside: [u64; 2],
}

impl Row {
    /// One comes.
    pub fn come(&mut self, now_ns: u64) {
        self.pass(now_ns);
        self.inside += 1;
    }

    /// One goes who came then.
    pub fn go(&mut self, now_ns: u64, came_ns: u64) {
        self.pass(now_ns);
        self.inside -= 1;
        self.stays_ns += u128::from(now_ns - came_ns);
    }

    /// What there is, where these are still there, who came then.
    pub fn little(&self, now_ns: u64, present: impl Iterator<Item = u64>) -> Little {
        let mut row = self.clone();
        row.pass(now_ns);
        let mut little =
            Little { number_ns: row.number_ns, stays_ns: row.stays_ns, inside: [row.inside, 0] };
        for came_ns in present {
            little.stays_ns += u128::from(now_ns - came_ns);
            little.inside[1] += 1;
        }
        little
    }

    fn pass(&mut self, now_ns: u64) {
        self.number_ns += u128::from(self.inside) * u128::from(now_ns - self.changed_ns);
        self.changed_ns = now_ns;
    }
}

impl Little {
    /// Of several rows together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            number_ns: self.number_ns + other.number_ns,
            stays_ns: self.stays_ns + other.stays_ns,
            inside: [0, 1].map(|side| self.inside[side] + other.inside[side]),
        }
    }

    /// Whether the law holds.
    #[must_use]
    pub const fn holds(&self) -> bool {
        self.number_ns == self.stays_ns && self.inside[0] == self.inside[1]
    }
}

impl fmt::Display for Little {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number_ns, stays_ns, inside: [counted, found] } = self;
        write!(f, "{number_ns} ns of {counted} by the number, {stays_ns} ns of {found} by stays")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_lost_or_there_twice_is_found_out() {
        let mut row = Row::default();
        row.come(3);
        row.come(5);
        row.go(9, 3);
        // (when those came who are there at 20, whether that is so)
        for (present, expected) in [(&[5][..], true), (&[], false), (&[6], false), (&[5, 5], false)]
        {
            let little = row.little(20, present.iter().copied());
            assert_eq!(little.holds(), expected, "{present:?}: {little}");
        }
    }
}
