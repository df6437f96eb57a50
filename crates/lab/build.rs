//! Tells the lab by which profile of Cargo it is built, because its pages say which one they
//! measured. Cargo itself tells build scripts only whether a profile inherits `dev` or `release`.

use std::path::Path;

fn main() {
    // TARGET/PROFILE/build/...
    let out = std::env::var("OUT_DIR").expect("Cargo sets it");
    let is_build = |directory: &&Path| directory.file_name().is_some_and(|name| name == "build");
    let build = Path::new(&out).ancestors().find(is_build);
    let directory = build.and_then(Path::parent).and_then(Path::file_name);
    let directory = directory.and_then(|name| name.to_str());
    let profile = match directory.expect("a directory of the profile") {
        "debug" => "dev",
        name => name,
    };
    println!("cargo:rustc-env=BUILD_PROFILE={profile}");
    println!("cargo:rerun-if-changed=build.rs");
}
