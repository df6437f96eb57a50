//! Bytes of the heap that are in use.

/// What `make` makes, and how many bytes live on that were not there before. What is made of
/// handles has no share in what they point to.
pub(crate) fn live_bytes<T>(make: impl FnOnce() -> T) -> (T, f64) {
    let mut made = None;
    let seen = allocation_counter::measure(|| made = Some(make()));
    (made.expect("it was called"), seen.bytes_current as f64)
}

/// What `run` gives. Counting takes some nanoseconds for each allocation, and they would be laid to
/// the charge of caches that allocate for each entry.
pub(crate) fn uncounted<T>(run: impl FnOnce() -> T) -> T {
    let mut given = None;
    allocation_counter::opt_out(|| given = Some(run()));
    given.expect("it was called")
}
