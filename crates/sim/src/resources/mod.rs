//! What tasks wait for, a file each. None of them knows what a web server is.

pub mod cores;
pub mod disk;
pub mod links;
pub mod locks;
pub mod memory;
pub mod queues;
pub mod row;
