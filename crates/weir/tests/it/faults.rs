//! What goes wrong in operation: workers that die, signals, files that change while they are sent,
//! descriptors that run out, clients that are slow, operators who mistype. Every test runs on every
//! architecture that the binary lists; with every poller on those whose loops others share.

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
mod workers;
