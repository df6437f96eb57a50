//! What the fuzz targets check, without a fuzzing engine: each function takes arbitrary bytes and
//! panics where a promise is broken.
#![forbid(unsafe_code)]

mod accept;
mod body;
mod clf;
mod client;
mod connection;
mod credentials;
mod dates;
mod forwarded;
mod head;
mod hints;
mod path;
mod proxy;
mod range;
mod records;
mod replay;
mod report;
mod results;
mod urls;
mod wsesslog;

pub use accept::accept;
pub use body::body;
pub use clf::clf;
pub use client::client;
pub use connection::connection;
pub use credentials::credentials;
pub use dates::dates;
pub use forwarded::forwarded;
pub use head::head;
pub use hints::hints;
pub use path::path;
pub use proxy::proxy;
pub use range::range;
pub use records::records;
pub use report::report;
pub use results::results;
pub use urls::urls;
pub use wsesslog::wsesslog;
