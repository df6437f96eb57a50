//! The slab with each policy, against a model that is a `Vec` in order and nothing clever.

use cache::{Lru, Policy, Slab, Weight};
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
    row: Vec<(u32, u64, Weight)>,
}

impl Model {
    fn used(&self) -> Weight {
        let mut used = Weight::default();
        self.row.iter().for_each(|(_, _, weight)| used += *weight);
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
    ) {
        let bounds = Weight { bytes, descriptors };
        let mut slab = Slab::<u64, Lru>::new(bounds);
        let mut model = Model::default();
        for (name, step) in (0..).zip(steps) {
            perform(&mut slab, &mut model, name, &step);
            while let Some((index, value)) = slab.evict() {
                prop_assert!(!model.used().fits(bounds), "evicted without need");
                let (first_index, first, _) = model.row.remove(0);
                prop_assert_eq!((index, value), (first_index, first));
            }
            prop_assert!(slab.used().fits(bounds));
            prop_assert_eq!(slab.used(), model.used());
            prop_assert_eq!(slab.len(), model.row.len());
            prop_assert_eq!(slab.is_empty(), model.row.is_empty());
            for (index, value, _) in &model.row {
                prop_assert_eq!(slab[*index], *value);
            }
        }
    }
}

fn perform(slab: &mut Slab<u64, impl Policy>, model: &mut Model, name: u64, step: &Step) {
    let count = model.row.len();
    match *step {
        Step::Insert(weight) => {
            let index = slab.insert(name, weight);
            assert!(model.row.iter().all(|(taken, ..)| *taken != index), "{index} given twice");
            model.row.push((index, name, weight));
        }
        Step::Touch(_) | Step::Remove(_) if count == 0 => {}
        Step::Touch(place) => {
            let entry = model.row.remove(place % count);
            slab.touch(entry.0);
            model.row.push(entry);
        }
        Step::Remove(place) => {
            let (index, value, _) = model.row.remove(place % count);
            assert_eq!(slab.remove(index), value);
        }
    }
}

#[test]
fn places_are_used_again() {
    let mut slab = Slab::<_, Lru>::new(Weight { bytes: 10, descriptors: 1 });
    let heavy = Weight { bytes: 11, descriptors: 0 };
    assert!(!slab.admits(heavy));
    assert!(slab.admits(Weight { bytes: 10, descriptors: 1 }));
    for _ in 0..100 {
        assert_eq!(slab.insert('a', heavy), 0);
        assert_eq!(slab.evict(), Some((0, 'a')));
        assert_eq!(slab.evict(), None);
    }
}

#[test]
#[should_panic(expected = "no entry at 0")]
fn an_index_is_dead_after_its_entry() {
    let mut slab = Slab::<_, Lru>::new(Weight::default());
    let index = slab.insert('a', Weight::default());
    slab.remove(index);
    let _ = slab[index];
}
