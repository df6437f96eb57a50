//! See `fuzz::connection`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::connection(data));
