//! Every kind of mistake: its line, its column, its key and what would do.
#![forbid(unsafe_code)]

mod folder;

use std::path::Path;

use config::Flags;
use folder::Folder;

/// A file and all that is told about it, in order.
type Row = (&'static str, &'static [&'static str]);

fn check(rows: &[Row]) {
    let folder = Folder::new();
    for (text, expected) in rows {
        let told = folder.text(text).map(|_| ()).expect_err(text);
        let short: Vec<&str> =
            told.iter().map(|line| line.strip_prefix("weir.toml:").unwrap_or(line)).collect();
        assert_eq!(&short[..], *expected, "{text}");
    }
}

#[test]
fn keys_and_values() {
    check(&[
        ("acept-limit = 3", &["1:1: acept-limit: no such key; did you mean `accept-limit`?"]),
        ("\n\n  cache_mb = 3", &["3:3: cache_mb: no such key; did you mean `cache-mb`?"]),
        ("listing = true", &["1:1: listing: no such key; it belongs in `host.rule`"]),
        ("backlog = 0", &["1:11: backlog: must be a number from 1 to 65535, not 0"]),
        ("backlog = \"many\"", &["1:11: backlog: must be a number from 1 to 65535, not \"many\""]),
        ("backlog = 1.5", &["1:11: backlog: must be 1..65535 connections, not 1.5"]),
        ("backlog = true", &["1:11: backlog: must be 1..65535 connections, not true"]),
        ("backlog = [1]", &["1:11: backlog: must be 1..65535 connections, not an array"]),
        ("backlog = 1979-05-27", &["1:11: backlog: must be 1..65535 connections, not a date"]),
        ("work-on-accepted = 1", &["1:20: work-on-accepted: must be on or off, not 1"]),
        ("poller = \"kqueue\"", &["1:10: poller: must be select, poll or epoll, not \"kqueue\""]),
        ("access-log = true", &["1:14: access-log: must be FILE or off, not true"]),
        ("access-log = \"\"", &["1:14: access-log: must be FILE or off, not \"\""]),
        ("listen = []", &["1:10: listen: is empty; leave it out for the default"]),
        (
            "listen = [80,\n  \"80:80:80\"]",
            &[
                "2:3: listen: must be host:port, [v6]:port, port, unix:PATH or fd:N, not \"80:80:80\"",
            ],
        ),
        ("root = 5", &["1:8: root: must be a string, not 5"]),
        ("root = \"weir.toml\"", &["1:8: root: not a directory: weir.toml"]),
        ("threads = 4", &["1:1: threads: sped does not take it (mt would); leave it out"]),
        (
            "architecture = \"apache\"\nthreads = 4",
            &[
                "1:16: architecture: must be one of sped, amped, mt, proactor, not \"apache\"",
                "2:1: threads: sped does not take it (mt would); leave it out",
            ],
        ),
        ("ä = 1", &["1:1: invalid unquoted key, expected letters, numbers, `-`, `_`"]),
        ("\"a\\nb\" = 1", &["1:1: a b: no such key; docs/configuration.md has all that there are"]),
        (
            "\"ä\" = 1\nbacklog=0 # ä",
            &[
                "1:1: ä: no such key; docs/configuration.md has all that there are",
                "2:9: backlog: must be a number from 1 to 65535, not 0",
            ],
        ),
    ]);
}

#[test]
fn syntax() {
    check(&[
        ("backlog =", &["1:10: string values must be quoted, expected literal string"]),
        ("backlog = 1\nbacklog = 2", &["2:1: duplicate key"]),
        (
            "a = \nb = \"x",
            &[
                "1:5: string values must be quoted, expected literal string",
                "2:7: invalid basic string, expected `\"`",
            ],
        ),
    ]);
}

#[test]
fn hosts() {
    check(&[
        (
            "[host]\nnames = [\"*\"]",
            &["1:1: host: must be an array of tables; write it as [[host]], not a table"],
        ),
        ("[[host]]\nroot = \"site\"", &["1:1: host: needs the key `names`"]),
        ("[[host]]\nnames = []", &["2:9: host.names: is empty; write `*` for every name"]),
        ("[[host]]\nnames = [5]", &["2:10: host.names: must be a string, not 5"]),
        ("[[host]]\nnames = \"a:80\"", &["2:9: host.names: names have no port; write \"a\""]),
        (
            "[[host]]\nnames = \"a b\"",
            &[
                "2:9: host.names: must be a host's name (`example.org`, `*.example.org` or `*`), not \"a b\"",
            ],
        ),
        (
            "[[host]]\nnames = \"ä.org\"",
            &["2:9: host.names: must be in ASCII; write what browsers send, `xn--...`"],
        ),
        (
            "[[host]]\nnames = \"*.a\"\n[[host]]\nnames = [\"b.a\"]",
            &["4:10: host.names: would never be asked: \"*.a\" takes it before"],
        ),
        (
            "[[host]]\nnames = \"*\"\nlisten = 80",
            &[
                "3:1: host.listen: no such key; it belongs at the top of the file, before all tables",
            ],
        ),
        (
            "root = \"site\"\n[[host]]\nnames = \"*\"",
            &[
                "1:8: root: no name is left for it: a host is there for all (`*`); leave one of them out",
            ],
        ),
    ]);
}

/// The rule stands in the lines from 3.
#[test]
fn rules() {
    let folder = Folder::new();
    folder.write("users", "# who\n\nann:$2y$05$abc\nben\n:x\n");
    folder.write("empty", "");
    let rows: &[Row] = &[
        ("root = \"site\"", &["3:1: host.rule: needs the key `at`"]),
        (
            "at = \"/\"",
            &[
                "3:1: host.rule: does nothing; write one of `root`, `redirect`, `answer`, `listing`, ...",
            ],
        ),
        ("at = \"/\"\nrot = \"site\"", &["5:1: host.rule.rot: no such key; did you mean `root`?"]),
        (
            "at = \"/\"\nroot = \"site\"\nanswer = 403",
            &["3:1: host.rule: does several things (root, answer); write a rule for each"],
        ),
        (
            "at = \"docs\"\nanswer = 403",
            &["4:6: host.rule.at: must be a path that begins with a slash, not \"docs\""],
        ),
        (
            "at = \"/a%20b\"\nanswer = 403",
            &[
                "4:6: host.rule.at: must be a path without escapes: the characters themselves, not \"/a%20b\"",
            ],
        ),
        (
            "at = \"/a?b\"\nanswer = 403",
            &[
                "4:6: host.rule.at: must be a path without `?` and `#`: rules see nothing else of a URL, not \"/a?b\"",
            ],
        ),
        (
            "at = \"/a//b\"\nanswer = 403",
            &[
                "4:6: host.rule.at: must be a plain path, without empty, `.` or `..` segments, not \"/a//b\"",
            ],
        ),
        (
            "at = \"/a/..\"\nanswer = 403",
            &[
                "4:6: host.rule.at: must be a plain path, without empty, `.` or `..` segments, not \"/a/..\"",
            ],
        ),
        (
            "at = \"/\"\nanswer = 401",
            &["5:10: host.rule.answer: nobody could log in after a bare 401; use `auth`"],
        ),
        ("at = \"/\"\nanswer = 301", &["5:10: host.rule.answer: leads nowhere; use `redirect`"]),
        (
            "at = \"/\"\nanswer = 99",
            &["5:10: host.rule.answer: must be a whole answer's status, not 99"],
        ),
        (
            "at = \"/\"\nanswer = 99999",
            &["5:10: host.rule.answer: must be a number from 0 to 65535, not 99999"],
        ),
        (
            "at = \"/\"\nanswer = 403\nstatus = 301",
            &["6:10: host.rule.status: belongs to a redirect; here it would do nothing"],
        ),
        (
            "at = \"/\"\nredirect = \"/a\"\nstatus = 300",
            &["6:10: host.rule.status: must be 301, 302, 303, 307 or 308, not 300"],
        ),
        (
            "at = \"/\"\nredirect = \"a\"",
            &[
                "5:12: host.rule.redirect: must be a path that begins with a slash, or a whole URI, not \"a\"",
            ],
        ),
        ("at = \"/\"\nlisting = 1", &["5:11: host.rule.listing: must be true or false, not 1"]),
        (
            "at = \"/\"\nfallback = \"i.html\"",
            &[
                "5:12: host.rule.fallback: must be a path of this host that begins with a slash, not \"i.html\"",
            ],
        ),
        (
            "at = \"/\"\nuser-directories = \"/srv\"",
            &[
                "5:20: host.rule.user-directories: must be a directory in each user's home, `public_html` for instance, not \"/srv\"",
            ],
        ),
        (
            "at = \"/\"\nerror-page = { status = 200, file = \"/a\" }",
            &["5:14: host.rule.error-page: 200 is no error; choose a status from 400 to 599"],
        ),
        (
            "at = \"/\"\nerror-page = { statsu = 404, file = \"/a\" }",
            &[
                "5:14: host.rule.error-page: needs the key `status`",
                "5:16: host.rule.error-page.statsu: no such key; did you mean `status`?",
            ],
        ),
        (
            "at = \"/\"\nfield = { name = \"a b\", value = \"\" }",
            &["5:9: host.rule.field: must be a field's name, not \"a b\""],
        ),
        (
            "at = \"/\"\nfields = { A = \"x\\ry\", B = 2 }",
            &[
                "5:16: host.rule.fields.A: must be a field's value: one line, without spaces at its ends, not \"x\\ry\"",
                "5:28: host.rule.fields.B: must be a string, not 2",
            ],
        ),
        (
            "at = \"/\"\ncors = []",
            &["5:8: host.rule.cors: names no origin; write some, or `*` for all"],
        ),
        (
            "at = \"/\"\ncors = [\"https://a/b\"]",
            &[
                "5:8: host.rule.cors: must be `https://example.org` without a path, or `*`, not \"https://a/b\"",
            ],
        ),
        (
            "at = \"/\"\nauth = { realm = \"r\" }",
            &["5:8: host.rule.auth: needs one of the keys `users` and `users-file`"],
        ),
        (
            "at = \"/\"\nauth = { users = { a = \"secret\" } }",
            &[
                "5:8: host.rule.auth: needs the key `realm`",
                "5:24: host.rule.auth.users.a: must be a hash by argon2 or bcrypt; `htpasswd -nB NAME` makes one",
            ],
        ),
        (
            "at = \"/\"\nauth = { realm = \"r\", users = {} }",
            &["5:8: host.rule.auth: lets nobody in; name users, or answer 403"],
        ),
        (
            "at = \"/\"\nauth = { realm = \"r\", users-file = \"empty\" }",
            &["5:8: host.rule.auth: lets nobody in; name users, or answer 403"],
        ),
        (
            "at = \"/\"\nauth = { realm = \"r\", users-file = \"nowhere\" }",
            &[
                "5:36: host.rule.auth.users-file: nowhere: cannot be read: No such file or directory (os error 2)",
            ],
        ),
        (
            "at = \"/\"\nauth = { realm = \"r\", users-file = \"users\" }",
            &[
                "users:4:1: must be `name:hash`, as `htpasswd -B` writes it",
                "users:5:1: a user's name has at least one character, and no colon (RFC 7617)",
            ],
        ),
    ];
    for (text, expected) in rows {
        let text = format!("[[host]]\nnames = \"*\"\n[[host.rule]]\n{text}\n");
        let told = folder.text(&text).map(|_| ()).expect_err(&text);
        let short: Vec<&str> =
            told.iter().map(|line| line.strip_prefix("weir.toml:").unwrap_or(line)).collect();
        assert_eq!(&short[..], *expected, "{text}");
    }
}

#[test]
fn files() {
    let folder = Folder::new();
    folder.write("bytes", b"a = 1\n\xc3\xa4 \xff\n");
    folder.write("long", vec![b'#'; (1 << 20) + 1]);
    let rows = [
        ("site", "site: is a directory; name a file in it"),
        ("nowhere", "nowhere: cannot be read: No such file or directory (os error 2)"),
        ("bytes", "bytes:2:3: not UTF-8 from here on; save it as UTF-8"),
        ("long", "long: has more than 1048576 bytes; is it the right file?"),
    ];
    for (name, expected) in rows {
        let told = folder.read(&folder.path(name), Flags::default()).map(|_| ());
        assert_eq!(told, Err(vec![String::from(expected)]));
    }
    let told = config::read(Path::new("/dev/null"), Flags::default()).map(|_| ()).expect_err("it");
    assert_eq!(told[0].to_string(), "/dev/null: is no regular file, so it could not be read again");
}

#[test]
fn included_files() {
    let folder = Folder::new();
    folder.write("in/a.toml", "include = [\"../weir.toml\"]");
    folder.write("in/b.toml", "include = \"c.toml\"\nbacklog = 0");
    folder.write("in/c.toml", "[[host]]\nname = \"a\"");
    folder.write("self.toml", "include = \"self.toml\"");
    for n in 0..20 {
        folder.write(&format!("deep{n}.toml"), format!("include = \"deep{}.toml\"", n + 1));
    }
    let rows: &[Row] = &[
        (
            "include = [\"in/a.toml\"]",
            &[
                "in/a.toml:1:12: include: goes round in a circle: weir.toml includes in/a.toml includes weir.toml; leave it out",
            ],
        ),
        (
            "\ninclude = [\"self.toml\"]",
            &[
                "self.toml:1:11: include: goes round in a circle: self.toml includes self.toml; leave it out",
            ],
        ),
        (
            "include = [\"in/b.toml\", \"in/c.toml\"]\nbacklog = -1",
            &[
                "in/b.toml:2:11: backlog: must be a number from 1 to 65535, not 0",
                "in/c.toml:1:1: host: needs the key `names`",
                "in/c.toml:2:1: host.name: no such key; did you mean `names`?",
                "weir.toml:1:25: include: \"in/c.toml\" is included twice; leave one out",
                "weir.toml:2:11: backlog: must be a number from 1 to 65535, not -1",
            ],
        ),
        (
            "include = [\"nowhere\"]",
            &[
                "weir.toml:1:12: include: nowhere: cannot be read: No such file or directory (os error 2)",
            ],
        ),
        (
            "include = [\"deep0.toml\"]",
            &["deep14.toml:1:11: include: more than 16 files within each other"],
        ),
    ];
    for (text, expected) in rows {
        let told = folder.text(text).map(|_| ()).expect_err(text);
        // A file is called as it is reached: `in/../weir.toml`.
        let told: Vec<String> = told.iter().map(|line| line.replace("in/../", "")).collect();
        assert_eq!(&told[..], *expected, "{text}");
    }
}
