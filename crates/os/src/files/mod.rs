//! Files: opened, read, looked up, written to as logs are.

mod directory;
mod file;
pub mod output;
pub mod page_cache;
mod stat;

pub use directory::{Directory, Entry, Opened};
pub use file::{File, read_file};
pub use output::Output;
pub use stat::{Kind, Stat};
