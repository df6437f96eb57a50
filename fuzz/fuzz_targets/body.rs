//! See `fuzz::body`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::body(data));
