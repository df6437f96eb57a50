//! The slab with each policy against a model of it that is made of vectors and nothing clever: on
//! the heap, and over lent memory that is lent anew for each step.

mod models;

use cache::{Arrival, Memory, Policy, PolicyKind, STEPS_MAX, Slab, Weight};
use proptest::prelude::*;

use self::models::{Entry, Model, World, model};

#[derive(Debug, Clone)]
enum Step {
    /// For the entry of that name, which comes if it is not in.
    Ask(u64),
    /// The entry of that name is taken out, if it is in.
    Remove(u64),
    /// All may weigh so many percent of what they might at first.
    Bounds(u64),
}

const NAMES: u64 = 40;

/// Where it is all remembered; lent memory has so many places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Heap,
    Lent { places: u32 },
}

/// A slab, the model beside it, and what both are told.
struct Pair {
    kind: PolicyKind,
    memory: Vec<u64>,
    place: Where,
    model: Box<dyn Model>,
    world: World,
    first_bounds: Weight,
    is_in: Vec<Entry>,
}

fn arrival(name: u64) -> Arrival {
    let hash = (name + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let weight = Weight { bytes: hash % 97, descriptors: name % 2 };
    Arrival { hash: hash ^ hash >> 29, weight, class: (name / 4 % 5) as u32 * (name % 3) as u32 }
}

impl Pair {
    fn new(kind: PolicyKind, place: Where, bounds: Weight) -> Self {
        let memory = match place {
            Where::Heap => Vec::new(),
            Where::Lent { places } => vec![0; Slab::<&mut [u64], _>::words_for(&kind, places)],
        };
        let world = World { bounds, places: 0 };
        let model = model(kind);
        Self { kind, memory, place, model, world, first_bounds: bounds, is_in: Vec::new() }
    }

    fn perform(&mut self, step: &Step) {
        let mut memory = std::mem::take(&mut self.memory);
        match self.place {
            Where::Heap => self.perform_on(Grows(&mut memory), step),
            Where::Lent { .. } => self.perform_on(&mut memory[..], step),
        }
        self.memory = memory;
    }

    fn perform_on(&mut self, memory: impl Memory, step: &Step) {
        let mut slab = Slab::new(memory, self.world.bounds, self.kind);
        let found = |name: u64| self.is_in.iter().position(|e| e.arrival == arrival(name));
        match *step {
            Step::Ask(name) => match found(name) {
                Some(at) => {
                    slab.touch(self.is_in[at].index);
                    self.model.touch(self.is_in[at].index, &self.world);
                }
                None => self.insert(&mut slab, name),
            },
            Step::Remove(name) => {
                if let Some(at) = found(name) {
                    let gone = self.is_in.swap_remove(at);
                    slab.remove(gone.index);
                    self.model.remove(gone.index);
                }
            }
            Step::Bounds(percent) => {
                self.world.bounds = self.first_bounds.thousandths(10 * percent);
                slab.set_bounds(self.world.bounds);
            }
        }
        while let Some(index) = slab.evict() {
            assert!(!self.used().fits(self.world.bounds), "evicted without need");
            self.evicted(index);
        }
        self.model.settle();
        self.compare(&slab);
    }

    fn insert(&mut self, slab: &mut Slab<impl Memory, PolicyKind>, name: u64) {
        let arrival = arrival(name);
        let fits = arrival.weight.fits(self.world.bounds);
        assert_eq!(slab.admits(&arrival), fits && self.kind != PolicyKind::None);
        if !slab.admits(&arrival) {
            return;
        }
        let index = slab.insert(&arrival).unwrap_or_else(|| {
            assert_eq!(self.place, Where::Lent { places: self.is_in.len() as u32 });
            let gone = slab.evict_one().expect("somebody is in");
            self.evicted(gone);
            slab.insert(&arrival).expect("there is a place")
        });
        assert!(self.is_in.iter().all(|entry| entry.index != index), "{index} given twice");
        self.world.places = self.world.places.max(index + 1);
        let entry = Entry { index, arrival };
        self.is_in.push(entry);
        self.model.insert(entry, &self.world);
    }

    fn evicted(&mut self, index: u32) {
        assert_eq!(self.model.choose(&self.world), Some(index), "{:?}", self.kind);
        self.model.evict(index, &self.world);
        self.is_in.retain(|entry| entry.index != index);
    }

    fn used(&self) -> Weight {
        let mut used = Weight::default();
        self.is_in.iter().for_each(|entry| used += entry.arrival.weight);
        used
    }

    fn compare(&self, slab: &Slab<impl Memory, PolicyKind>) {
        assert!(slab.used().fits(self.world.bounds));
        assert_eq!(slab.used(), self.used());
        assert_eq!((slab.len(), slab.is_empty()), (self.is_in.len(), self.is_in.is_empty()));
        let mut indices: Vec<u32> = self.is_in.iter().map(|entry| entry.index).collect();
        indices.sort_unstable();
        assert_eq!(slab.indices().collect::<Vec<_>>(), indices);
        assert_eq!(slab.check(), Ok(()), "{:?}", self.kind);
    }
}

/// The heap, which grows.
struct Grows<'m>(&'m mut Vec<u64>);

