//! The lab: plans and pages of made-up figures; testbeds and profiles on this machine.
#![forbid(unsafe_code)]

mod hosts;
mod machine;
mod plans;
mod profile;
mod results;
mod said;
mod testbed;
mod testbed_delay;
mod testbed_limits;
mod testbed_syns;
mod testbed_wire;
mod vitals;
