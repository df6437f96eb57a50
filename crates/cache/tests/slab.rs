//! The slab with each policy, against a model that is a `Vec` in order and nothing clever: on the
//! heap, and over lent memory that is lent anew for each step.

use cache::{Lru, Memory, Policy, Slab, Weight};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Insert(Weight),
    /// Of the entry that stands at this place, counted around.
    Touch(usize),
    Remove(usize),
}

/// The most recently used last.
#[derive(Default)]
struct Model {
    row: Vec<(u32, Weight)>,
}

impl Model {
    fn used(&self) -> Weight {
        let mut used = Weight::default();
        self.row.iter().for_each(|(_, weight)| used += *weight);
        used
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let weight = (0_u64..100, 0_u64..2)
        .prop_map(|(bytes, descriptors)| Step::Insert(Weight { bytes, descriptors }));
    let step = prop_oneof![
        3 => weight,
        3 => any::<usize>().prop_map(Step::Touch),
        1 => any::<usize>().prop_map(Step::Remove),
    ];
    prop::collection::vec(step, 0..300)
}

proptest! {
    #[test]
    fn lru_evicts_what_the_model_evicts(
        steps in steps(),
        bytes in 0_u64..600,
        descriptors in 0_u64..8,
        places in 1_u32..20,
    ) {
        let bounds = Weight { bytes, descriptors };
        let mut model = Model::default();
        let mut slab = Slab::<_, Lru>::new(Vec::new(), bounds);
        for step in &steps {
            perform(&mut slab, &mut model, bounds, None, step);
        }
        let mut model = Model::default();
        let mut words = vec![0; Slab::<&mut [u64], Lru>::words_for(places)];
        for step in &steps {
            let mut slab = Slab::<_, Lru>::new(&mut words[..], bounds);
            perform(&mut slab, &mut model, bounds, Some(places as usize), step);
        }
    }
}

/// Performs the step, and what it leads to, on both. `places` are all that there are.
fn perform(
    slab: &mut Slab<impl Memory, impl Policy>,
    model: &mut Model,
    bounds: Weight,
    places: Option<usize>,
    step: &Step,
) {
    let count = model.row.len();
    match *step {
        Step::Insert(weight) => {
            let index = slab.insert(weight).unwrap_or_else(|| {
                assert_eq!(Some(count), places, "no place, but not full");
                let (first, _) = model.row.remove(0);
                assert_eq!(slab.evict_one(), Some(first));
                slab.insert(weight).expect("there is a place")
            });
            assert!(model.row.iter().all(|(taken, _)| *taken != index), "{index} given twice");
            model.row.push((index, weight));
        }
        Step::Touch(_) | Step::Remove(_) if count == 0 => {}
        Step::Touch(place) => {
            let entry = model.row.remove(place % count);
            slab.touch(entry.0);
            model.row.push(entry);
        }
        Step::Remove(place) => slab.remove(model.row.remove(place % count).0),
    }
    while let Some(index) = slab.evict() {
        assert!(!model.used().fits(bounds), "evicted without need");
        assert_eq!(index, model.row.remove(0).0);
    }
    assert!(slab.used().fits(bounds));
    assert_eq!(slab.used(), model.used());
    assert_eq!(slab.len(), model.row.len());
    assert_eq!(slab.is_empty(), model.row.is_empty());
    let mut indices: Vec<u32> = model.row.iter().map(|(index, _)| *index).collect();
    indices.sort_unstable();
    assert_eq!(slab.indices().collect::<Vec<_>>(), indices);
    assert_eq!(slab.check(), Ok(()));
}

#[test]
fn places_are_used_again() {
    let mut slab = Slab::<_, Lru>::new(Vec::new(), Weight { bytes: 10, descriptors: 1 });
    let heavy = Weight { bytes: 11, descriptors: 0 };
    assert!(!slab.admits(heavy));
    assert!(slab.admits(Weight { bytes: 10, descriptors: 1 }));
    for _ in 0..100 {
        assert_eq!(slab.insert(heavy), Some(0));
        assert_eq!(slab.evict(), Some(0));
        assert_eq!(slab.evict(), None);
    }
}

#[test]
fn an_index_is_dead_after_its_entry() {
    let uses: [fn(&mut Slab<Vec<u64>>); 4] = [
        |slab| slab.touch(0),
        |slab| slab.remove(0),
        // No entry ever was there.
        |slab| slab.touch(1),
        |slab| slab.remove(u32::MAX),
    ];
    for (row, wrong) in uses.iter().enumerate() {
        let mut slab: Slab<Vec<u64>> = Slab::new(Vec::new(), Weight::default());
        let index = slab.insert(Weight::default()).unwrap();
        slab.remove(index);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wrong(&mut slab)));
        let said = panicked.expect_err("no such entry");
        let said = said.downcast_ref::<String>().unwrap();
        assert!(said.starts_with("no entry at "), "{row}: {said}");
    }
}

#[test]
fn nothing_is_in_memory_without_a_place() {
    let mut words = vec![0; Slab::<&mut [u64]>::words_for(0)];
    let mut slab = Slab::<_, Lru>::new(&mut words[..], Weight::default());
    assert_eq!(slab.insert(Weight::default()), None);
    assert_eq!(slab.evict_one(), None);
    assert_eq!(slab.check(), Ok(()));
}