impl Memory for Grows<'_> {
    fn words(&self) -> &[u64] {
        self.0
    }

    fn words_mut(&mut self) -> &mut [u64] {
        self.0
    }

    fn make_room(&mut self, words: usize) -> bool {
        self.0.make_room(words)
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => (0..NAMES).prop_map(Step::Ask),
        8 => (0..NAMES / 8).prop_map(Step::Ask),
        2 => (0..NAMES).prop_map(Step::Remove),
        1 => (0_u64..=100).prop_map(Step::Bounds),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn each_lets_go_whom_its_model_does(
        steps in steps(),
        bytes in 0_u64..900,
        descriptors in 0_u64..12,
        places in 1_u32..20,
    ) {
        let bounds = Weight { bytes, descriptors };
        for kind in PolicyKind::ALL {
            for place in [Where::Heap, Where::Lent { places }] {
                let mut pair = Pair::new(*kind, place, bounds);
                steps.iter().for_each(|step| pair.perform(step));
            }
        }
    }

    /// Where hits are local the policy may hear of them when it looks for who is to go.
    #[test]
    fn hits_that_are_told_late_count_as_well(names in prop::collection::vec(0..NAMES, 0..300)) {
        for kind in PolicyKind::ALL.iter().filter(|kind| kind.hits_are_local()) {
            prop_assert_eq!(gone(*kind, &names, false), gone(*kind, &names, true));
        }
    }
}

proptest! {
    /// Nobody is announced: names of class 0.
    #[test]
    fn hinted_without_hints_is_lru(names in prop::collection::vec(0..NAMES, 0..300)) {
        let names: Vec<_> = names.into_iter().filter(|name| arrival(*name).class == 0).collect();
        let [hinted, lru] =
            [PolicyKind::Hinted, PolicyKind::Lru].map(|kind| gone(kind, &names, false));
        prop_assert_eq!(hinted, lru);
    }
}

/// The names that went, in order, where they are asked for one after the other.
fn gone(kind: PolicyKind, names: &[u64], late: bool) -> Vec<u64> {
    let mut slab = Slab::new(Vec::new(), Weight { bytes: 600, descriptors: 9 }, kind);
    let (mut is_in, mut unheard) = (Vec::<(u32, u64)>::new(), vec![0_u32; NAMES as usize]);
    let mut gone = Vec::new();
    for name in names {
        match is_in.iter().find(|(_, other)| other == name) {
            Some((index, _)) if late => unheard[*index as usize] += 1,
            Some((index, _)) => slab.touch(*index),
            None if slab.admits(&arrival(*name)) => {
                let index = slab.insert(&arrival(*name)).expect("room");
                unheard[index as usize] = 0;
                is_in.push((index, *name));
            }
            None => {}
        }
        while let Some(out) = slab.evict_hearing(|at| std::mem::take(&mut unheard[at as usize])) {
            let at = is_in.iter().position(|(index, _)| *index == out).expect("one that is in");
            gone.push(is_in.swap_remove(at).1);
        }
    }
    gone
}

