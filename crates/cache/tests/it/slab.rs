//! What a slab promises with whatever policy.

use cache::{Arrival, Lru, Slab, Weight};

const NOTHING: Weight = Weight { bytes: 0, descriptors: 0 };

const fn weighs(bytes: u64, descriptors: u64) -> Arrival {
    Arrival { hash: 0, weight: Weight { bytes, descriptors }, class: 0 }
}

#[test]
fn places_are_used_again() {
    let mut slab = Slab::new(Vec::new(), Weight { bytes: 10, descriptors: 1 }, Lru);
    let heavy = &weighs(11, 0);
    assert!(!slab.admits(heavy));
    assert!(slab.admits(&weighs(10, 1)));
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
        let mut slab = Slab::new(Vec::new(), NOTHING, Lru);
        let index = slab.insert(&weighs(0, 0)).unwrap();
        slab.remove(index);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wrong(&mut slab)));
        let said = panicked.expect_err("no such entry");
        let said = said.downcast_ref::<String>().unwrap();
        assert!(said.starts_with("no entry at "), "{row}: {said}");
    }
}

#[test]
fn nothing_is_in_memory_without_a_place() {
    let mut words = vec![0; Slab::<&mut [u64]>::words_for(&Lru, 0)];
    let mut slab = Slab::new(&mut words[..], NOTHING, Lru);
    assert_eq!(slab.insert(&weighs(0, 0)), None);
    assert_eq!(slab.evict_one(), None);
    assert_eq!(slab.check(), Ok(()));
}
