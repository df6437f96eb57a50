use std::collections::BTreeMap;

use super::*;
use crate::sharing::UNIT;
use crate::sharing::blocks::Block;

const SHAPE: Shape = Shape { members: 3, words: 4, blocks: 8, units: 64 };

fn store() -> Store {
    Store::new(&SHAPE).unwrap()
}

fn publish(store: &Store, bytes: &[u8]) -> Option<u32> {
    let mut guard = store.lock();
    let number = guard.blocks().publish(&[bytes], &mut None).unwrap();
    guard.blocks().check().unwrap();
    number
}

fn free_units(store: &Store) -> u32 {
    store.lock().blocks().free_units()
}

#[test]
fn what_is_published_is_read() {
    let store = store();
    let rows: [(&[&[u8]], u32); 5] = [
        (&[b"head", b"", b"body"], 1),
        (&[], 1),
        (&[b""], 1),
        (&[&[7; UNIT]], 1),
        (&[&[7; UNIT], &[8; 1]], 2),
    ];
    for (parts, units) in rows {
        let before = free_units(&store);
        let mut guard = store.lock();
        let number = guard.blocks().publish(parts, &mut None).unwrap().unwrap();
        let all = parts.concat();
        assert_eq!(guard.blocks().bytes(number).unwrap(), Some(&all[..]));
        let lent = guard.blocks().lend(number).unwrap().unwrap();
        guard.blocks().check().unwrap();
        drop(guard);
        assert_eq!((&*lent, lent.block()), (&all[..], number));
        assert!(crate::File::lent(&Arc::new(lent)).is_none(), "no file");
        assert_eq!(before - free_units(&store), units, "{parts:?}");
    }
}

#[test]
fn words_are_kept() {
    let store = store();
    assert_eq!(store.lock().words(), [0; 4]);
    store.lock().words()[3] = 7;
    assert_eq!(store.lock().words(), [0, 0, 0, 7]);
}

#[test]
fn what_is_lent_stays_until_it_is_given_back() {
    let store = store();
    let number = publish(&store, b"bytes").unwrap();
    let lent = [(); 2].map(|()| store.lock().blocks().lend(number).unwrap().unwrap());
    let mut guard = store.lock();
    assert!(
        guard.blocks().is_pinned(number) && guard.blocks().bytes_mut(number).unwrap().is_none()
    );
    assert!(guard.blocks().retire(number).unwrap(), "it was live");
    assert!(!guard.blocks().retire(number).unwrap(), "it is no more");
    assert!(
        guard.blocks().lend(number).unwrap().is_none()
            && guard.blocks().bytes(number).unwrap().is_none()
    );
    for lent in lent {
        assert!(guard.blocks().sweep(8).unwrap().is_empty());
        assert_eq!((guard.blocks().free_units(), &*lent), (63, &b"bytes"[..]));
        guard.blocks().check().unwrap();
        drop(lent);
    }
    assert!(guard.blocks().sweep(8).unwrap().is_empty());
    assert_eq!(guard.blocks().free_units(), 64);
    guard.blocks().check().unwrap();
}

/// Who lies together with a block, as far as so many bytes need it.
#[test]
fn neighbours_are_told_with_their_names() {
    let store = store();
    // Units 0, 1, 2 and 3, and 4 to 6.
    let all = [1, 1, 1, 1, 3].map(|units| publish(&store, &vec![1; units * UNIT]).unwrap());
    let mut guard = store.lock();
    let mut blocks = guard.blocks();
    (10..).zip(all).for_each(|(name, number)| blocks.name(number, name).unwrap());
    let mut names = |of: usize, units: usize, nth: u32| {
        let around = blocks.around(all[of], units * UNIT, nth).unwrap();
        around.map(|around| around.iter().map(|(_, name)| *name).collect::<Vec<_>>())
    };
    assert_eq!(names(0, 1, 0), Some(vec![10]));
    assert_eq!(names(1, 2, 0), Some(vec![10, 11]));
    assert_eq!(names(1, 2, 1), Some(vec![12, 13]));
    assert_eq!(names(1, 3, 0), Some(vec![10, 11, 12, 13]), "as of four");
    assert_eq!(names(0, 5, 0), Some(vec![10, 11, 12, 13, 14]));
    assert_eq!(names(4, 2, 0), Some(vec![14]), "also where it ends behind that");
    assert_eq!(names(4, 2, 1), None, "one that begins before it is there");
    assert_eq!(names(3, 65, 0), None, "there is no such place");
    assert_eq!(names(0, 64, 1), None, "nor a second one");
    let lent = blocks.lend(all[0]).unwrap();
    assert!(blocks.around(all[1], 2 * UNIT, 0).unwrap().is_none(), "one is read");
    drop(lent);
    for (number, _) in blocks.around(all[1], 2 * UNIT, 0).unwrap().unwrap() {
        assert!(blocks.free(number).unwrap().is_none());
    }
    blocks.check().unwrap();
    assert_eq!(blocks.publish(&[&[2; 2 * UNIT]], &mut None).unwrap(), Some(all[1]));
    blocks.check().unwrap();
}

