//! Runs tests one after the other in a process with a single thread, which is what forking, taking
//! signals and lowering limits want. An argument picks the tests whose names contain it.

pub(crate) type Tests<'t> = &'t [(&'t str, fn())];

/// Returns how many were picked.
pub(crate) fn run(tests: Tests<'_>) -> usize {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let picked: Vec<_> = tests.iter().filter(|(name, _)| name.contains(&wanted)).collect();
    for (name, test) in &picked {
        println!("test {name} ...");
        // One that fails panics, and the process says so by its exit status.
        test();
        println!("test {name} ... ok");
    }
    picked.len()
}
