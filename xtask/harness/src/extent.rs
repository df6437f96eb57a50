//! How much is tested: at each change, or before an issue is closed.

/// Set to `full`, it makes each test run whole.
const TESTS: &str = "WEIR_TESTS";

/// Whether each test is to run whole, also where that takes long: on every architecture, for
/// example.
///
/// # Panics
/// The variable `WEIR_TESTS` is set to anything but `full`.
#[must_use]
pub fn is_full() -> bool {
    let tests = std::env::var_os(TESTS);
    let is_valid = tests.as_ref().is_none_or(|tests| tests == "full");
    assert!(is_valid, "{TESTS}={tests:?} is refused: it is full, or not set");
    tests.is_some()
}
