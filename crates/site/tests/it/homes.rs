//! What users' directories tell of accounts.

#[path = "../../../os/tests/it/nobody/mod.rs"]
mod nobody;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::counter::{Counter, host};
use site::rules::Effect;

const FILES: &[(&str, &str)] = &[
    ("home/open/www/index.html", "open"),
    ("home/open/www/closed.html", "closed"),
    ("home/shut/www/index.html", "shut"),
    ("home/half/www/index.html", "half"),
];

/// Whoever asks does not learn which accounts there are (CVE-2001-1013).
#[test]
fn a_home_that_is_closed_is_one_that_there_is_not() {
    let counter = Counter::new(FILES, |place| {
        let at = place.display();
        let line = |name| format!("{name}:x:1000:1::{at}/home/{name}:/bin/sh\n");
        // The kernel is never asked for a path with NUL: a fault like that of a disk that is gone.
        let ill = format!("ill:x:1000:1::{at}/home/\0:/bin/sh\n");
        let table = ["open", "shut", "half", "none"].map(line).concat();
        fs::write(place.join("passwd"), table + &ill).unwrap();
        let modes = [
            ("", 0o755),
            ("home/open/www/closed.html", 0o000),
            ("home/shut", 0o000),
            ("home/half/www", 0o000),
        ];
        for (name, mode) in modes {
            fs::set_permissions(place.join(name), Permissions::from_mode(mode)).unwrap();
        }
        vec![host(&["a"], vec![("/", Effect::UserDirectories("www".into()))])]
    });
    let rows = [
        ("/~open/", 200),
        ("/~open", 301),
        ("/~open/closed.html", 404),
        ("/~shut/", 404),
        ("/~shut", 404),
        ("/~shut/x/y", 404),
        ("/~half/", 404),
        ("/~half/x", 404),
        ("/~none/", 404),
        ("/~ill/", 404),
        ("/~ill/x", 404),
        ("/~nosuch/", 404),
    ];
    for (path, status) in rows {
        let reply = nobody::act(|| counter.get("a", path));
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {reply}");
    }
    // Or only root could remove them.
    for name in ["home/shut", "home/half/www"] {
        let directory = counter.place.path().join(name);
        fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    }
}
