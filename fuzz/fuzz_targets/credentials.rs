//! See `fuzz::credentials`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::credentials(data));
