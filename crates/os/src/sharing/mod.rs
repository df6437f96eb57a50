//! What processes share that are one server: a table of descriptors, and memory for what they have
//! in their cache.
//!
//! One process, the keeper, makes both and starts the others, which have memory of their own beside
//! it ([`Members`]). Each may die at any instruction, by SIGKILL too, and the others go on: the
//! keeper, which serves nobody, buries it, and is back where it was. When the keeper itself ends
//! all of them have to ([`crate::process::die_with_parent`]).
//!
//! The keeper, in this order:
//!
//! 1. [`crate::process::SingleThreaded::counted`], while there is a /proc to be seen;
//! 2. opens what all of them use, [`descriptors::share`] and [`Store::new`];
//! 3. [`Members::start`] for each;
//! 4. when one has ended, [`Members::dead`], and with what that returns [`descriptors::bury`] and
//!    [`Store::bury`]; [`Orphans::look`], and [`Orphans::step`] until it says that all is done; and
//!    starts another of that number.
//!
//! What becomes of a process that dies in the midst of something stands where that is done: at the
//! lock, at the store, at the descriptors and at [`Orphans`].

mod bits;
mod blocks;
mod descriptor;
pub mod descriptors;
mod lent;
mod lock;
mod mapping;
mod members;
mod orphans;
mod owner;
#[doc(hidden)]
pub mod stops;
mod store;
mod sync;

pub use blocks::{Corrupt, UNIT};
pub use descriptor::Descriptor;
pub use lent::Lent;
pub use mapping::Shape;
pub use members::Members;
pub use orphans::Orphans;
pub use owner::{Dead, me};
pub use store::{Blocks, Guard, Store};
