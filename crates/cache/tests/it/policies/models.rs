//! What each policy does, said as plainly as can be.

use std::collections::HashMap;

use cache::{Arrival, PolicyKind, Weight};

/// One that is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) index: u32,
    pub(crate) arrival: Arrival,
}

/// What a policy is told of the slab.
pub(crate) struct World {
    pub(crate) bounds: Weight,
    /// Entries that were in at one time, at most.
    pub(crate) places: u32,
}

pub(crate) trait Model {
    fn insert(&mut self, entry: Entry, world: &World);
    fn touch(&mut self, index: u32, world: &World);
    fn remove(&mut self, index: u32);
    /// Who is to go.
    fn choose(&mut self, world: &World) -> Option<u32>;
    fn evict(&mut self, index: u32, _world: &World) {
        self.remove(index);
    }
    /// Whoever had to has gone: papers that make room first let a newcomer in then.
    fn settle(&mut self) {}
}

pub(crate) fn model(kind: PolicyKind) -> Box<dyn Model> {
    match kind {
        PolicyKind::Lru => Box::new(Lru::default()),
        PolicyKind::Lfu => Box::new(Lfu::default()),
        PolicyKind::Hinted => Box::new(Hinted::default()),
        PolicyKind::Structured => Box::new(Structured::default()),
        PolicyKind::WTinyLfu => Box::new(WTinyLfu::default()),
        PolicyKind::S3Fifo => Box::new(S3Fifo::default()),
        PolicyKind::Sieve => Box::new(Sieve::default()),
        PolicyKind::None => Box::new(Lru::default()),
    }
}

/// Who stands last goes first: the newest is first.
#[derive(Default)]
struct Row(Vec<Entry>);

impl Row {
    fn push(&mut self, entry: Entry) {
        self.0.insert(0, entry);
    }

    fn take(&mut self, index: u32) -> Option<Entry> {
        let at = self.0.iter().position(|entry| entry.index == index)?;
        Some(self.0.remove(at))
    }

    fn renew(&mut self, index: u32) -> bool {
        let entry = self.take(index);
        entry.into_iter().for_each(|entry| self.push(entry));
        entry.is_some()
    }

    fn last(&self) -> Option<u32> {
        self.0.last().map(|entry| entry.index)
    }

    fn weight(&self) -> Weight {
        let mut sum = Weight::default();
        self.0.iter().for_each(|entry| sum += entry.arrival.weight);
        sum
    }
}

#[derive(Default)]
struct Lru(Row);

impl Model for Lru {
    fn insert(&mut self, entry: Entry, _world: &World) {
        self.0.push(entry);
    }

    fn touch(&mut self, index: u32, _world: &World) {
        self.0.renew(index);
    }

    fn remove(&mut self, index: u32) {
        self.0.take(index);
    }

    fn choose(&mut self, _world: &World) -> Option<u32> {
        self.0.last()
    }
}

struct Counted {
    index: u32,
    times: u64,
    priority: u64,
    asked: u64,
}

#[derive(Default)]
struct Lfu {
    entries: Vec<Counted>,
    age: u64,
    clock: u64,
}

impl Model for Lfu {
    fn insert(&mut self, entry: Entry, world: &World) {
        self.entries.push(Counted { index: entry.index, times: 0, priority: 0, asked: 0 });
        self.touch(entry.index, world);
    }

    fn touch(&mut self, index: u32, _world: &World) {
        self.clock += 1;
        let entry = self.entries.iter_mut().find(|entry| entry.index == index).unwrap();
        entry.times += 1;
        entry.priority = self.age + entry.times;
        entry.asked = self.clock;
    }

    fn remove(&mut self, index: u32) {
        self.entries.retain(|entry| entry.index != index);
    }

    fn choose(&mut self, _world: &World) -> Option<u32> {
        let lowest = self.entries.iter().min_by_key(|entry| (entry.priority, entry.asked));
        lowest.map(|entry| entry.index)
    }

