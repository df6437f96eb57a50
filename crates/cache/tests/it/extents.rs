//! The extents against a model that knows of each unit whether it is free: on the heap, and over
//! lent memory that is lent anew for each step.

use cache::{Extents, Memory};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Take(u32),
    /// Of the extent at this place, counted around, the units from one to another, counted around.
    Give(usize, u32, u32),
}

struct Model {
    is_free: Vec<bool>,
    taken: Vec<(u32, u32)>,
}

impl Model {
    fn new(units: u32) -> Self {
        Self { is_free: vec![true; units as usize], taken: Vec::new() }
    }

    /// Whether there is an aligned block of free units with room for so many.
    fn has_room(&self, units: u32) -> bool {
        self.is_free
            .chunks_exact(units.next_power_of_two() as usize)
            .any(|block| block.iter().all(|is_free| *is_free))
    }

    fn set(&mut self, at: u32, units: u32, is_free: bool) {
        for unit in &mut self.is_free[at as usize..][..units as usize] {
            assert_ne!(*unit, is_free, "given or taken twice");
            *unit = is_free;
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        prop_oneof![1_u32..9, 1_u32..80].prop_map(Step::Take),
        any::<(usize, u32, u32)>().prop_map(|(place, from, to)| Step::Give(place, from, to)),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn they_have_room_where_the_model_has(steps in steps(), units in 0_u32..300) {
        let mut extents = Extents::new(Vec::new(), units);
        let mut model = Model::new(units);
        extents.give(0, units);
        for step in &steps {
            perform(&mut extents, &mut model, step);
        }
        let mut words = vec![0; Extents::<&mut [u64]>::words_for(units)];
        let mut model = Model::new(units);
        Extents::new(&mut words[..], units).give(0, units);
        for step in &steps {
            perform(&mut Extents::new(&mut words[..], units), &mut model, step);
        }
        rebuild(&mut words, &mut model, units);
    }
}

fn perform(extents: &mut Extents<impl Memory>, model: &mut Model, step: &Step) {
    match *step {
        Step::Take(units) => {
            let at = extents.take(units);
            assert_eq!(at.is_some(), model.has_room(units), "{units}: {at:?}");
            if let Some(at) = at {
                model.set(at, units, false);
                model.taken.push((at, units));
            }
        }
        Step::Give(..) if model.taken.is_empty() => {}
        Step::Give(place, from, to) => {
            let (at, units) = model.taken.swap_remove(place % model.taken.len());
            let (from, to) = (from % (units + 1), to % (units + 1));
            let (from, to) = (from.min(to), from.max(to));
            extents.give(at + from, to - from);
            model.set(at + from, to - from, true);
            let kept = [(at, from), (at + to, units - to)];
            model.taken.extend(kept.into_iter().filter(|(_, units)| *units > 0));
        }
    }
    let free = model.is_free.iter().filter(|is_free| **is_free).count();
    assert_eq!(extents.free() as usize, free);
    assert_eq!(extents.check(), Ok(()));
}

/// As after a crash: with only the gaps between the extents that are kept, all is as it was.
fn rebuild(words: &mut [u64], model: &mut Model, units: u32) {
    words.fill(0);
    let mut extents = Extents::new(words, units);
    model.taken.sort_unstable();
    let mut end = 0;
    for (at, units) in model.taken.iter().copied().chain([(units, 0)]) {
        extents.give(end, at - end);
        end = at + units;
    }
    assert_eq!(extents.check(), Ok(()));
    for units in [1, 2, 3, 5, 8, 13, 21, 34, 55, 89].into_iter().rev() {
        perform(&mut extents, model, &Step::Take(units));
    }
}

#[test]
fn what_is_given_back_becomes_one_block_again() {
    for units in [1, 2, 1 << 12, 1 << 20] {
        let mut extents = Extents::new(Vec::new(), units);
        assert_eq!(extents.take(1), None);
        extents.give(0, units);
        let first: Vec<u32> = (0..units.min(100)).map(|_| extents.take(1).unwrap()).collect();
        assert_eq!(first, (0..units.min(100)).collect::<Vec<_>>());
        assert_eq!(extents.take(units), None);
        for at in first.into_iter().rev() {
            extents.give(at, 1);
        }
        assert_eq!(extents.take(units), Some(0));
        assert_eq!(extents.free(), 0);
    }
}

#[test]
fn a_block_is_taken_from_the_smallest_that_has_room() {
    let mut extents = Extents::new(Vec::new(), 64);
    extents.give(0, 32);
    extents.give(40, 4);
    let rows = [(3, Some(40)), (1, Some(43)), (16, Some(0)), (17, None), (9, Some(16)), (8, None)];
    for (units, at) in rows {
        assert_eq!(extents.take(units), at, "{units}");
    }
    assert_eq!(extents.free(), 7);
}

type Mistake = fn(&mut Extents<Vec<u64>>);

#[test]
fn mistakes_of_the_caller_panic() {
    let rows: [(Mistake, &str); 8] = [
        (|extents| extents.give(0, 5), "given or taken twice: "),
        (|extents| extents.give(8, 2), "given or taken twice: "),
        (|extents| extents.give(6, 1), "given or taken twice: "),
        (|extents| extents.give(3, 3), "given or taken twice: "),
        (|extents| extents.give(9, 2), "units of the arena"),
        (|extents| extents.give(11, 0), "units of the arena"),
        (|extents| extents.give(u32::MAX, 2), "units of the arena"),
        (|extents| assert_eq!(extents.take(0), None), "units to take"),
    ];
    for (row, (wrong, expected)) in rows.into_iter().enumerate() {
        let mut extents = Extents::new(Vec::new(), 10);
        extents.give(0, 10);
        assert_eq!(extents.take(4), Some(0));
        let panicked =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wrong(&mut extents)));
        let said = panicked.expect_err(expected);
        let text = said.downcast_ref::<String>().map(String::as_str);
        let text = text.or(said.downcast_ref::<&str>().copied()).unwrap();
        assert!(text.starts_with(expected), "{row}: {text}");
    }
}
