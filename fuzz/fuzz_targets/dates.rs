//! See `fuzz::dates`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::dates(data));
