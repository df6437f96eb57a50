//! Rules by ending and clean URLs, as clients meet them: what is set, what is shown, and what is
//! closed under each of its names.

use std::fs;
use std::path::Path;

use crate::support::chosen::on_mechanisms;
use crate::support::combination::{Combination, Program};
use crate::support::server::Server;
use crate::support::wire::Head;

const FILES: [(&str, &str); 10] = [
    ("index.html", "front"),
    ("about.html", "about"),
    ("about.html.br", "about, packed"),
    ("both", "a file"),
    ("both.html", "a page"),
    ("docs/index.html", "docs"),
    ("secret.pdf", "secret"),
    ("secret.pdf.gz", "secret, packed"),
    ("style.css", "style"),
    ("style.css.gz", "style, packed"),
];

const RULES: &str = r#"
[[host]]
names = ["weir.test"]
root = "site"
[[host.rule]]
at = "*.html"
fields = { X-Kind = "page" }
[[host.rule]]
at = "/*.css"
fields = { X-Kind = "style" }
[[host.rule]]
at = "*.pdf"
answer = 403
[[host.rule]]
at = "/docs/index.html"
answer = 410
[[host.rule]]
at = "/"
clean-urls = true
fallback = "/index"
"#;

/// The target, the status, the kind that a rule says, and the content.
const ROWS: &[(&str, u16, Option<&str>, &str)] = &[
    ("/", 200, Some("page"), "front"),
    ("/index", 200, Some("page"), "front"),
    ("/about", 200, Some("page"), "about, packed"),
    ("/about.html", 200, Some("page"), "about, packed"),
    ("/both", 200, Some("page"), "a file"),
    ("/both.html", 200, Some("page"), "a page"),
    ("/style.css", 200, Some("style"), "style, packed"),
    ("/style.css.gz", 200, None, "style, packed"),
    ("/none", 200, Some("page"), "front"),
    ("/none.png", 200, None, "front"),
    ("/docs", 301, Some("page"), ""),
    ("/docs/", 410, Some("page"), ""),
    ("/docs/index", 410, Some("page"), ""),
    ("/docs/index.html", 410, Some("page"), ""),
    ("/docs/index.html.zst", 410, None, ""),
    ("/secret.pdf", 403, None, ""),
    ("/secret.pdf.gz", 403, None, ""),
    ("/deep/none.pdf", 403, None, ""),
];

#[test]
fn names_are_served_by_their_endings_and_without() {
    let home = tempfile::tempdir().expect("a directory");
    for (name, content) in FILES {
        write(&home.path().join("site").join(name), content);
    }
    let config = home.path().join("weir.toml");
    write(&config, RULES);
    let config = config.to_str().expect("UTF-8");
    on_mechanisms(Program::Weir, |combination: &Combination| {
        // Kept for a while, and compared with the disk each time.
        for age_ms in ["900", "0"] {
            let flags = ["--config", config, "--answer-age-ms", age_ms];
            let server = combination.start(home.path(), &flags);
            for _ in 0..2 {
                for (target, status, kind, content) in ROWS {
                    let (head, body) = ask(&server, target);
                    let told = (head.status, head.field("x-kind"));
                    assert_eq!(told, (*status, *kind), "{combination}: {target}");
                    let is_so = *status != 200 || body == content.as_bytes();
                    let shown = body.escape_ascii();
                    assert!(is_so, "{combination}: {target}: {shown}");
                }
            }
            server.stop();
        }
    });
}

/// A page comes and goes under its clean URL.
#[test]
fn a_clean_url_follows_the_disk() {
    on_mechanisms(Program::Weir, |combination: &Combination| {
        let home = tempfile::tempdir().expect("a directory");
        let server = combination.start(home.path(), &["--clean-urls", "--answer-age-ms", "0"]);
        let steps: [(&str, &str, u16, &str); 5] = [
            ("", "", 404, ""),
            ("page.html", "a page", 200, "a page"),
            ("page/x", "x", 200, "a page"),
            ("page.html", "another page", 200, "another page"),
            ("page.html", "", 301, ""),
        ];
        for (name, content, status, expected) in steps {
            let path = home.path().join(name);
            match (name, content) {
                ("", _) => {}
                (_, "") => fs::remove_file(path).expect("gone"),
                _ => write(&path, content),
            }
            let (head, body) = ask(&server, "/page");
            let is_so = head.status == status && (status != 200 || body == expected.as_bytes());
            assert!(is_so, "{combination}: {name} {content}: {head:?} {}", body.escape_ascii());
        }
        server.stop();
    });
}

fn ask(server: &Server, target: &str) -> (Head, Vec<u8>) {
    let mut wire = server.connect();
    wire.get(target, "Accept-Encoding: br, zstd, gzip\r\n").expect("sent");
    wire.reply(false).expect("a reply")
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(path, content).expect("written");
}
