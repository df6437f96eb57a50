//! See `fuzz::urls`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::urls(data));
