//! Values by number. A token adds how often its place was used, so that an event that comes late
//! never meets who came later.

/// See the head of this file.
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    /// Places that are free, the last one given up on top.
    free: Vec<u32>,
}

struct Place<T> {
    generation: u32,
    taken: Option<T>,
}

/// Names a value of a slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token(pub(super) u64);

impl Token {
    const fn new(place: u32, generation: u32) -> Self {
        Self((generation as u64) << 32 | place as u64)
    }

    /// The number of its place: small.
    pub(super) const fn place(self) -> u32 {
        self.0 as u32
    }
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(super) fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, value: T) -> Token {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, taken: None });
            (self.places.len() - 1) as u32
        });
        let at = &mut self.places[place as usize];
        at.taken = Some(value);
        Token::new(place, at.generation)
    }

    /// What a token names, unless it is gone.
    pub(super) fn named(&mut self, token: Token) -> Option<&mut T> {
        let place = self.places.get_mut(token.place() as usize)?;
        let generation = place.generation;
        place.taken.as_mut().filter(|_| Token::new(token.place(), generation) == token)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.taken.as_ref())
    }

    /// The token of whoever is at a place.
    pub(super) fn at(&self, place: u32) -> Option<Token> {
        let at = self.places.get(place as usize)?;
        at.taken.as_ref().map(|_| Token::new(place, at.generation))
    }

    pub(super) fn remove(&mut self, token: Token) -> Option<T> {
        self.named(token)?;
        let place = &mut self.places[token.place() as usize];
        place.generation = place.generation.wrapping_add(1);
        self.free.push(token.place());
        place.taken.take()
    }

    /// All tokens in use.
    pub(super) fn tokens(&self) -> Vec<Token> {
        (0..self.places.len() as u32).filter_map(|place| self.at(place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_nobody_who_came_later() {
        let mut slab = Slab::new();
        let (first, other) = (slab.insert("first"), slab.insert("other"));
        assert_eq!(slab.remove(first), Some("first"));
        assert_eq!((slab.count(), slab.at(first.place())), (1, None));
        let second = slab.insert("second");
        assert_eq!(second.place(), first.place());
        assert_eq!(slab.named(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.named(second), Some(&mut "second"));
        assert_eq!(slab.tokens(), [second, other]);
    }
}
