use core::ops::{AddAssign, SubAssign};

/// What an entry takes, what all entries take, or what they may take: the two things that a cache
/// of open files runs out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Weight {
    /// Bytes of memory.
    pub bytes: u64,
    /// Open file descriptors.
    pub descriptors: u64,
}

impl Weight {
    /// Whether neither bytes nor descriptors exceed those of `bounds`.
    #[must_use]
    pub const fn fits(self, bounds: Self) -> bool {
        self.bytes <= bounds.bytes && self.descriptors <= bounds.descriptors
    }

    /// So many thousandths of it, of each part; rounded up, so that a small part of few descriptors
    /// has room for one.
    #[must_use]
    pub const fn thousandths(self, of: u64) -> Self {
        const fn part(all: u64, of: u64) -> u64 {
            (all as u128 * of as u128).div_ceil(1000) as u64
        }
        Self { bytes: part(self.bytes, of), descriptors: part(self.descriptors, of) }
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.descriptors += other.descriptors;
    }
}

impl SubAssign for Weight {
    fn sub_assign(&mut self, other: Self) {
        self.bytes -= other.bytes;
        self.descriptors -= other.descriptors;
    }
}
