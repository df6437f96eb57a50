//! See `fuzz::wsesslog`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::wsesslog(data));
