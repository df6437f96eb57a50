//! Every kind of mistake: its line, its column, its key and what would do.

use std::path::Path;

use crate::folder::Folder;
use config::Flags;

/// Checks rows as their files say what they are; `before` stands above each text.
fn check(folder: &Folder, before: &str, rows: &str) {
    let mut count = 0;
    for row in rows.split("---\n").skip(1) {
        let at = row.find("\n> ").expect("a mistake in each row");
        let text = format!("{before}{}", &row[..at]);
        let expected: Vec<&str> = row[at + 3..].trim_end().split("\n> ").collect();
        let told = folder.text(&text).map(|_| ()).expect_err(&text);
        // A file is called as it is reached: `in/../weir.toml`.
        let told = told.iter().map(|line| line.replace("in/../", ""));
        let told: Vec<String> =
            told.map(|line| line.strip_prefix("weir.toml:").unwrap_or(&line).into()).collect();
        assert_eq!(told, expected, "{text}");
        count += 1;
    }
    assert!(count > 2, "only {count} rows");
}

#[test]
fn keys_and_values() {
    check(&Folder::new(), "", include_str!("mistakes/keys-and-values.txt"));
}

#[test]
fn syntax() {
    check(&Folder::new(), "", include_str!("mistakes/syntax.txt"));
}

#[test]
fn hosts() {
    check(&Folder::new(), "", include_str!("mistakes/hosts.txt"));
}

/// Each text is that of a rule, from line 4 on.
#[test]
fn rules() {
    let folder = Folder::new();
    folder.write(
        "users",
        "# who\n\nann:$2y$04$hu20WBVkT9jG6AItIAcHquC94RQTA6DfsCtkxTtNCrZpcSj1eIMZG\nben\n:x\n",
    );
    folder.write("empty", "");
    let before = "[[host]]\nnames = \"*\"\n[[host.rule]]\n";
    check(&folder, before, include_str!("mistakes/rules.txt"));
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
    check(&folder, "", include_str!("mistakes/included.txt"));
}
