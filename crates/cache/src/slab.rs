use core::ops::{Index, IndexMut};

use crate::{Lru, Policy, Weight, list::NONE};

/// Entries under stable `u32` indices, weighed together, with a policy that says who goes.
///
/// Takes no memory before the first entry comes. An index stays valid until its entry is removed
/// or evicted and is then given to a later one. Every method that is given the index of an entry
/// panics if there is none at it: that is a mistake of the caller's.
#[derive(Debug)]
pub struct Slab<T, P: Policy = Lru> {
    places: Vec<Place<T>>,
    nodes: Vec<P::Node>,
    /// The first of the chain of vacant places.
    vacant: u32,
    policy: P,
    count: usize,
    used: Weight,
    bounds: Weight,
}

#[derive(Debug)]
enum Place<T> {
    Taken { value: T, weight: Weight },
    Vacant { next: u32 },
}

impl<T, P: Policy> Slab<T, P> {
    /// An empty slab whose entries are to weigh no more than `bounds` together.
    #[must_use]
    pub fn new(bounds: Weight) -> Self {
        Self {
            places: Vec::new(),
            nodes: Vec::new(),
            vacant: NONE,
            policy: P::default(),
            count: 0,
            used: Weight::default(),
            bounds,
        }
    }

    /// Whether an entry of that weight fits at all, were it alone.
    #[must_use]
    pub const fn admits(&self, weight: Weight) -> bool {
        weight.fits(self.bounds)
    }

    /// Takes an entry in and says where. Others may have to go for it: see [`Self::evict`].
    ///
    /// # Panics
    /// With 2³² - 1 entries in.
    pub fn insert(&mut self, value: T, weight: Weight) -> u32 {
        let index = self.place(Place::Taken { value, weight });
        self.policy.insert(&mut self.nodes, index);
        self.count += 1;
        self.used += weight;
        index
    }

    /// The entry was asked for.
    pub fn touch(&mut self, index: u32) {
        self.policy.touch(&mut self.nodes, index);
    }

    /// Takes the entry out.
    pub fn remove(&mut self, index: u32) -> T {
        self.policy.remove(&mut self.nodes, index);
        self.vacate(index)
    }

    /// Takes out the entry that has to go next, with the index it had, while together they weigh
    /// more than the bounds. To be called after each `insert` until it gives nothing.
    pub fn evict(&mut self) -> Option<(u32, T)> {
        if self.used.fits(self.bounds) {
            return None;
        }
        let index = self.policy.evict(&mut self.nodes)?;
        Some((index, self.vacate(index)))
    }

    /// What all entries weigh.
    #[must_use]
    pub const fn used(&self) -> Weight {
        self.used
    }

    /// Entries in.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether no entry is in.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn place(&mut self, taken: Place<T>) -> u32 {
        if self.vacant == NONE {
            let index = u32::try_from(self.places.len()).expect("fewer than 2^32 entries");
            assert!(index != NONE, "fewer than 2^32 - 1 entries");
            self.places.push(taken);
            self.nodes.push(P::Node::default());
            return index;
        }
        let index = self.vacant;
        let Place::Vacant { next } = core::mem::replace(&mut self.places[index as usize], taken)
        else {
            unreachable!("the chain of vacant places holds no entry");
        };
        self.vacant = next;
        index
    }

    fn vacate(&mut self, index: u32) -> T {
        let vacant = Place::Vacant { next: self.vacant };
        let Place::Taken { value, weight } =
            core::mem::replace(&mut self.places[index as usize], vacant)
        else {
            panic!("no entry at {index}");
        };
        self.vacant = index;
        self.count -= 1;
        self.used -= weight;
        value
    }
}

impl<T, P: Policy> Index<u32> for Slab<T, P> {
    type Output = T;

    fn index(&self, index: u32) -> &T {
        match &self.places[index as usize] {
            Place::Taken { value, .. } => value,
            Place::Vacant { .. } => panic!("no entry at {index}"),
        }
    }
}

impl<T, P: Policy> IndexMut<u32> for Slab<T, P> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        match &mut self.places[index as usize] {
            Place::Taken { value, .. } => value,
            Place::Vacant { .. } => panic!("no entry at {index}"),
        }
    }
}
