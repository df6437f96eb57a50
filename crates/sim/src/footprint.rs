//! What is left of memory for files: Choi05 table 1.

use std::fmt;

use crate::crew::Crew;
use crate::parameters::Parameters;

/// Who takes how much of a machine's memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Footprint {
    /// All that there is.
    pub memory_bytes: u64,
    /// What processes take beside entries.
    pub processes_bytes: u64,
    /// What threads take.
    pub threads_bytes: u64,
    /// What helper processes take.
    pub helpers_bytes: u64,
    /// What open connections take.
    pub connections_bytes: u64,
    /// How often an entry of a file that is kept is in memory: once in each process.
    pub entries: u32,
    /// How often its content is.
    pub contents: u32,
    entry_bytes: f64,
    entry_file_bytes: f64,
    /// Whether memory is for contents alone: what else is taken is beside it.
    is_contents: bool,
}

impl Footprint {
    /// Of a server on a machine with so much memory and so many open connections.
    ///
    /// # Errors
    /// Nothing is left for files: one line with the sum by part.
    pub fn new(
        parameters: &Parameters,
        crew: &Crew,
        memory_bytes: u64,
        connections: u32,
    ) -> Result<Self, String> {
        let all = |count: u32, name| u64::from(count).saturating_mul(parameters.whole(name));
        let is_private = parameters.word("contents") == "private";
        let footprint = Self {
            memory_bytes,
            processes_bytes: all(crew.processes, "process-bytes"),
            threads_bytes: all(crew.threads, "thread-bytes"),
            helpers_bytes: all(crew.helpers, "helper-bytes"),
            connections_bytes: all(connections, "connection-bytes"),
            entries: crew.processes,
            contents: if is_private { crew.processes } else { 1 },
            entry_bytes: parameters.number("entry-bytes"),
            entry_file_bytes: parameters.number("entry-file"),
            is_contents: parameters.word("memory-is") == "contents",
        };
        match footprint.taken_bytes() < memory_bytes {
            true => Ok(footprint),
            false => Err(format!("{footprint}: nothing is left for files")),
        }
    }

    /// What a file of that size weighs in the memory of [`Footprint::files_bytes`], entries
    /// included. Where contents are private one process stands for all: they are equal.
    #[must_use]
    pub fn weight(&self, bytes: u64) -> u64 {
        let entries = match self.entry_file_bytes {
            0.0 => 1.0,
            of => bytes as f64 / of,
        };
        if self.is_contents {
            return bytes;
        }
        let sets = f64::from(self.entries / self.contents);
        bytes + (sets * entries * self.entry_bytes).round() as u64
    }

    /// What files and their entries may take.
    #[must_use]
    pub fn files_bytes(&self) -> u64 {
        (self.memory_bytes - self.taken_bytes()) / u64::from(self.contents)
    }

    /// What the contents of files come to when that is full, by the formula of the paper's.
    #[must_use]
    pub fn data_cache_bytes(&self) -> u64 {
        const MANY: u64 = 1 << 40;
        (self.files_bytes() as f64 * MANY as f64 / self.weight(MANY) as f64) as u64
    }

    const fn taken_bytes(&self) -> u64 {
        if self.is_contents {
            return 0;
        }
        let processes_bytes = self.processes_bytes.saturating_add(self.threads_bytes);
        processes_bytes.saturating_add(self.helpers_bytes).saturating_add(self.connections_bytes)
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(f, "of {:.0} MiB of memory", mib(self.memory_bytes))?;
        let parts = [
            ("processes", self.processes_bytes),
            ("threads", self.threads_bytes),
            ("helpers", self.helpers_bytes),
            ("connections", self.connections_bytes),
        ];
        for (at, (name, bytes)) in parts.into_iter().enumerate() {
            let separator = if at == 0 { ' ' } else { ',' };
            let space = if at == 0 { "" } else { " " };
            write!(f, "{separator}{space}{name} take {:.0}", mib(bytes))?;
        }
        Ok(())
    }
}
