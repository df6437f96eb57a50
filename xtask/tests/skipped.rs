//! The last test program of the workspace: says which tests were skipped, and what would let them
//! run. It fails only if it cannot read the record.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use harness::Skip;

fn main() -> ExitCode {
    // This program has no tests of its own to list.
    if std::env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    match harness::recorded() {
        Ok(skips) => {
            print!("{}", summary(&skips));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the record of skipped tests cannot be read: {error}");
            ExitCode::FAILURE
        }
    }
}

fn summary(skips: &[Skip]) -> String {
    let tests: BTreeSet<&str> = skips.iter().map(|skip| &*skip.test).collect();
    if tests.is_empty() {
        return String::from("\nNo test was skipped.\n");
    }
    let mut by_reason = BTreeMap::<&str, BTreeSet<&str>>::new();
    for skip in skips {
        by_reason.entry(&skip.why).or_default().insert(&skip.test);
    }
    let mut text = format!("\n{} tests were skipped:\n", tests.len());
    for (why, tests) in &by_reason {
        text += &format!("  {why}\n");
        text.extend(tests.iter().map(|test| format!("    {test}\n")));
    }
    let packages: BTreeSet<&str> =
        skips.iter().flat_map(|skip| &skip.packages).map(String::as_str).collect();
    if !packages.is_empty() {
        let packages: Vec<&str> = packages.into_iter().collect();
        text += &format!("To run them: apt-get install {}\n", packages.join(" "));
    }
    if by_reason.keys().any(|why| why.starts_with("needs root")) {
        text += "Some of them need root: run the tests as root.\n";
    }
    text
}
