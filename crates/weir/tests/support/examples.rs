//! Examples of the workspace, which tests run as servers.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// An example of another crate, built in the profile of this test.
///
/// All examples of the workspace are built at once, as `cargo test --workspace` has built them:
/// for one package alone Cargo would choose other features and compile its dependencies again.
pub(crate) fn example(name: &str) -> PathBuf {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build_examples).as_ref().expect("the examples do not build").join(name)
}

/// Where the examples are, or `None` if they do not build, which no other test tries again.
fn build_examples() -> Option<PathBuf> {
    let profile_dir = Path::new(env!("CARGO_BIN_EXE_weir")).parent().expect("a directory");
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--quiet", "--offline", "--workspace", "--examples", "--profile", profile])
        .arg("--target-dir")
        .arg(profile_dir.parent().expect("a target directory"))
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let built = harness::output(&mut build).expect("cargo runs");
    eprint!("{}", String::from_utf8_lossy(&built.stderr));
    built.status.success().then(|| profile_dir.join("examples"))
}
