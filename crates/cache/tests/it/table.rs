//! The table against a model that is a `Vec`: on the heap, and over lent memory that is lent anew
//! for each step.

use cache::{Memory, Table};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    /// The first index that is not in, under this hash.
    Insert(u64),
    /// Whatever stands at this place, counted around.
    Remove(usize),
    /// The hash, be it in or not.
    Find(u64),
}

type Model = Vec<(u64, u32)>;

/// Few, so that many collide: in a bucket, in the half that counts, and whole.
fn hash() -> impl Strategy<Value = u64> {
    let half = prop_oneof![0_u64..4, Just(0xffff_fff0), any::<u64>()];
    (half, 0_u64..2).prop_map(|(low, high)| high << 32 | low & 0xffff_ffff)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => hash().prop_map(Step::Insert),
        2 => any::<usize>().prop_map(Step::Remove),
        1 => hash().prop_map(Step::Find),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn it_finds_what_the_model_finds(steps in steps(), entries in 0_u32..40) {
        let mut table = Table::new(Vec::new(), entries);
        let mut model = Model::new();
        for step in &steps {
            perform(&mut table, &mut model, entries, step);
        }
        let mut words = vec![0; Table::<&mut [u64]>::words_for(entries)];
        let mut model = Model::new();
        for step in &steps {
            perform(&mut Table::new(&mut words[..], entries), &mut model, entries, step);
        }
    }
}

fn perform(table: &mut Table<impl Memory>, model: &mut Model, entries: u32, step: &Step) {
    match *step {
        Step::Insert(hash) => {
            let vacant = (0..entries).find(|index| model.iter().all(|(_, is_in)| is_in != index));
            if let Some(index) = vacant {
                table.insert(hash, index);
                model.push((hash, index));
            }
        }
        Step::Remove(_) if model.is_empty() => {}
        Step::Remove(place) => {
            let (hash, index) = model.swap_remove(place % model.len());
            table.remove(hash, index);
        }
        Step::Find(hash) => {
            let mut seen = Vec::new();
            assert_eq!(
                table.find(hash, |index| {
                    seen.push(index);
                    false
                }),
                None
            );
            seen.sort_unstable();
            // The user is asked of nobody whose half that counts is another.
            let alike = model.iter().filter(|(other, _)| *other as u32 == hash as u32);
            let mut alike: Vec<u32> = alike.map(|(_, index)| *index).collect();
            alike.sort_unstable();
            assert_eq!(seen, alike);
        }
    }
    for (hash, index) in model.iter() {
        assert_eq!(table.find(*hash, |other| other == *index), Some(*index));
    }
    let hash = |index: u32| {
        let (hash, _) = model.iter().find(|(_, other)| *other == index).expect("in the model");
        *hash
    };
    assert_eq!(table.check(hash), Ok(()));
}

type Mistake = fn(&mut Table<Vec<u64>>);

#[test]
fn mistakes_of_the_caller_panic() {
    let rows: [(Mistake, &str); 5] = [
        (|table| table.insert(7, 0), "0 is in already"),
        (|table| table.insert(7, 2), "no index is as large as 2"),
        (|table| table.remove(7, 1), "1 is not in under this hash"),
        (|table| table.remove(8, 0), "0 is not in under this hash"),
        (|table| table.remove(7, 2), "2 is not in under this hash"),
    ];
    for (wrong, expected) in rows {
        let mut table = Table::new(Vec::new(), 2);
        table.insert(7, 0);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wrong(&mut table)));
        let said = panicked.expect_err(expected);
        assert_eq!(said.downcast_ref::<String>().unwrap(), expected);
    }
}

#[test]
fn a_hash_that_is_not_its_own_is_found_out() {
    let mut table = Table::new(Vec::new(), 2);
    table.insert(7, 1);
    assert_eq!(table.check(|_| 7 | 1 << 32), Ok(()));
    let said = table.check(|_| 9).unwrap_err().to_string();
    assert_eq!(said, "under another hash than its own: 1");
}
