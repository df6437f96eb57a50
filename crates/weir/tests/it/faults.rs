//! What goes wrong in operation: workers that die, signals, files that change while they are sent,
//! descriptors that run out, clients that are slow, operators who mistype. A test runs on one
//! architecture for each mechanism and on two more, or on each of them where they differ in what it
//! is about (`support/chosen.rs`).

mod closing;
mod descriptors;
mod fibers;
mod files;
mod handover;
mod kills;
mod limits;
mod logs;
mod number;
mod numbers;
mod operator;
mod outputs;
mod reload;
mod room;
mod sharing;
mod signals;
mod slow;
mod stage_threads;
mod stages;
mod starts;
mod unreadable;
mod workers;
