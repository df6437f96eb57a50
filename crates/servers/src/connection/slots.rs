/// Connections by slot, a descriptor or a ring's handle. A token adds the generation of the slot,
/// so that an event, a completion or a helper's answer that comes late never meets another
/// connection.
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    len: usize,
}

struct Slot<T> {
    generation: u32,
    taken: Option<T>,
}

/// Tokens of connections end below this; the loops have their own from here on.
pub(crate) const TOKENS_END: u64 = (GENERATION_END as u64) << 32;
const GENERATION_END: u32 = u32::MAX;

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes a slot that is free, and returns its token.
    pub(crate) fn insert(&mut self, slot: u32, value: T) -> u64 {
        let at = slot as usize;
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, || Slot { generation: 0, taken: None });
        }
        self.len += 1;
        self.slots[at].taken = Some(value);
        token(at, self.slots[at].generation)
    }

    /// What a token names, unless it is gone.
    pub(crate) fn named(&mut self, token: u64) -> Option<&mut T> {
        let slot = self.slots.get_mut(token as u32 as usize)?;
        slot.taken.as_mut().filter(|_| u64::from(slot.generation) == token >> 32)
    }

    /// What is in a slot, and its token.
    pub(crate) fn at(&mut self, slot: u32) -> Option<(u64, &mut T)> {
        let at = self.slots.get_mut(slot as usize)?;
        Some((token(slot as usize, at.generation), at.taken.as_mut()?))
    }

    pub(crate) fn remove(&mut self, token: u64) -> Option<T> {
        self.named(token)?;
        let slot = &mut self.slots[token as u32 as usize];
        slot.generation = (slot.generation + 1) % GENERATION_END;
        self.len -= 1;
        slot.taken.take()
    }

    /// All tokens in use.
    pub(crate) fn tokens(&self) -> Vec<u64> {
        let taken = self.slots.iter().enumerate().filter(|(_, slot)| slot.taken.is_some());
        taken.map(|(at, slot)| token(at, slot.generation)).collect()
    }
}

const fn token(slot: usize, generation: u32) -> u64 {
    (generation as u64) << 32 | slot as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_nobody_who_came_later() {
        let mut slots = Slots::new();
        let first = slots.insert(7, "first");
        assert_eq!(slots.remove(first), Some("first"));
        let second = slots.insert(7, "second");
        assert_eq!(slots.named(first), None);
        assert_eq!(slots.remove(first), None);
        assert_eq!(slots.named(second), Some(&mut "second"));
        assert_eq!((slots.len(), slots.tokens()), (1, vec![second]));
    }
}
