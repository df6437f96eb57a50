//! Users: whom a name stands for, and that nobody comes back.

use std::io::ErrorKind;
use std::path::Path;

use os::process::{self, Exit, Fork};
use os::users::{self, User};

const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\n\
     # a comment\n\
     broken:x:many:7::/:\n\
     short:x:5\n\
     web:x:33:34:www:/var/www:/bin/false\n\
     1234:x:9:9::/:\n";
const NO_TABLE: &str = "/no/such/table";
const GROUP: &str = "root:x:0:\nbroken:x:many:\nadm:x:4:web,root\nweb:x:34:\n";

pub(crate) fn a_name_or_a_number_stands_for_a_user() {
    let table = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(table.path(), PASSWD).unwrap();
    let rows = [
        ("root", Some((0, Some(0)))),
        ("web", Some((33, Some(34)))),
        ("33", Some((33, Some(34)))),
        ("1234", Some((1234, None))),
        ("4000000000", Some((4_000_000_000, None))),
        ("broken", None),
        ("short", None),
        ("webb", None),
        ("", None),
        ("-1", None),
        ("+33", None),
        ("4294967295", None),
        ("99999999999", None),
    ];
    for (name, expected) in rows {
        let found = users::user(table.path(), name);
        let expected = expected.map(|(uid, gid)| User { uid, gid });
        let told = found.map_err(|e| e.kind());
        assert_eq!(told, expected.ok_or(ErrorKind::NotFound), "{name:?}");
    }
    let nobody = Some(User { uid: 65_534, gid: None });
    assert_eq!(users::user(Path::new(NO_TABLE), "65534").ok(), nobody, "an image has no table");
    let refused = users::user(Path::new(NO_TABLE), "web").expect_err("no table");
    assert!(refused.raw_os_error().is_some(), "{refused:?} is not of a row");
    std::fs::write(table.path(), b"one:x:8:8:J\xfcrgen:/:\nweb:x:33:34::/:\n").unwrap();
    assert_eq!(users::user(table.path(), "web").map(|user| user.uid).ok(), Some(33));
}

pub(crate) fn a_name_or_a_number_stands_for_a_group() {
    let table = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(table.path(), GROUP).unwrap();
    let rows =
        [("adm", Some(4)), ("web", Some(34)), ("77", Some(77)), ("broken", None), ("", None)];
    for (name, expected) in rows {
        let told = users::group(table.path(), name).map_err(|e| e.kind());
        assert_eq!(told, expected.ok_or(ErrorKind::NotFound), "{name:?}");
    }
    assert_eq!(users::group(Path::new(NO_TABLE), "77").ok(), Some(77));
    users::group(Path::new(NO_TABLE), "web").expect_err("no table");
}

pub(crate) fn who_has_become_another_stays_so() {
    if harness::lacks(&[harness::Need::Root]) {
        return;
    }
    let pid = match process::fork().unwrap() {
        Fork::Parent(pid) => pid,
        Fork::Child => {
            users::become_user(65_534, 65_533).expect("root may");
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            for line in ["Uid:\t65534\t65534\t65534\t65534", "Gid:\t65533\t65533\t65533\t65533"] {
                assert!(status.contains(line), "{status}");
            }
            assert!(status.lines().any(|line| line.trim_end() == "Groups:"), "{status}");
            users::become_user(65_534, 65_533).expect("he is it already");
            users::become_user(0, 0).expect_err("no way back");
            users::become_user(1, 65_533).expect_err("no way to another");
            assert_eq!(users::effective(), (65_534, 65_533));
            process::exit(0)
        }
    };
    let exit = loop {
        if let Some(exit) = process::wait_any_exited().unwrap() {
            break exit;
        }
        std::thread::yield_now();
    };
    assert_eq!(exit, (pid, Exit::Status(0)));
}
