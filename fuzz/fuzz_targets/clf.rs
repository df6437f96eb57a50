//! See `fuzz::clf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::clf(data));
