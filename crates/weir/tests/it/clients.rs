//! The clients that people have: curl, wget, ab, a browser. A test whose client is not installed is
//! skipped.

use std::path::Path;
use std::process::Command;

use harness::Need;

use crate::support::chosen::on_mechanisms;
use crate::support::combination::{Combination, Program, combinations};
use crate::support::command::run;
use crate::support::fixture::{DIGITS, Fixture, LARGE_BYTES, pattern};
use crate::support::server::Server;

/// Runs a client to its end and gives its output.
fn client(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let (status, output, errors) = run(command.args(arguments)).expect(program);
    assert_eq!(status, Some(0), "{program} {arguments:?}: {output}{errors}");
    output
}

/// Runs `test` with one architecture for each mechanism, on the site made for tests, if the client
/// is installed.
#[track_caller]
fn with_each(program: &'static str, test: impl Fn(&str, &Fixture, &Server, &Path) + Sync) {
    if harness::lacks(&[Need::Program(program)]) {
        return;
    }
    let site = Fixture::new();
    on_mechanisms(Program::Weir, |combination: &Combination| {
        let server = combination.start(&site.root(), &[]);
        let work = tempfile::tempdir().expect("a directory");
        test(&format!("http://{}", server.address), &site, &server, work.path());
        server.stop();
    });
}

fn curl(arguments: &[&str]) -> String {
    client("curl", &[&["--silent", "--show-error", "--noproxy", "*"], arguments].concat())
}

#[test]
fn curl_reuses_its_connection() {
    with_each("curl", |url, _, _, _| {
        let file = format!("{url}/digits.txt");
        let said = curl(&["--write-out", "%{num_connects} ", &file, &file, &file]);
        let digits = str::from_utf8(DIGITS).expect("ASCII");
        assert_eq!(said, format!("{digits}1 {digits}0 {digits}0 "));
    });
}

#[test]
fn curl_asks_for_a_range() {
    with_each("curl", |url, _, _, _| {
        assert_eq!(curl(&["--range", "10-15", &format!("{url}/digits.txt")]), "abcdef");
    });
}

#[test]
fn curl_resumes() {
    with_each("curl", |url, _, _, work| {
        let large = pattern(LARGE_BYTES);
        let file = work.join("large.bin");
        std::fs::write(&file, &large[..1_000_000]).expect("the first part");
        let name = file.to_str().expect("UTF-8");
        let large_url = format!("{url}/large.bin");
        let code = ["--write-out", "%{http_code}"];
        let said = curl(&[&["-C", "-", "--output", name, &large_url][..], &code].concat());
        assert_eq!(said, "206");
        assert!(std::fs::read(&file).expect("the file") == large, "another content");
    });
}

#[test]
fn curl_takes_what_is_compressed() {
    if harness::lacks(&[Need::Program("curl")]) {
        return;
    }
    let site = Fixture::new();
    let page = site.root().join("coded/page.html");
    client("gzip", &["--keep", "--force", page.to_str().expect("UTF-8")]);
    for sibling in ["br", "zst"] {
        std::fs::remove_file(page.with_extension(format!("html.{sibling}"))).expect("a sibling");
    }
    on_mechanisms(Program::Weir, |combination| {
        let server = combination.start(&site.root(), &[]);
        let url = format!("http://{}/coded/page.html", server.address);
        let said = curl(&["--compressed", "--write-out", " %header{content-encoding}", &url]);
        assert_eq!(said, "the page itself, as it is gzip");
        server.stop();
    });
}

#[test]
fn curl_asks_for_the_head_alone() {
    with_each("curl", |url, _, _, _| {
        let said = curl(&["--head", &format!("{url}/digits.txt")]);
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
        assert!(said.contains("\r\nContent-Length: 36\r\n"), "{said}");
        assert!(said.ends_with("\r\n\r\n"), "{said}");
    });
}

#[test]
fn curl_posts_and_is_told_that_it_may_not() {
    with_each("curl", |url, _, _, _| {
        let said = curl(&[
            "--header",
            "Expect: 100-continue",
            "--data",
            "name=value",
            "--write-out",
            "%{http_code} %header{allow}",
            url,
        ]);
        assert_eq!(said, "405 Method Not Allowed\n405 GET, HEAD, OPTIONS");
    });
}

#[test]
fn wget_resumes() {
    with_each("wget", |url, _, _, work| {
        let large = pattern(LARGE_BYTES);
        let file = work.join("large.bin");
        std::fs::write(&file, &large[..2_000_001]).expect("the first part");
        let directory = format!("--directory-prefix={}", work.display());
        let log = work.join("log");
        let log_flag = format!("--output-file={}", log.display());
        let large_url = format!("{url}/large.bin");
        client("wget", &["--no-proxy", "-c", &directory, &log_flag, &large_url]);
        assert!(std::fs::read(&file).expect("the file") == large, "another content");
        let log = std::fs::read_to_string(log).expect("what it did");
        assert!(log.contains("206 Partial Content"), "it did not resume: {log}");
    });
}

/// ab speaks HTTP/1.0; with -k it asks for keep-alive.
fn bench(url: &str, keep: &[&str]) -> String {
    let file = format!("{url}/digits.txt");
    let said = client("ab", &[&["-q", "-n", "400", "-c", "10"], keep, &[file.as_str()]].concat());
    assert!(has_line(&said, "Complete requests:", "400"), "{said}");
    assert!(has_line(&said, "Failed requests:", "0"), "{said}");
    assert!(!said.contains("Non-2xx"), "{said}");
    said
}

fn has_line(text: &str, name: &str, value: &str) -> bool {
    text.lines().any(|line| line.strip_prefix(name).is_some_and(|rest| rest.trim() == value))
}

#[test]
fn ab_with_a_connection_for_each_request() {
    with_each("ab", |url, _, _, _| {
        bench(url, &[]);
    });
}

#[test]
fn ab_with_keep_alive() {
    with_each("ab", |url, _, _, _| {
        let said = bench(url, &["-k"]);
        assert!(has_line(&said, "Keep-Alive requests:", "400"), "{said}");
    });
}

/// The example site marks its document once its style, scripts, pictures and data have all arrived.
#[test]
fn a_browser_loads_the_example_site_with_all_its_parts() {
    if harness::lacks(&[Need::Program("chromium")]) {
        return;
    }
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/site");
    let mut all = combinations(Program::Weir);
    all.retain(Combination::has_usual_poller);
    // A browser is large: one after the other.
    for combination in harness::all_or_some("the browser asks", all, 1) {
        let server = combination.start(&site, &[]);
        let url = format!("http://{}/", server.address);
        // The document may be written out before its scripts have run; then it says nothing yet.
        let documents = (0..DOCUMENTS_MAX).map(|_| document(&url));
        let told = documents.into_iter().find(|document| document.contains("data-loaded="));
        let document = told.expect("a page whose scripts run");
        assert!(document.contains("data-loaded=\"all\""), "{combination}: {document}");
        server.stop();
    }
}

/// How often a browser that was too early is started again.
const DOCUMENTS_MAX: u32 = 20;

/// A page as a browser has it after loading.
fn document(url: &str) -> String {
    let profile = tempfile::tempdir().expect("a directory");
    let profile = format!("--user-data-dir={}", profile.path().display());
    client(
        "chromium",
        &[
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            &profile,
            "--virtual-time-budget=5000",
            "--dump-dom",
            url,
        ],
    )
}
