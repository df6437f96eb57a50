//! The simulator: machines that nobody has at hand, and the architectures on them.
//!
//! It reads no clock and no file. Time is integer nanoseconds, chance comes from seeded streams, so
//! the same seed gives the same bytes. A [`Simulation`](simulation::Simulation) is a machine
//! ([`world`]) of [`resources`], and tasks, whose programs read as those of the servers do.
#![forbid(unsafe_code)]

pub mod agenda;
pub mod classes;
pub mod clients;
pub mod crew;
pub mod footprint;
pub mod models;
pub mod parameters;
pub mod point;
pub mod resources;
pub mod run;
pub mod scenario;
pub mod server;
pub mod simulation;
pub mod task;
pub mod warm;
pub mod world;

pub use cache::PolicyKind;
