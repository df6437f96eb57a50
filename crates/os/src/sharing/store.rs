//! What processes have in common: words of the user's, and blocks of bytes with or without an open
//! file, guarded by one lock.
//!
//! Whoever finds a block with the lock pins it, and reads it without ([`Lent`]). Pins are counted
//! for each process in a row of its own, and nowhere else: a count of all could not be mended when
//! one of them dies, as nobody knows whether it had counted already. A block that is retired is in
//! limbo until no row pins it.
//!
//! Who dies, and when, and what the keeper does ([`Store::bury`]):
//!
//! - without the lock: his pins are gone with his row. Nothing else is his. What he had swept is
//!   his as every descriptor is, and closed as such.
//! - with the lock: nobody can know how far he was with what he changed. So the words and the table
//!   are made anew with nothing in them, which is whole. What others have pinned stays where it is,
//!   in limbo: they read it to its end.
//!
//! A block that is pinned by one who lives was whole before he got the lock, so nothing of it can
//! be half done; only which list it is in, and that is made anew.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::blocks::{Corrupt, Parts};
use super::descriptor::{Descriptor, is_in_cache};
use super::lent::Lent;
use super::mapping::{Mapping, Shape};
use super::owner::{self, Dead, KEEPER, Owner};
use super::stops::{self, Stop};
use crate::process;
use crate::processes::alone;

/// Memory that the keeper makes and those that it starts have, too.
#[derive(Debug, Clone)]
pub struct Store {
    mapping: Arc<Mapping>,
}

/// The status of a process that ends as it has panicked: that of Rust's own.
const PANICKED: i32 = 101;

/// The store while nobody else has it.
///
/// A process that panics meanwhile ends at once, so that it dies with the lock.
pub struct Guard<'s> {
    mapping: &'s Arc<Mapping>,
    by: u16,
    /// It is let go by the thread that has it.
    is_here: PhantomData<*const ()>,
}

/// The blocks of a store that is locked.
pub struct Blocks<'g> {
    mapping: &'g Arc<Mapping>,
    of: PhantomData<&'g mut ()>,
}

impl Store {
    /// An empty one: all words are zero, all units free. This process does not fork any more.
    ///
    /// # Errors
    /// The machine has not that much memory; `InvalidInput` for no block, no unit, or more than
    /// there are addresses for.
    pub fn new(shape: &Shape) -> io::Result<Self> {
        let store = Self { mapping: Arc::new(Mapping::new(shape)?) };
        alone::shares_from_now_on();
        store.lock().blocks().parts().give_all();
        Ok(store)
    }

    /// How large it is.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.mapping.shape()
    }

    /// Waits until nobody else has it. A thread that has it already waits for ever.
    #[must_use]
    pub fn lock(&self) -> Guard<'_> {
        let by = owner::number();
        self.mapping.lock().lock(Owner::of(by).bits());
        stops::here(Stop::Locked);
        Guard { mapping: &self.mapping, by, is_here: PhantomData }
    }

    /// The lock, if nobody has it at present: for the keeper, who must not wait for one that may be
    /// dead with it, as it is the keeper who mends that.
    #[must_use]
    pub fn try_lock(&self) -> Option<Guard<'_>> {
        let by = owner::number();
        let taken = self.mapping.lock().take(Owner::of(by).bits(), 0);
        taken.then(|| Guard { mapping: &self.mapping, by, is_here: PhantomData })
    }

    /// Clears up behind a process that has died: its pins are gone, and if it had the lock, so is
    /// all that was in the store; then the descriptors of that are returned, to be closed.
    ///
    /// # Errors
    /// What others read makes no sense. The lock stays the keeper's then: all of them have to end.
    ///
    /// # Panics
    /// The store is not made for so many.
    pub fn bury(&self, dead: &Dead<'_>) -> Result<Option<Vec<Descriptor>>, Corrupt> {
        for block in 0..self.shape().blocks {
            let pins = self.mapping.pins(dead.number(), block);
            // Most are zero, and stay pages that nobody has written to.
            if pins.load(Relaxed) != 0 {
                pins.store(0, Relaxed);
            }
        }
        let lock = self.mapping.lock();
        let was_locked = lock.take_from(Owner::of(dead.number()).bits(), Owner::me().bits());
        let emptied = was_locked.then(|| {
            let mut guard = Guard { mapping: &self.mapping, by: KEEPER, is_here: PhantomData };
            let rebuilt = guard.rebuild();
            match rebuilt {
                Ok(_) => drop(guard),
                Err(_) => std::mem::forget(guard),
            }
            rebuilt
        });
        // One that was to wake another, or was woken, may have died before it did.
        lock.wake_all();
        emptied.transpose()
    }
}