#[test]
fn what_nobody_reads_may_be_changed() {
    let store = store();
    let number = publish(&store, b"Monday").unwrap();
    let mut guard = store.lock();
    guard.blocks().bytes_mut(number).unwrap().unwrap()[..3].copy_from_slice(b"Fri");
    assert_eq!(guard.blocks().bytes(number).unwrap(), Some(&b"Friday"[..]));
}

#[test]
fn room_ends() {
    let store = store();
    assert_eq!(publish(&store, &[0; 65 * UNIT]), None);
    let whole = publish(&store, &[1; 64 * UNIT]);
    assert!(whole.is_some() && publish(&store, b"").is_none(), "no unit is left");
    store.lock().blocks().retire(whole.unwrap()).unwrap();
    assert_eq!(publish(&store, b""), None, "it has to be swept");
    assert!(store.lock().blocks().sweep(0).unwrap().is_empty());
    assert_eq!(publish(&store, b""), None, "nothing was");
    assert!(store.lock().blocks().sweep(1).unwrap().is_empty());
    let all: Vec<_> = (0..8).map(|_| publish(&store, b"").unwrap()).collect();
    assert_eq!(publish(&store, b""), None, "no block is left");
    let mut guard = store.lock();
    all.into_iter().for_each(|number| assert!(guard.blocks().retire(number).unwrap()));
    guard.blocks().sweep(3).unwrap();
    assert_eq!(guard.blocks().free_units(), 64 - 5);
    guard.blocks().sweep(u32::MAX).unwrap();
    assert_eq!(guard.blocks().free_units(), 64);
    guard.blocks().check().unwrap();
}

/// Many changes in an order that is as good as any other, beside a map that says what is there.
#[test]
fn a_store_is_like_a_map() {
    let store = store();
    let mut live = BTreeMap::new();
    let mut lent: Vec<(Lent, Vec<u8>)> = Vec::new();
    let mut random = 1_u64;
    for _ in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (what, drawn) = (random >> 61, (random >> 32) as usize % 1000);
        let mut guard = store.lock();
        let number = live.keys().nth(drawn % live.len().max(1)).copied();
        match (what, number) {
            (0..=2, _) => {
                let bytes = vec![drawn as u8; drawn];
                if let Some(number) = guard.blocks().publish(&[&bytes], &mut None).unwrap() {
                    assert!(live.insert(number, bytes).is_none());
                }
            }
            (3, Some(number)) => {
                assert!(guard.blocks().retire(number).unwrap());
                live.remove(&number);
            }
            (4, _) => _ = guard.blocks().sweep(2).unwrap(),
            (5, Some(number)) if lent.len() < 4 => {
                lent.push((guard.blocks().lend(number).unwrap().unwrap(), live[&number].clone()));
            }
            (6, _) if !lent.is_empty() => _ = lent.remove(drawn % lent.len()),
            (7, Some(number)) => {
                let pinned = lent.iter().any(|(lent, _)| lent.block() == number);
                let mut blocks = guard.blocks();
                let bytes = blocks.bytes_mut(number).unwrap();
                assert_eq!(bytes.is_none(), pinned);
                bytes.into_iter().for_each(|bytes| bytes.fill(7));
                if !pinned {
                    live.insert(number, vec![7; live[&number].len()]);
                }
            }
            _ => {}
        }
        guard.blocks().check().unwrap();
        for (number, bytes) in &live {
            assert_eq!(guard.blocks().bytes(*number).unwrap(), Some(&bytes[..]));
        }
        assert!(lent.iter().all(|(lent, bytes)| **lent == **bytes));
    }
}

