//! See `fuzz::proxy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::proxy(data));
