//! Roots behind links that a deploy swaps.

use std::fs;
use std::os::unix::fs::symlink;

use site::releases;

#[test]
fn a_deploy_swaps_its_link_within_one_directory() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::create_dir_all(home.join("app/releases/1/public")).unwrap();
    fs::create_dir_all(home.join("away")).unwrap();
    symlink("releases/1", home.join("app/current")).unwrap();
    symlink("../away", home.join("app/out")).unwrap();
    symlink("gone", home.join("app/broken")).unwrap();
    let rows = [
        ("app/current", Some("app")),
        ("app/current/public", Some("app")),
        ("app/releases/1", None),
        ("app/out", None),
        ("app/broken", None),
        ("app/none", None),
    ];
    for (root, expected) in rows {
        let expected = expected.map(|place| home.join(place));
        assert_eq!(releases(&home.join(root)), expected, "{root}");
    }
}
