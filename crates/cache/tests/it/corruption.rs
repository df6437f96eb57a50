//! Words that somebody else has written to: one wrong bit is found out or is of no account, and
//! whatever the words are, every operation ends, if by a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cache::{Arrival, Corrupt, Extents, Lru, Policy, PolicyKind, Slab, Table, Weight};
use proptest::prelude::*;

/// A structure, and what to do with it.
struct Subject {
    words: fn() -> usize,
    begin: fn(&mut [u64]),
    perform: fn(&mut Run, Step) -> Option<u32>,
    check: fn(&mut [u64]) -> Result<(), Corrupt>,
}

/// What to do, and a number for it.
type Step = (u8, u32);

#[derive(Clone)]
struct Run {
    words: Vec<u64>,
    /// What its user knows to be in: an index, or an extent.
    is_in: Vec<(u32, u32)>,
}

const ENTRIES: u32 = 12;
const BOUNDS: Weight = Weight { bytes: 300, descriptors: 6 };
const UNITS: u32 = 50;

const SUBJECTS: [Subject; 3] = [
    Subject {
        words: || Slab::<&mut [u64]>::words_for(&Lru, ENTRIES),
        begin: |_| {},
        perform: |run, step| use_slab(&mut Slab::new(&mut run.words[..], BOUNDS, Lru), step),
        check: |words| Slab::new(words, BOUNDS, Lru).check(),
    },
    Subject {
        words: || Table::<&mut [u64]>::words_for(ENTRIES),
        begin: |_| {},
        perform: |run, step| use_table(&mut Table::new(&mut run.words[..], ENTRIES), step),
        check: |words| Table::new(words, ENTRIES).check(hash),
    },
    Subject {
        words: || Extents::<&mut [u64]>::words_for(UNITS),
        begin: |words| Extents::new(words, UNITS).give(0, UNITS),
        perform: |run, step| {
            use_extents(&mut Extents::new(&mut run.words[..], UNITS), &mut run.is_in, step)
        },
        check: |words| Extents::new(words, UNITS).check(),
    },
];

/// Says whatever was said, as one number.
fn use_slab<P: Policy>(slab: &mut Slab<&mut [u64], P>, (what, number): Step) -> Option<u32> {
    let indices: Vec<u32> = slab.indices().collect();
    let some = indices.get(number as usize % indices.len().max(1)).copied();
    match (what % 4, some) {
        (0, Some(index)) => slab.remove(index),
        (1, Some(index)) => slab.touch(index),
        _ => {
            let weight = Weight { bytes: u64::from(number % 60), descriptors: u64::from(what % 2) };
            let hash = u64::from(number % 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let arrival = Arrival { hash, weight, class: number % 5 };
            if slab.insert(&arrival).is_none() {
                slab.evict_one()?;
                slab.insert(&arrival)?;
            }
        }
    }
    let mut gone = slab.len() as u32;
    while let Some(index) = slab.evict() {
        gone = gone.wrapping_mul(ENTRIES + 1).wrapping_add(index);
    }
    Some(gone)
}

/// Half of them are alike in the half of their hash that counts.
fn hash(index: u32) -> u64 {
    u64::from(index / 2 * 3) | u64::from(index % 2) << 32
}

fn use_table(table: &mut Table<&mut [u64]>, (what, number): Step) -> Option<u32> {
    let index = number % ENTRIES;
    let found = table.find(hash(index), |other| other == index);
    match (what % 3, found) {
        (0, Some(index)) => table.remove(hash(index), index),
        (1, None) => table.insert(hash(index), index),
        _ => {}
    }
    found
}

fn use_extents(
    extents: &mut Extents<&mut [u64]>,
    is_in: &mut Vec<(u32, u32)>,
    (what, number): Step,
) -> Option<u32> {
    if what % 2 == 0 {
        let units = number % 12 + 1;
        let at = extents.take(units)?;
        is_in.push((at, units));
        return Some(at);
    }
    let place = number as usize % is_in.len().max(1);
    is_in.get(place)?;
    let (at, units) = is_in.swap_remove(place);
    extents.give(at, units);
    Some(extents.free())
}

impl Subject {
    fn after(&self, steps: &[Step]) -> Run {
        let mut run = Run { words: vec![0; (self.words)()], is_in: Vec::new() };
        (self.begin)(&mut run.words);
        for step in steps {
            (self.perform)(&mut run, *step);
        }
        run
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any::<Step>(), 0..60)
}

/// What is different in a word: a bit, everything, or a small number in either half.
fn difference() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0..u64::BITS).prop_map(|bit| 1 << bit),
        any::<u64>(),
        0..u64::from(2 * ENTRIES),
        (0..u64::from(2 * ENTRIES)).prop_map(|half| half << 32),
    ]
}