/// Entries of the hot set that are still in after one pass over ten times as many others.
#[test]
fn a_scan_leaves_the_hot_set_where_that_is_promised() {
    const HOT: u64 = 50;
    let rows = [
        (PolicyKind::Lru, false),
        (PolicyKind::Lfu, true),
        (PolicyKind::Hinted, true),
        (PolicyKind::Structured, false),
        (PolicyKind::WTinyLfu, true),
        (PolicyKind::S3Fifo, true),
        (PolicyKind::Sieve, true),
        (PolicyKind::None, false),
    ];
    assert_eq!(rows.len(), PolicyKind::ALL.len());
    for (kind, promises) in rows {
        let bounds = Weight { bytes: 100, descriptors: 0 };
        let mut slab = Slab::new(Vec::new(), bounds, kind);
        let mut is_in: Vec<(u32, u64)> = Vec::new();
        let hot = (0..20).flat_map(|_| 0..HOT);
        for name in hot.chain(HOT..HOT + 1_000) {
            let weight = Weight { bytes: 1, descriptors: 0 };
            // A directory each; hinted is what is hot.
            let class =
                if kind == PolicyKind::Hinted { u32::from(name < HOT) } else { name as u32 };
            let arrival = Arrival { hash: arrival(name).hash, weight, class };
            match is_in.iter().find(|(_, other)| *other == name) {
                Some((index, _)) => slab.touch(*index),
                None if slab.admits(&arrival) => {
                    is_in.push((slab.insert(&arrival).expect("room"), name));
                }
                None => {}
            }
            while let Some(out) = slab.evict() {
                is_in.retain(|(index, _)| *index != out);
            }
        }
        let left = is_in.iter().filter(|(_, name)| *name < HOT).count() as u64;
        let expected = if promises { 45..=HOT } else { 0..=0 };
        assert!(expected.contains(&left), "{kind:?}: {left} of {HOT}");
    }
}

/// However many were asked for, no more are looked at than the bound says; and somebody goes.
#[test]
fn a_look_for_who_is_to_go_ends() {
    for kind in PolicyKind::ALL.iter().filter(|kind| **kind != PolicyKind::None) {
        let count = 5 * STEPS_MAX;
        let bounds = Weight { bytes: count.into(), descriptors: 0 };
        let mut slab = Slab::new(Vec::new(), bounds, *kind);
        let weight = Weight { bytes: 1, descriptors: 0 };
        let name = |name: u32| Arrival { weight, ..arrival(name.into()) };
        let indices: Vec<_> = (0..count).filter_map(|n| slab.insert(&name(n))).collect();
        for _ in 0..4 {
            indices.iter().for_each(|index| slab.touch(*index));
        }
        for n in count..count + 20 {
            slab.insert(&name(n)).expect("room");
            let mut looks = 0;
            let gone = slab.evict_hearing(|_| {
                looks += 1;
                0
            });
            assert!(gone.is_some(), "{kind:?}");
            assert!(looks <= STEPS_MAX, "{kind:?}: {looks}");
        }
    }
}

