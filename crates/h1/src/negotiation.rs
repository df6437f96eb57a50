//! Content codings: which precompressed sibling of a file suits a client (RFC 9110 section 12.5.3).

/// A content coding for which siblings on disk are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coding {
    /// `br`, sibling `.br` (RFC 7932).
    Brotli,
    /// `zstd`, sibling `.zst` (RFC 8878).
    Zstd,
    /// `gzip` or `x-gzip`, sibling `.gz` (RFC 1952).
    Gzip,
}

/// What a client takes, best first, at most three codings in one byte-sized key: two requests that
/// would be answered alike have equal `Codings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Codings {
    // Two bits each, lowest first: 0 ends the list, else 1 + the coding's place in `Coding`.
    packed: u8,
}
