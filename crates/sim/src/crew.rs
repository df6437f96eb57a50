//! Who works in a server: what a model makes of its knobs.

/// Who works in a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crew {
    /// Of the machine.
    pub cores: u32,
    /// Each has its own entries of what is kept.
    pub processes: u32,
    /// In all processes, beside the first of each.
    pub threads: u32,
    /// Helper processes, in all.
    pub helpers: u32,
    /// Whether tasks of one process share what is kept, and so need locks.
    pub shares_entries: bool,
    /// Connections that are accepted before other work.
    pub accept_limit: usize,
}

impl Crew {
    /// One process, on so many cores.
    #[must_use]
    pub const fn of(cores: u32) -> Self {
        Self { cores, processes: 1, threads: 0, helpers: 0, shares_entries: false, accept_limit: 1 }
    }
}