/// A request changes few words, however many entries there are: a heap is a dozen levels deep, and
/// who was asked for and is passed over had been asked for.
#[test]
fn requests_change_few_words() {
    const COUNT: u64 = 4096;
    const REQUESTS: u64 = 100;
    const WORDS_MAX: usize = 100;
    for kind in PolicyKind::ALL.iter().filter(|kind| **kind != PolicyKind::None) {
        let weight = Weight { bytes: 1, descriptors: 0 };
        let name = |name: u64| Arrival { weight, ..arrival(name) };
        let bounds = Weight { bytes: COUNT, descriptors: 0 };
        let mut memory = vec![0; Slab::<&mut [u64], _>::words_for(kind, COUNT as u32 + 1)];
        let mut before = memory.clone();
        let mut changed = 0;
        for n in 0..COUNT + REQUESTS {
            let mut slab = Slab::new(&mut memory[..], bounds, *kind);
            slab.insert(&name(n)).expect("room");
            while slab.evict().is_some() {}
            let asked = slab.indices().nth((n * 31 % COUNT) as usize / 16);
            asked.into_iter().for_each(|index| slab.touch(index));
            if n >= COUNT {
                let words = memory.iter().zip(&before);
                changed += words.filter(|(now, before)| now != before).count();
            }
            if n >= COUNT - 1 {
                before.clone_from(&memory);
            }
        }
        assert!(changed <= WORDS_MAX * REQUESTS as usize, "{kind:?}: {changed} words");
    }
}

/// Steps are bounded also where nearly all have to go: entries of any weight, all asked for, in
/// bounds that shrank to little. A step changes a few words.
#[test]
fn steps_are_bounded_however_much_has_to_go() {
    const COUNT: u32 = 8 * STEPS_MAX;
    const WORDS_OF_A_STEP: usize = 4;
    type Lent<'m> = Slab<&'m mut [u64], PolicyKind>;
    for kind in PolicyKind::ALL.iter().filter(|kind| **kind != PolicyKind::None) {
        let name = |name: u32| {
            let weight = Weight { bytes: 1 + u64::from(name % 7), descriptors: 0 };
            Arrival { weight, ..arrival(name.into()) }
        };
        let mut memory = vec![0; Slab::<&mut [u64], _>::words_for(kind, COUNT)];
        let bytes = (0..COUNT).map(|n| name(n).weight.bytes).sum();
        let all = Weight { bytes, descriptors: 0 };
        let mut slab = Slab::new(&mut memory[..], all, *kind);
        let indices: Vec<_> = (0..COUNT).filter_map(|n| slab.insert(&name(n))).collect();
        for _ in 0..4 {
            indices.iter().for_each(|index| slab.touch(*index));
        }
        let little = Weight { bytes: 8, descriptors: 0 };
        let mut changed = |what: &dyn Fn(&mut Lent<'_>)| {
            let before = memory.clone();
            what(&mut Slab::new(&mut memory[..], little, *kind));
            let changed = memory.iter().zip(&before).filter(|(now, before)| now != before).count();
            let most = WORDS_OF_A_STEP * STEPS_MAX as usize;
            assert!(changed <= most, "{kind:?}: {changed} words");
        };
        for part in 0..40 {
            changed(&|slab| {
                let entries = slab.len();
                let stays = slab.indices().nth(entries * part / 40).expect("some are in");
                slab.touch(stays);
            });
            changed(&|slab| assert!(slab.evict().is_some(), "{kind:?}"));
        }
    }
}

#[test]
fn words_are_told_before_they_are_needed() {
    let alike = |name| Arrival { weight: Weight { bytes: 1, descriptors: 0 }, ..arrival(name) };
    for kind in PolicyKind::ALL {
        for places in [0, 1, 7, 1000] {
            let mut words = vec![0; Slab::<&mut [u64], _>::words_for(kind, places)];
            let bounds = Weight { bytes: u64::MAX, descriptors: 0 };
            let mut slab = Slab::new(&mut words[..], bounds, *kind);
            let comes = |name: &u64| {
                let arrival = alike(*name);
                slab.admits(&arrival) && slab.insert(&arrival).is_some()
            };
            let count = (0..2 * u64::from(places) + 1).take_while(comes).count();
            let expected = if kind.admits(&alike(0)) { places as usize } else { 0 };
            assert_eq!(count, expected, "{kind:?}");
        }
    }
}