    fn evict(&mut self, index: u32, _world: &World) {
        self.age = self.entries.iter().find(|entry| entry.index == index).unwrap().priority;
        self.remove(index);
    }
}

#[derive(Default)]
struct Hinted {
    hinted: Row,
    others: Row,
}

impl Model for Hinted {
    fn insert(&mut self, entry: Entry, _world: &World) {
        if entry.arrival.class == 0 { &mut self.others } else { &mut self.hinted }.push(entry);
    }

    fn touch(&mut self, index: u32, _world: &World) {
        let _ = self.hinted.renew(index) || self.others.renew(index);
    }

    fn remove(&mut self, index: u32) {
        self.hinted.take(index);
        self.others.take(index);
    }

    fn choose(&mut self, world: &World) -> Option<u32> {
        let (hinted, others) = (self.hinted.last(), self.others.last());
        if self.hinted.weight().fits(world.bounds.thousandths(875)) {
            others.or(hinted)
        } else {
            hinted.or(others)
        }
    }
}

/// The directory asked for last is first.
#[derive(Default)]
struct Structured(Vec<(u32, Row)>);

impl Structured {
    fn renew(&mut self, directory: u32) -> &mut Row {
        let at = self.0.iter().position(|(other, _)| *other == directory);
        let row = at.map_or_else(|| (directory, Row::default()), |at| self.0.remove(at));
        self.0.insert(0, row);
        &mut self.0[0].1
    }
}

impl Model for Structured {
    fn insert(&mut self, entry: Entry, _world: &World) {
        self.renew(entry.arrival.class % 256).push(entry);
    }

    fn touch(&mut self, index: u32, _world: &World) {
        let has_it = |(_, row): &&(u32, Row)| row.0.iter().any(|entry| entry.index == index);
        let directory = self.0.iter().find(has_it).unwrap().0;
        self.renew(directory).renew(index);
    }

    fn remove(&mut self, index: u32) {
        for (_, row) in &mut self.0 {
            row.take(index);
        }
        self.0.retain(|(_, row)| !row.0.is_empty());
    }

    fn choose(&mut self, _world: &World) -> Option<u32> {
        self.0.last().and_then(|(_, row)| row.last())
    }
}

/// As its paper has it: the eldest is first.
#[derive(Default)]
struct Sieve {
    entries: Vec<(u32, bool)>,
    /// Whom the hand points to; the eldest if nobody.
    hand: Option<u32>,
    comes: Option<u32>,
}

impl Sieve {
    fn hand(&self) -> usize {
        let at = self.hand.and_then(|hand| self.entries.iter().position(|e| e.0 == hand));
        at.unwrap_or(0)
    }

    fn after(&self, at: usize) -> Option<u32> {
        self.entries.get(at + 1).map(|entry| entry.0)
    }
}

impl Model for Sieve {
    fn insert(&mut self, entry: Entry, _world: &World) {
        self.comes = Some(entry.index);
    }

    fn touch(&mut self, index: u32, _world: &World) {
        self.entries.iter_mut().find(|entry| entry.0 == index).unwrap().1 = true;
    }

    fn remove(&mut self, index: u32) {
        if self.comes.take_if(|comes| *comes == index).is_some() {
            return;
        }
        let at = self.entries.iter().position(|entry| entry.0 == index).unwrap();
        if self.hand == Some(index) {
            self.hand = self.after(at);
        }
        self.entries.remove(at);
    }

    fn choose(&mut self, _world: &World) -> Option<u32> {
        if self.entries.is_empty() {
            return self.comes;
        }
        while self.entries[self.hand()].1 {
            let at = self.hand();
            self.entries[at].1 = false;
            self.hand = self.after(at);
        }
        self.hand = Some(self.entries[self.hand()].0);
        self.hand
    }

    fn settle(&mut self) {
        self.entries.extend(self.comes.take().map(|index| (index, false)));
    }
}