impl Guard<'_> {
    /// The user's own words: what blocks there are is found by them.
    pub fn words(&mut self) -> &mut [u64] {
        self.split().0
    }

    /// The blocks.
    pub fn blocks(&mut self) -> Blocks<'_> {
        self.split().1
    }

    /// Both at once.
    pub fn split(&mut self) -> (&mut [u64], Blocks<'_>) {
        assert!(self.by == owner::number(), "what one process has locked is no other's");
        // SAFETY: the process has the lock for as long as there is `self`, of which there is one,
        // and which is borrowed for as long as what is returned.
        (unsafe { self.mapping.words() }, Blocks { mapping: self.mapping, of: PhantomData })
    }

    fn rebuild(&mut self) -> Result<Vec<Descriptor>, Corrupt> {
        let (words, mut blocks) = self.split();
        words.fill(0);
        let mapping = blocks.mapping;
        let kept = blocks.parts().rebuild(|number| is_pinned(mapping, number))?;
        Ok(Descriptor::all_from_cache(&kept))
    }
}

impl Blocks<'_> {
    /// Units that no block has.
    pub fn free_units(&mut self) -> u32 {
        self.parts().free_units()
    }

    /// Makes a block of these bytes, one part behind the other, and of a file, which is taken and
    /// belongs to all from now on. Its number, below [`Shape::blocks`]; `None`: there is no room,
    /// and the file is left where it is. Others have to be retired and swept, then.
    ///
    /// # Errors
    /// The table makes no sense.
    ///
    /// # Panics
    /// There is a file, and processes do not share their table of descriptors.
    pub fn publish(
        &mut self,
        parts: &[&[u8]],
        file: &mut Option<Descriptor>,
    ) -> Result<Option<u32>, Corrupt> {
        let length = parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.len()));
        let Some(length) = length else { return Ok(None) };
        let Some((number, (at, length))) = self.parts().reserve(length)? else { return Ok(None) };
        let place = self.mapping.bytes(at, length).ok_or(Corrupt("room beyond the arena"))?;
        let mut to = place.cast::<u8>();
        for part in parts {
            // SAFETY: all parts together are as long as the place, which no other block has, and so
            // nobody reads; they are not in it.
            unsafe {
                to.copy_from_nonoverlapping(std::ptr::NonNull::from(*part).cast(), part.len());
                to = to.add(part.len());
            }
        }
        stops::here(Stop::Copied);
        let descriptor = file.take().map(Descriptor::into_cache);
        stops::here(Stop::Given);
        self.parts().enliven(number, descriptor);
        stops::here(Stop::Published);
        Ok(Some(number))
    }

    /// The bytes of a live block; `None`: it is not live.
    ///
    /// # Errors
    /// The table makes no sense.
    pub fn bytes(&mut self, number: u32) -> Result<Option<&[u8]>, Corrupt> {
        let Some(((at, length), _)) = self.parts().live(number)? else { return Ok(None) };
        let bytes = self.mapping.bytes(at, length).ok_or(Corrupt("a block beyond the arena"))?;
        // SAFETY: they were written before the block was live. With the lock, which `self` has, the
        // block stays so, and nobody writes to them.
        Ok(Some(unsafe { bytes.as_ref() }))
    }

    /// The bytes of a live block, to change some of them; `None`: it is not live, or somebody reads
    /// them.
    ///
    /// # Errors
    /// The table makes no sense.
    pub fn bytes_mut(&mut self, number: u32) -> Result<Option<&mut [u8]>, Corrupt> {
        let Some(((at, length), _)) = self.parts().live(number)? else { return Ok(None) };
        if self.is_pinned(number) {
            return Ok(None);
        }
        let mut bytes =
            self.mapping.bytes(at, length).ok_or(Corrupt("a block beyond the arena"))?;
        // SAFETY: as above. Nobody has pinned it, nor can while `self` is borrowed, so that nobody
        // reads them.
        Ok(Some(unsafe { bytes.as_mut() }))
    }

    /// Pins a block, so that it can be read without the lock; `None`: it is not live.
    ///
    /// # Errors
    /// The table makes no sense.
    pub fn lend(&mut self, number: u32) -> Result<Option<Lent>, Corrupt> {
        let Some(((at, length), descriptor)) = self.parts().live(number)? else { return Ok(None) };
        if descriptor.is_some_and(|number| !is_in_cache(number)) {
            return Err(Corrupt("a descriptor of somebody else"));
        }
        let bytes = self.mapping.bytes(at, length).ok_or(Corrupt("a block beyond the arena"))?;
        // SAFETY: `self` has the lock, and the block is live, with these.
        let lent = unsafe { Lent::new(self.mapping, number, bytes, descriptor) };
        stops::here(Stop::Lent);
        Ok(Some(lent))
    }

    /// Whether somebody reads it: any of the processes.
    ///
    /// # Panics
    /// There is no such block.
    #[must_use]
    pub fn is_pinned(&self, number: u32) -> bool {
        is_pinned(self.mapping, number)
    }

    /// Calls a live block so. What is new has no name, which is 0.
    ///
    /// # Errors
    /// The table makes no sense, or it is not live.
    pub fn name(&mut self, number: u32, name: u32) -> Result<(), Corrupt> {
        *self.parts().name_mut(number)? = name;
        Ok(())
    }

    /// Who has to go so that so many bytes find room together where a live block lies, or so many
    /// places behind it (`nth`), counted around: all blocks there with their names. Nothing where
    /// one of them is read or nobody's to find, or there is no such place.
    ///
    /// # Errors
    /// The table makes no sense.
    pub fn around(
        &mut self,
        number: u32,
        length: usize,
        nth: u32,
    ) -> Result<Option<Vec<(u32, u32)>>, Corrupt> {
        let mapping = self.mapping;
        let mut parts = self.parts();
        let Some(all) = parts.around(number, length, nth)? else { return Ok(None) };
        let mut named = Vec::with_capacity(all.len());
        for number in all {
            if is_pinned(mapping, number) || parts.live(number)?.is_none() {
                return Ok(None);
            }
            named.push((number, *parts.name_mut(number)?));
        }
        Ok(Some(named))
    }

    /// Makes a live block that nobody reads free at once; its descriptor is as in [`Self::sweep`].
    ///
    /// # Errors
    /// The table makes no sense, or it is not live.
    ///
    /// # Panics
    /// Somebody reads it.
    pub fn free(&mut self, number: u32) -> Result<Option<Descriptor>, Corrupt> {
        assert!(!self.is_pinned(number), "a block that nobody reads");
        let Some(descriptor) = self.parts().free(number)? else { return Ok(None) };
        let descriptor = Descriptor::from_cache(descriptor);
        descriptor.map(Some).ok_or(Corrupt("a descriptor of somebody else"))
    }

    /// Nobody finds it any more; `false`: nobody did before. Its place, and its file, are free when
    /// it is swept.
    ///
    /// # Errors
    /// The table makes no sense.
    pub fn retire(&mut self, number: u32) -> Result<bool, Corrupt> {
        self.parts().retire(number)
    }

    /// Makes free what was retired and nobody reads, having looked at `most` blocks at most, those
    /// first that have waited longest. The descriptors are the caller's now: they are to be
    /// dropped when the lock is, as closing may take its time.
    ///
    /// # Errors
    /// The table makes no sense.
    pub fn sweep(&mut self, most: u32) -> Result<Vec<Descriptor>, Corrupt> {
        let mut swept = Vec::new();
        let mapping = self.mapping;
        self.parts().sweep(
            most,
            |number| is_pinned(mapping, number),
            |descriptor| {
                let descriptor = Descriptor::from_cache(descriptor);
                swept.push(descriptor.ok_or(Corrupt("a descriptor of somebody else"))?);
                Ok(())
            },
        )?;
        Ok(swept)
    }

    /// Whether all that the store keeps of itself fits together; looks at everything.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&mut self) -> Result<(), Corrupt> {
        let mapping = self.mapping;
        self.parts().check(|number| is_pinned(mapping, number), is_in_cache)
    }

    fn parts(&mut self) -> Parts<'_> {
        // SAFETY: the process has the lock for as long as there is `self`, of which there is one,
        // and which is borrowed for as long as what is returned.
        unsafe { self.mapping.parts() }
    }
}

fn is_pinned(mapping: &Mapping, number: u32) -> bool {
    // Acquired: who has let go of it has read it.
    (0..=mapping.shape().members).any(|row| mapping.pins(row, number).load(Acquire) != 0)
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // What it has changed may be half done; only a death has the keeper mend that.
            process::exit(PANICKED);
        }
        if self.by == owner::number() {
            self.mapping.lock().unlock(Owner::of(self.by).bits());
        }
    }
}

#[cfg(test)]
mod tests;
