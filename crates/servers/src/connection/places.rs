use h1::Tag;

/// Connections in places that are numbered densely. A token names a place and how often it was
/// taken, so that an event, a completion or a helper's answer that comes late never meets another
/// connection; it may carry a [`Tag`], which places take no notice of.
pub(crate) struct Places<T> {
    places: Vec<Place<T>>,
    /// Those that are vacant; the one that was left last is taken first, as its memory is warm.
    vacant: Vec<u32>,
}

struct Place<T> {
    generation: u32,
    taken: Option<T>,
}

/// Tokens of connections end below this; the loops have their own from here on.
pub(crate) const TOKENS_END: u64 = (GENERATION_END as u64) << GENERATION_AT;
const GENERATION_END: u32 = u32::MAX;
const GENERATION_AT: u32 = 32;
/// A tag's eight bits; below them is room for sixteen million places.
const TAG_AT: u32 = 24;
const PLACES_MAX: usize = 1 << TAG_AT;

impl<T> Places<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), vacant: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.vacant.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a place, and returns its token.
    pub(crate) fn insert(&mut self, value: T) -> u64 {
        let at = self.vacant.pop().unwrap_or_else(|| {
            assert!(self.places.len() < PLACES_MAX, "more connections than descriptors");
            self.places.push(Place { generation: 0, taken: None });
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[at as usize];
        assert!(place.taken.is_none(), "a vacant place is taken");
        place.taken = Some(value);
        token(at, place.generation)
    }

    /// What a token names, unless it is gone.
    pub(crate) fn named(&mut self, token: u64) -> Option<&mut T> {
        let place = self.places.get_mut(place_of(token) as usize)?;
        place.taken.as_mut().filter(|_| u64::from(place.generation) == token >> GENERATION_AT)
    }

    /// What is in a place, and its token.
    pub(crate) fn at(&mut self, place: u32) -> Option<(u64, &mut T)> {
        let Place { generation, taken } = self.places.get_mut(place as usize)?;
        Some((token(place, *generation), taken.as_mut()?))
    }

    pub(crate) fn remove(&mut self, token: u64) -> Option<T> {
        self.named(token)?;
        let place = &mut self.places[place_of(token) as usize];
        place.generation = (place.generation + 1) % GENERATION_END;
        self.vacant.push(place_of(token));
        place.taken.take()
    }

    /// All tokens in use.
    pub(crate) fn tokens(&self) -> Vec<u64> {
        let places = (0_u32..).zip(&self.places);
        let taken = places.filter(|(_, place)| place.taken.is_some());
        taken.map(|(at, place)| token(at, place.generation)).collect()
    }
}

/// The place that a token names.
pub(crate) const fn place_of(token: u64) -> u32 {
    token as u32 & (PLACES_MAX as u32 - 1)
}

/// The token of one of a connection's requests in hand.
pub(crate) const fn tagged(token: u64, tag: Tag) -> u64 {
    token & !(0xff << TAG_AT) | (tag.0 as u64) << TAG_AT
}

/// The tag that a token carries.
pub(crate) const fn tag_of(token: u64) -> Tag {
    Tag((token >> TAG_AT) as u8)
}

const fn token(place: u32, generation: u32) -> u64 {
    (generation as u64) << GENERATION_AT | place as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_nobody_who_came_later() {
        let mut places = Places::new();
        let first = places.insert("first");
        assert_eq!(places.remove(first), Some("first"));
        let second = places.insert("second");
        assert_eq!(place_of(first), place_of(second), "places are few");
        assert_eq!(places.named(first), None);
        assert_eq!(places.remove(first), None);
        assert_eq!(places.named(second), Some(&mut "second"));
        assert_eq!((places.len(), places.tokens()), (1, vec![second]));
    }

    #[test]
    fn a_tag_changes_nobody() {
        let mut places = Places::new();
        let tokens = [1, 2, 3].map(|value| places.insert(value));
        for (token, value) in tokens.into_iter().zip([1, 2, 3]) {
            for tag in [0, 1, 255].map(Tag) {
                let tagged = tagged(token, tag);
                assert_eq!((places.named(tagged), tag_of(tagged)), (Some(&mut { value }), tag));
                assert!(tagged < TOKENS_END);
            }
        }
    }
}