/// The eldest that are gone, by the place where they are remembered.
#[derive(Default)]
struct Ghosts {
    places: HashMap<u32, (u64, u32)>,
    clock: u32,
}

impl Ghosts {
    fn set(hash: u64, world: &World) -> (u32, std::ops::Range<u32>) {
        let Some(log) = world.places.checked_ilog2() else { return (0, 0..0) };
        let all = 1 << log;
        let ways = if all < 4 { all } else { 4 };
        let first = (hash as u32 % all) / ways * ways;
        (all, first..first + ways)
    }

    fn add(&mut self, hash: u64, world: &World) {
        self.clock += 1;
        let (_, set) = Self::set(hash, world);
        // The free ones are the eldest; of several the last.
        let eldest = set.rev().min_by_key(|at| self.places.get(at).map_or(0, |ghost| ghost.1));
        if let Some(at) = eldest {
            self.places.insert(at, (hash >> 32, self.clock));
        }
    }

    fn take(&mut self, hash: u64, world: &World) -> bool {
        let (all, mut set) = Self::set(hash, world);
        let is_there = |at: &u32| {
            let ghost = self.places.get(at);
            ghost.is_some_and(|(half, at)| *half == hash >> 32 && self.clock - at < all)
        };
        let found = set.find(is_there);
        found.is_some_and(|at| self.places.remove(&at).is_some())
    }
}

/// As its paper has it.
#[derive(Default)]
struct S3Fifo {
    small: Row,
    main: Row,
    asked: HashMap<u32, u32>,
    ghosts: Ghosts,
    /// And whether he comes back.
    comes: Option<(Entry, bool)>,
}

impl Model for S3Fifo {
    fn insert(&mut self, entry: Entry, world: &World) {
        self.asked.insert(entry.index, 0);
        self.comes = Some((entry, self.ghosts.take(entry.arrival.hash, world)));
    }

    fn touch(&mut self, index: u32, _world: &World) {
        let asked = self.asked.get_mut(&index).unwrap();
        *asked = (*asked + 1).min(3);
    }

    fn remove(&mut self, index: u32) {
        self.comes.take_if(|(entry, _)| entry.index == index);
        self.small.take(index);
        self.main.take(index);
    }

    fn choose(&mut self, world: &World) -> Option<u32> {
        loop {
            let is_large = !self.small.weight().fits(world.bounds.thousandths(100));
            let (small, main) = (self.small.last(), self.main.last());
            match (small, main) {
                (Some(index), _) if is_large || main.is_none() => {
                    if self.asked[&index] <= 1 {
                        return Some(index);
                    }
                    self.asked.insert(index, 0);
                    self.main.push(self.small.take(index).unwrap());
                }
                (_, Some(index)) => {
                    if self.asked[&index] == 0 {
                        return Some(index);
                    }
                    *self.asked.get_mut(&index).unwrap() -= 1;
                    self.main.renew(index);
                }
                _ => return self.comes.map(|(entry, _)| entry.index),
            }
        }
    }

    fn evict(&mut self, index: u32, world: &World) {
        let comes = self.comes.filter(|(_, comes_back)| !comes_back).map(|(entry, _)| entry);
        let small = self.small.0.iter().chain(&comes);
        if let Some(entry) = { small }.find(|entry| entry.index == index) {
            self.ghosts.add(entry.arrival.hash, world);
        }
        self.remove(index);
    }

    fn settle(&mut self) {
        if let Some((entry, comes_back)) = self.comes.take() {
            if comes_back { &mut self.main } else { &mut self.small }.push(entry);
        }
    }
}

/// Counters by row and number, in words of four for each row.
#[derive(Default)]
struct Sketch {
    counters: HashMap<(usize, u32, u64), u64>,
    words: u32,
    counted: u64,
}

