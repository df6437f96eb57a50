//! What a process gives up, and hosts that are made of one machine.

pub mod calls;
pub mod landlock;
pub mod namespace;
pub mod seccomp;
pub mod tun;
