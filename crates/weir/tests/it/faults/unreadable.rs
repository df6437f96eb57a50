//! Files that are there and cannot be read. What is merely looked for beside a file never decides;
//! what is the answer keeps its own error, and never leads to a listing.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Instant;

use crate::support::chosen::on_mechanisms;
use crate::support::combination::Program;
use crate::support::rights;

/// What a client who takes brotli and gzip gets: a status, a coding and a content, which is none of
/// a file if the status is not 200.
const ROWS: [(&str, u16, Option<&str>, &str); 9] = [
    ("/both.css", 200, Some("gzip"), "both.css.gz"),
    ("/one.css", 200, None, "one.css"),
    ("/all.css", 200, None, "all.css"),
    ("/directory.css", 200, None, "directory.css"),
    ("/loop.css", 200, None, "loop.css"),
    ("/closed/", 403, None, ""),
    ("/loop/", 404, None, ""),
    ("/out/", 404, None, ""),
    ("/page", 403, None, ""),
];

/// What the error log has of these, one line each, however often they are asked for.
const LINES: [&str; 4] = [
    "root/both.css.br is left out: Permission denied",
    "403 for {root}/closed/index.html: Permission denied",
    "404 for {root}/loop/index.html: Too many levels of symbolic links",
    "403 for {root}/page.html: Permission denied",
];

/// The longest name that a file system has; its sibling's would be longer.
const LONGEST: usize = 255;

#[test]
fn what_is_looked_for_beside_a_file_never_decides() {
    if rights::lacks_users() {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).expect("its mode");
    let root = home.path().join("root");
    let longest = format!("{}.css", "x".repeat(LONGEST - ".css".len()));
    make(&root, &longest);
    let too_long = format!("/{longest}s");
    let own = [(&*format!("/{longest}"), 200, None, &*longest), (&*too_long, 404, None, "")];
    on_mechanisms(Program::Weir, |combination| {
        for listing in [&[][..], &["--listing"]] {
            let flags = [&["--user", "nobody", "--clean-urls"], listing].concat();
            let begun = Instant::now();
            let server = combination.start(&root, &flags);
            for (path, status, coding, content) in ROWS.iter().chain(&own).chain(&ROWS) {
                let mut wire = server.connect();
                wire.get(path, "Accept-Encoding: br, gzip\r\n").expect("sent");
                let (head, body) = wire.reply(false).expect("a reply");
                let what = format!("{combination}: {path} {listing:?}");
                assert_eq!(head.status, *status, "{what}");
                assert_eq!(head.field("content-encoding"), *coding, "{what}");
                if *status == 200 {
                    assert_eq!(body, content.as_bytes(), "{what}");
                }
            }
            let said = server.stop();
            // A path has one line in a minute.
            let lines_max = 1 + begun.elapsed().as_secs() / 60;
            for line in LINES {
                let line = line.replace("{root}", root.to_str().expect("a name"));
                let count = said.lines().filter(|said| said.contains(&line)).count() as u64;
                let is_expected = (1..=lines_max).contains(&count);
                assert!(is_expected, "{combination}: {count} times {line}: {said}");
            }
            assert!(!said.contains(&too_long), "{combination}: {said}");
        }
    });
}

/// Each file contains its name. Siblings are newer than their files.
fn make(root: &Path, longest: &str) {
    let closed = Permissions::from_mode(0o000);
    for directory in ["closed", "loop", "out", "directory.css.br"] {
        fs::create_dir_all(root.join(directory)).expect("a directory");
    }
    let files = ["both.css", "one.css", "all.css", "directory.css", "loop.css", longest];
    let others = ["both.css.gz", "closed/index.html", "page.html"];
    let siblings = ["both.css.br", "one.css.gz", "all.css.br", "all.css.gz", "all.css.zst"];
    for name in files.into_iter().chain(others).chain(siblings) {
        fs::write(root.join(name), name).expect("a file");
    }
    for name in siblings.into_iter().chain(["closed/index.html", "page.html"]) {
        fs::set_permissions(root.join(name), closed.clone()).expect("its mode");
    }
    symlink("loop.css.br", root.join("loop.css.br")).expect("a link");
    symlink("index.html", root.join("loop/index.html")).expect("a link");
    symlink("/etc/passwd", root.join("out/index.html")).expect("a link");
}
