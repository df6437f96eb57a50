/// What the cache did and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Lookups answered from memory, refusals among them.
    pub hits: u64,
    /// Lookups that led to the disk, if only to compare.
    pub misses: u64,
    /// Answers kept.
    pub entries: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Files that they keep open.
    pub descriptors: u64,
}
