//! What the fuzz targets check, without a fuzzing engine: each function takes arbitrary bytes and
//! panics where a promise is broken.
#![forbid(unsafe_code)]

mod body;
mod client;
mod connection;
mod head;
mod path;
mod proxy;
mod range;

pub use body::body;
pub use client::client;
pub use connection::connection;
pub use head::head;
pub use path::path;
pub use proxy::proxy;
pub use range::range;
