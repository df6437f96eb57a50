//! What the fuzz targets check, without a fuzzing engine: each function takes arbitrary bytes and
//! panics where a promise is broken.
#![forbid(unsafe_code)]

mod path;
mod range;

pub use path::path;
pub use range::range;
