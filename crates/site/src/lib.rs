//! What is served: the files beneath roots, the rules about hosts and paths, and the answers made
//! of them.
//!
//! The work falls apart into what reads memory and what may touch the disk, because architectures
//! put these in different places:
//!
//! 1. [`Site::find`] reads memory only, and answers from the cache or says what is to be loaded. Of
//!    a file that is sent from its descriptor it asks the kernel whether it has changed.
//! 2. [`Site::open`] asks the disk; any thread may do it, for as long as it takes.
//! 3. [`Site::keep`] puts what was opened into the cache and answers with it; memory only again.
//!
//! [`Site::load`] is 2 and 3 at once, and [`Site::compare`] as much of it as needs no disk: whoever
//! must not wait tries it first. A cached answer is compared with the disk again when it has
//! come of age ([`Settings::answer_age`]). What the comparison finds unchanged is kept without
//! being read again. One client waits for it, and the others get the old answer meanwhile.
//!
//! What asks for a password that nobody has verified of late comes before these two: a
//! [`Verification`], which takes a processor for long and touches no disk.
//!
//! Rules ([`rules`]) become one ruling for each set of them that a path can have, when the site is
//! made; a request is led to its ruling by its host, the longest prefix of its path and, where
//! rules ask for it, the ending of its name.
//!
//! This crate never touches a socket and never reads a clock.
#![forbid(unsafe_code)]

mod answers;
mod asked;
mod commons;
mod deploy;
mod disk;
mod entries;
mod guard;
mod hints;
mod homes;
mod hosts;
mod judge;
mod kinds;
mod listing;
mod mime;
mod names;
pub mod path;
mod plan;
mod redirect;
mod refused;
pub mod rules;
mod ruling;
mod settings;
mod shard;
mod site;
mod sources;
mod statistics;
mod sync;
mod validators;
mod zones;

pub use asked::Asked;
pub use deploy::releases;
pub use guard::{Verification, credentials};
pub use hints::{HINTS_MAX, Hints, Missing};
pub use hosts::{COUNTED_HOSTS_MAX, UNCOUNTED};
pub use judge::{at as judge_at, rule as judge};
pub use plan::{Applied, Unreached};
pub use refused::Hint;
pub use rules::Rules;
pub use settings::{Error, Settings};
pub use site::{Opening, Site};
pub use statistics::Statistics;