proptest! {
    #[test]
    fn a_wrong_bit_is_found_out_or_of_no_account(
        before in steps(),
        after in steps(),
        word in any::<prop::sample::Index>(),
        bit in 0..u64::BITS,
    ) {
        for subject in &SUBJECTS {
            let mut sound = subject.after(&before);
            let mut wrong = sound.clone();
            *word.get_mut(&mut wrong.words) ^= 1 << bit;
            if (subject.check)(&mut wrong.words).is_err() {
                continue;
            }
            for step in &after {
                let said = (subject.perform)(&mut sound, *step);
                prop_assert_eq!((subject.perform)(&mut wrong, *step), said);
                prop_assert_eq!((subject.check)(&mut wrong.words), Ok(()));
            }
        }
    }

    #[test]
    fn everything_ends_whatever_the_words(
        before in steps(),
        after in steps(),
        differences in prop::collection::vec((any::<prop::sample::Index>(), difference()), 1..20),
    ) {
        for subject in &SUBJECTS {
            let mut run = subject.after(&before);
            for (word, difference) in &differences {
                *word.get_mut(&mut run.words) ^= difference;
            }
            // Whoever panics ends his process, and leaves what he has done to the next one.
            let ends_well = |step: &Step| {
                let _ = (subject.check)(&mut run.words);
                catch_unwind(AssertUnwindSafe(|| (subject.perform)(&mut run, *step))).is_ok()
            };
            let _ = after.iter().all(ends_well);
            let _ = (subject.check)(&mut run.words);
        }
    }
}

/// With another policy a wrong bit may be a wrong number of requests, which nobody can know. But
/// what passes for sound stays sound, and everything ends.
#[test]
fn every_policy_ends_whatever_the_words() {
    let kinds = PolicyKind::ALL.iter().filter(|kind| **kind != PolicyKind::None);
    for kind in kinds {
        let words = || vec![0; Slab::<&mut [u64], _>::words_for(kind, ENTRIES)];
        proptest!(ProptestConfig::with_cases(400), |(
            before in steps(),
            after in steps(),
            differences in
                prop::collection::vec((any::<prop::sample::Index>(), difference()), 0..4),
        )| {
            let mut words = words();
            for step in before {
                use_slab(&mut Slab::new(&mut words[..], BOUNDS, *kind), step);
            }
            for (word, difference) in differences {
                *word.get_mut(&mut words) ^= difference;
            }
            let mut is_sound = Slab::new(&mut words[..], BOUNDS, *kind).check().is_ok();
            for step in after {
                let perform = || use_slab(&mut Slab::new(&mut words[..], BOUNDS, *kind), step);
                let ended = catch_unwind(AssertUnwindSafe(perform));
                prop_assert!(ended.is_ok() || !is_sound, "{kind:?}: {ended:?}");
                if ended.is_err() {
                    break;
                }
                let now = Slab::new(&mut words[..], BOUNDS, *kind).check();
                prop_assert!(now.is_ok() || !is_sound, "{kind:?}: {now:?}");
                is_sound = now.is_ok();
            }
        });
    }
}

/// Words, and what somebody writes there.
type Writes<'w> = &'w [(usize, u64)];

