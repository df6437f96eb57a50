//! See `fuzz::forwarded`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::forwarded(data));
