//! The example site's precompressed siblings hold what the files beside them hold: who edits a file
//! and forgets its siblings would see the change in no browser.

use std::{fs, path::Path, process::Command};

#[test]
fn siblings_are_fresh() {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/site");
    for file in ["css/site.css", "js/parts.js", "js/site.js"] {
        let packed = site.join(format!("{file}.gz"));
        let output =
            harness::output(Command::new("gzip").arg("-dc").arg(&packed)).expect("gzip runs");
        let plain = fs::read(site.join(file)).expect("it can be read");
        assert!(output.stdout == plain, "{file}: make its .gz and its .br anew");
        assert!(site.join(format!("{file}.br")).exists(), "{file} has no .br");
    }
}