/// Marks the link of an index that is in the table.
const IN: u64 = 1 << 31;

/// Two indices come into one bucket of the table.
const ALIKE: &[Step] = &[(1, 0), (1, 1)];

/// The first of these leads to the second again.
const RING: (usize, u64) = (17, IN | 2);

fn wrong(subject: &Subject, steps: &[Step], writes: Writes<'_>) -> Vec<u64> {
    let mut words = subject.after(steps).words;
    for (word, written) in writes {
        words[*word] = *written;
    }
    words
}

#[test]
fn what_is_wrong_is_said() {
    let [slab, table, extents] = &SUBJECTS;
    let entry: &[Step] = &[(2, 7)];
    let rows: [(&Subject, &[Step], Writes<'_>, &str); 19] = [
        (slab, entry, &[(4, 13)], "places beyond the memory: 13"),
        (slab, entry, &[(4, 0)], "in use, but beyond the places: 0"),
        (slab, entry, &[(3, 2)], "not the count of the entries: 2"),
        (slab, entry, &[(1, 8)], "not the sum of the weights: 8"),
        (slab, entry, &[(5, 1)], "more in the chain than vacant: 1"),
        (slab, entry, &[(4, 2)], "not vacant, but in that chain: 0"),
        (slab, entry, &[(6, 0)], "more entries than in the row: 1"),
        (slab, entry, &[(9, 1 | 3 << 32)], "unknown to the next in the row: 1"),
        // Another one is in than the one in the row.
        (
            slab,
            entry,
            &[(4, 2), (5, 1), (9, 0), (10, 0), (12, 1), (13, 7)],
            "unknown to the next in the row: 0",
        ),
        (table, ALIKE, &[(0, 3)], "not the count of the indices: 3"),
        (table, ALIKE, &[(19, IN)], "not the count of the indices: 2"),
        (table, ALIKE, &[(1, 14)], "an index too large: 13"),
        (table, ALIKE, &[(18, 1)], "not in, but in a chain: 1"),
        (table, ALIKE, &[(18, 1 << 32 | IN | 1)], "under another hash than its own: 1"),
        (table, ALIKE, &[RING], "in a chain that does not end: 1"),
        (extents, &[], &[(0, 49)], "not the count of the free units: 49"),
        (extents, &[], &[(1, 7 << 8)], "free beyond the arena: 0"),
        (extents, &[], &[(1, 8 << 8)], "a block with a larger one in it: 0"),
        (extents, &[], &[(1, 5 << 8)], "a block unlike its halves: 0"),
    ];
    for (subject, steps, writes, expected) in rows {
        let said = (subject.check)(&mut wrong(subject, steps, writes)).unwrap_err().to_string();
        assert_eq!(said, expected);
    }
}

#[test]
fn what_is_wrong_is_not_made_use_of() {
    let [slab, table, _] = &SUBJECTS;
    let entry: &[Step] = &[(2, 7)];
    let panics = |mut words: Vec<u64>, operation: fn(&mut [u64]), expected: &str| {
        let panicked = catch_unwind(AssertUnwindSafe(|| operation(&mut words)));
        let said = panicked.expect_err(expected);
        assert_eq!(said.downcast_ref::<String>().unwrap(), expected);
    };
    let insert = |words: &mut [u64]| {
        Slab::new(words, BOUNDS, Lru).insert(&Arrival::default());
    };
    panics(wrong(slab, entry, &[(4, 0)]), insert, "an entry at 0 already");
    let evict = |words: &mut [u64]| {
        Slab::new(words, BOUNDS, Lru).evict_one();
    };
    panics(wrong(slab, entry, &[(6, 2)]), evict, "no entry at 1");
    let remove = |words: &mut [u64]| Table::new(words, ENTRIES).remove(0, 2);
    panics(wrong(table, ALIKE, &[RING]), remove, "2 is not in under this hash");
    let words = &mut wrong(table, ALIKE, &[RING])[..];
    assert_eq!(Table::new(words, ENTRIES).find(0, |_| false), None);
}
