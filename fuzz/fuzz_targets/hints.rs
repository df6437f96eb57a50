//! See `fuzz::hints`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::hints(data));