const DEAD: u16 = 1;
const LIVES: u16 = 2;

/// What is pinned by one who lives stays, the pins of the dead are gone.
#[test]
fn a_store_that_somebody_died_with_is_empty() {
    let store = store();
    store.lock().words().fill(7);
    let [kept, limbo, lost, freed] = [b"kept", b"limb", b"lost", b"free"].map(|bytes| {
        let number = publish(&store, bytes).unwrap();
        let by = if bytes == b"kept" || bytes == b"limb" { LIVES } else { DEAD };
        store.mapping.pins(by, number).store(2, Relaxed);
        number
    });
    store.mapping.pins(DEAD, freed).store(0, Relaxed);
    let mut guard = store.lock();
    for number in [limbo, freed] {
        assert!(guard.blocks().retire(number).unwrap());
    }
    drop(guard);
    // He had begun to change something.
    store.mapping.lock().lock(Owner::of(DEAD).bits());
    let emptied = store.bury(&Dead::seen(DEAD)).unwrap();
    assert!(emptied.is_some_and(|descriptors| descriptors.is_empty()));
    let mut guard = store.lock();
    guard.blocks().check().unwrap();
    assert_eq!(guard.words(), [0; 4]);
    assert_eq!(
        [kept, limbo, lost, freed].map(|n| guard.blocks().is_pinned(n)),
        [true, true, false, false]
    );
    assert_eq!(guard.blocks().free_units(), 62);
    guard.blocks().sweep(8).unwrap();
    assert_eq!(guard.blocks().free_units(), 62, "they are read");
    let place = guard.blocks().parts().reserve(1).unwrap();
    assert!(place.is_some_and(|(number, _)| number != kept && number != limbo));
    drop(guard);
    for number in [kept, limbo] {
        store.mapping.pins(LIVES, number).store(0, Relaxed);
    }
    store.lock().blocks().sweep(8).unwrap();
    assert_eq!(free_units(&store), 63);
}

#[test]
fn a_store_that_somebody_died_without_stays() {
    let store = store();
    let number = publish(&store, b"bytes").unwrap();
    store.mapping.pins(DEAD, number).store(1, Relaxed);
    assert!(store.bury(&Dead::seen(DEAD)).unwrap().is_none());
    let mut guard = store.lock();
    assert!(!guard.blocks().is_pinned(number));
    assert_eq!(guard.blocks().bytes(number).unwrap(), Some(&b"bytes"[..]));
    guard.blocks().check().unwrap();
}

/// The table says of a block what cannot be.
#[test]
fn nonsense_leads_to_no_memory() {
    // Which four bytes of a block, and what they say.
    let rows = [(0, 3), (0, u32::MAX), (2, 64), (2, u32::MAX), (3, 0), (3, 65), (4, 65), (5, 1)];
    for (field, nonsense) in rows {
        let store = store();
        let number = publish(&store, &[1; UNIT]).unwrap();
        let mut guard = store.lock();
        let mut blocks = guard.blocks();
        let block = &mut blocks.parts().blocks[number as usize];
        // SAFETY: a block is eight such fields, and any bits are good for one.
        let fields = unsafe { &mut *std::ptr::from_mut::<Block>(block).cast::<[u32; 8]>() };
        fields[field] = nonsense;
        assert!(guard.blocks().check().is_err(), "{field} {nonsense}");
        assert!(guard.blocks().bytes(number).is_err());
        assert!(guard.blocks().bytes_mut(number).is_err());
        assert!(guard.blocks().lend(number).is_err());
        assert!(guard.blocks().retire(number).is_err());
    }
    let store = store();
    let mut guard = store.lock();
    for number in [8, u32::MAX] {
        assert!(guard.blocks().bytes(number).is_err() && guard.blocks().retire(number).is_err());
        assert!(guard.blocks().lend(number).is_err());
    }
}
