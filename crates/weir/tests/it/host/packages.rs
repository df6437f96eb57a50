//! The Debian package, built and installed as docs/host.md says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::Need;
use tempfile::TempDir;

/// Of the source, where the scripts are.
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
#[ignore = "compiles everything once more; WEIR_TESTS=full .ci/run runs it"]
fn the_package_serves_as_it_is_installed() {
    let [deb, objcopy, curl] = ["dpkg-deb", "objcopy", "curl"].map(Need::Program);
    if harness::lacks(&[Need::Root, deb, objcopy, curl]) {
        return;
    }
    let out = TempDir::new().expect("a directory");
    // The sooner one, because it is not measured here; without assertions, as users have it.
    let mut build = Command::new(script("build.sh"));
    build.env("PROFILE", "dev").env("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", "false");
    said(build.arg(out.path()));
    let made = out.path().read_dir().expect("what was built").filter_map(Result::ok);
    let is_package = |path: &PathBuf| path.extension().is_some_and(|of| of == "deb");
    let package = made.map(|made| made.path()).find(is_package).expect("a package");
    let tried = said(Command::new(script("try.sh")).arg(package));
    assert!(tried.ends_with("installed, served and removed\n"), "{tried}");
}

fn script(name: &str) -> PathBuf {
    Path::new(SOURCE).join("packaging").join(name)
}

/// What a command that has to do what it is for says.
fn said(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = harness::output(command).expect("a command");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}: {status}\n{stdout}{stderr}");
    stdout.into_owned()
}