impl Sketch {
    fn grow(&mut self, world: &World) {
        while self.words < world.places {
            let new = self.words;
            let old = new.checked_ilog2().map_or(0, |log| new - (1 << log));
            for (row, counter) in (0..4).flat_map(|row| (0..4).map(move |n| (row, n))) {
                let count = self.counters.get(&(row, old, counter)).copied().unwrap_or(0);
                self.counters.insert((row, new, counter), count);
            }
            self.words += 1;
        }
    }

    fn places(&self, hash: u64) -> Vec<(usize, u32, u64)> {
        let seeds = [
            0x9e37_79b9_7f4a_7c15_u64,
            0xc2b2_ae3d_27d4_eb4f,
            0x1656_67b1_9e37_79f9,
            0x85eb_ca77_c2b2_ae63,
        ];
        let words = 1 << self.words.ilog2();
        let place = |(row, seed): (usize, &u64)| {
            let mixed = hash.wrapping_mul(*seed);
            (row, (mixed >> 20) as u32 % words, mixed >> 62)
        };
        seeds.iter().enumerate().map(place).collect()
    }

    fn estimate(&self, hash: u64) -> u64 {
        let counts = self.places(hash);
        counts.iter().map(|at| self.counters[at]).min().unwrap()
    }

    fn add(&mut self, hash: u64) {
        let least = self.estimate(hash);
        for place in self.places(hash) {
            let counter = self.counters.get_mut(&place).unwrap();
            if *counter == least && least < 15 {
                *counter += 1;
            }
        }
        self.counted += 1;
        if self.counted.is_multiple_of(10) {
            let word = (self.counted / 10 % u64::from(self.words)) as u32;
            let of_word = self.counters.iter_mut().filter(|((_, at, _), _)| *at == word);
            of_word.for_each(|(_, counter)| *counter /= 2);
        }
    }
}

#[derive(Default)]
struct WTinyLfu {
    window: Row,
    probation: Row,
    protected: Row,
    candidates: usize,
    sketch: Sketch,
}

impl WTinyLfu {
    fn hash(&self, index: u32) -> u64 {
        let rows = [&self.window, &self.probation, &self.protected];
        let mut all = rows.iter().flat_map(|row| &row.0);
        all.find(|entry| entry.index == index).unwrap().arrival.hash
    }
}

impl Model for WTinyLfu {
    fn insert(&mut self, entry: Entry, world: &World) {
        self.sketch.grow(world);
        self.sketch.add(entry.arrival.hash);
        self.window.push(entry);
        self.candidates = 0;
        while !self.window.weight().fits(world.bounds.thousandths(10)) {
            self.probation.push(self.window.0.pop().unwrap());
            self.candidates += 1;
        }
    }

    fn touch(&mut self, index: u32, world: &World) {
        self.sketch.add(self.hash(index));
        if self.window.renew(index) || self.protected.renew(index) {
            return;
        }
        self.candidates = 0;
        self.protected.push(self.probation.take(index).unwrap());
        while !self.protected.weight().fits(world.bounds.thousandths(792)) {
            self.probation.push(self.protected.0.pop().unwrap());
        }
    }

    fn remove(&mut self, index: u32) {
        self.candidates = 0;
        self.window.take(index);
        self.probation.take(index);
        self.protected.take(index);
    }

    fn choose(&mut self, _world: &World) -> Option<u32> {
        let candidate = self.probation.0.first().map(|entry| entry.index);
        let candidate = candidate.filter(|_| self.candidates > 0);
        let probation = self.probation.last().filter(|index| Some(*index) != candidate);
        let victim = probation.or(self.protected.last()).or(self.window.last());
        let (Some(candidate), Some(victim)) = (candidate, victim) else {
            return candidate.or(victim);
        };
        let [comes, stays] =
            [candidate, victim].map(|index| self.sketch.estimate(self.hash(index)));
        Some(if comes > stays { victim } else { candidate })
    }

    fn evict(&mut self, index: u32, _world: &World) {
        let first = self.probation.0.first().map(|entry| entry.index);
        let left = self.candidates.saturating_sub(usize::from(first == Some(index)));
        self.remove(index);
        self.candidates = left;
    }
}
