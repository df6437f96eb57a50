//! The corpora of the fuzz targets, and the site of the examples.
#![forbid(unsafe_code)]

mod corpora;
mod site;
