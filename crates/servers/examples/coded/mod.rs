//! Bytes that go out as others.

use h1::Chunk;

/// Coded bytes on their way out.
pub(crate) struct Coded {
    pub(crate) chunk: Chunk,
    /// Plain bytes that all of them stand for, and how many of these were told as sent.
    plain: u64,
    told: u64,
}

impl Coded {
    /// What so many plain bytes have become.
    pub(crate) fn new(plain: usize, coded: Vec<u8>) -> Self {
        Self { chunk: Chunk::whole(coded), plain: plain as u64, told: 0 }
    }

    /// So many coded bytes more are out; how many plain ones that are. Progress within a piece is
    /// told, too: who takes it slowly is not silent.
    pub(crate) fn sent(&mut self, n: u64) -> u64 {
        self.chunk.at += n as usize;
        let told = self.plain * self.chunk.at as u64 / self.chunk.end as u64;
        told - std::mem::replace(&mut self.told, told)
    }

    pub(crate) fn is_out(&self) -> bool {
        self.chunk.bytes().is_empty()
    }
}
