/// What a structure lives in: words that are zero at first.
///
/// Zero words are an empty structure of every kind here, so fresh memory needs no preparation.
/// Words mean the same in every process that has them, wherever they stand in its address space.
pub trait Memory {
    /// All the words that there are.
    fn words(&self) -> &[u64];

    /// The same, to be written.
    fn words_mut(&mut self) -> &mut [u64];

    /// Sees to it that there are so many words at least, new ones zero; says whether there are.
    fn make_room(&mut self, words: usize) -> bool;
}

/// The heap: grows.
impl Memory for Vec<u64> {
    fn words(&self) -> &[u64] {
        self
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self
    }

    fn make_room(&mut self, words: usize) -> bool {
        if self.len() < words {
            self.resize(words, 0);
        }
        true
    }
}

/// Memory that is lent, as by the lock of what processes share: stays as large as it is.
impl Memory for &mut [u64] {
    fn words(&self) -> &[u64] {
        self
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self
    }

    fn make_room(&mut self, words: usize) -> bool {
        words <= self.len()
    }
}
