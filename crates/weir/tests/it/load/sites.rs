//! Workloads: made, served, asked for and described.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::load::{load, report, serve};

fn made(dir: &Path, knobs: &[&str]) -> String {
    let dir = dir.to_str().expect("a name");
    let (status, output, errors) = load(&[&["make-site", dir], knobs].concat());
    assert_eq!(status, Some(0), "{knobs:?}: {output}{errors}");
    let is_sized =
        errors.starts_with(&format!("weir: {dir} will have ")) && errors.contains("files, ");
    assert!(is_sized && errors.lines().count() == 1, "{knobs:?}: {errors}");
    output
}

#[test]
fn workloads_ask_for_what_was_made() {
    // The workload with its knobs, and how long it is asked for.
    let rows: &[&[&str]] = &[
        &["--workload", "specweb99", "--dirs", "2", "--think-scale", "0.001"],
        &["--workload", "one-packet"],
        &["--workload", "webstone"],
        &["--workload", "surge", "--files", "50", "--think", "none"],
        &["--workload", "browser", "--files", "50"],
    ];
    for knobs in rows {
        let home = tempfile::tempdir().expect("a folder");
        // make-site takes what says how many files there are, and what says how they are asked for.
        let output = made(home.path(), knobs);
        assert!(output.contains(", 0 of which were there before"), "{output}");
        let server = serve(home.path());
        let url = format!("http://{}/", server.address);
        let how = ["--clients", "2", "--sessions", "30", "--duration", "60"];
        let report = report(&[&[url.as_str()], *knobs, &how].concat());
        let outcomes = report["outcomes"].as_object().expect("outcomes");
        assert_eq!(outcomes.keys().collect::<Vec<_>>(), ["good"], "{knobs:?}: {outcomes:?}");
        server.stop();
    }
}

#[test]
fn what_cannot_be_written_is_told() {
    let (status, _, errors) = load(&["make-site", "/dev/null/site", "--workload", "one-packet"]);
    let told = errors.lines().last().expect("a line");
    assert!(status == Some(3) && told.starts_with("weir: cannot write /dev/null/site"), "{errors}");
}

#[test]
fn a_wrong_site_is_found_out() {
    let home = tempfile::tempdir().expect("a folder");
    made(home.path(), &["--workload", "one-packet"]);
    let file = fs::read_dir(home.path()).unwrap().next().expect("a file").unwrap().path();
    let mut content = fs::read(&file).unwrap();
    content[100] ^= 1;
    fs::write(&file, content).unwrap();
    let server = serve(home.path());
    let url = format!("http://{}/", server.address);
    let run = [url.as_str(), "--workload", "one-packet", "--clients", "1", "--sessions", "3"];
    let report = report(&run);
    assert_eq!(report["outcomes"], serde_json::json!({ "wrong": 3 }));
    assert_eq!(report["is_valid"], false);
    server.stop();
}

#[test]
fn processes_together_do_what_one_would() {
    let home = tempfile::tempdir().expect("a folder");
    let knobs = ["--workload", "specweb99", "--dirs", "3", "--think-scale", "0.001"];
    made(home.path(), &knobs);
    let server = serve(home.path());
    let url = format!("http://{}/", server.address);
    let how = ["--rate", "100", "--sessions", "60", "--gaps", "poisson", "--duration", "60"];
    let run = |processes| {
        let flags = [&[url.as_str()], &knobs[..], &how, &["--processes", processes]].concat();
        let report = report(&flags);
        let kinds = report["results"]["kinds"].as_array().expect("kinds").clone();
        let counts = kinds.iter().map(|of| of["detail"]["counts"].clone());
        counts.collect::<Vec<Value>>()
    };
    let alone = run("1");
    assert_eq!(alone, run("3"));
    assert_eq!(alone, run("1"), "the same seed asks the same");
    server.stop();
}

#[test]
fn a_log_is_replayed_against_a_site_of_its_own() {
    let home = tempfile::tempdir().expect("a folder");
    let (site, log) = (home.path().join("site"), home.path().join("access.log"));
    let line = |of: &str, second, target: &str, bytes: &str| {
        format!(
            "{of} - - [01/Jul/1995:00:00:{second} +0000] \"GET {target} HTTP/1.0\" 200 {bytes}\n"
        )
    };
    let text = [
        line("a", 10, "/images/a.gif", "786"),
        line("a", 10, "/b.html?page=2", "1000"),
        line("b", 11, "/images/a.gif", "786"),
        // Of a session that began long before.
        line("a", 24, "/images/a.gif", "786"),
        String::from("this is none\n"),
    ];
    fs::write(&log, text.concat()).expect("a log");
    let workload = format!("clf:{}", log.display());
    made(&site, &["--workload", &workload]);
    let server = serve(&site);
    let url = format!("http://{}/", server.address);
    let report = report(&[&url, "--workload", &workload, "--site", "made", "--speed", "10"]);
    assert_eq!(report["outcomes"], serde_json::json!({ "good": 4 }), "{report}");
    let notes = report["about"]["notes"].as_str().expect("notes");
    assert!(notes.contains("1 unreadable"), "{notes}");
    server.stop();
}

#[test]
fn sessions_are_written_for_others_and_read_again() {
    let home = tempfile::tempdir().expect("a folder");
    let site = home.path().join("site");
    let log = home.path().join("log");
    let log = log.to_str().expect("a name");
    let knobs = ["--dirs", "1", "--think-scale", "0.001"];
    made(&site, &[&["--workload", "specweb99"], &knobs[..]].concat());
    let describe = ["describe", "--sessions", "20", "--wsesslog", log];
    let (status, told, errors) = load(&[&describe[..], &knobs].concat());
    assert_eq!(status, Some(0), "{told}{errors}");
    assert!(told.contains("sample: 20 sessions"), "{told}");
    let server = serve(&site);
    let url = format!("http://{}/", server.address);
    let workload = format!("wsesslog:{log}");
    let how = ["--workload", &workload, "--clients", "2", "--sessions", "20"];
    let report = report(&[&[url.as_str()], &how[..]].concat());
    let outcomes = report["outcomes"].as_object().expect("outcomes");
    assert_eq!(outcomes.keys().collect::<Vec<_>>(), ["good"], "{outcomes:?}");
    server.stop();
}

#[test]
fn hints_are_what_a_log_asks_for_most() {
    let home = tempfile::tempdir().expect("a folder");
    let (log, out) = (home.path().join("log"), home.path().join("out"));
    let asked = [
        ("GET", "/b?x=1", 200),
        ("GET", "/beacon", 204),
        ("GET", "/b", 304),
        ("GET", "/a%20b", 206),
        ("GET", "/once", 200),
        ("GET", "/beacon", 204),
        ("HEAD", "/b", 200),
        ("POST", "/a%20b", 200),
        ("GET", "/gone", 404),
        ("GET", "/gone", 404),
        ("GET", "/a%20b", 200),
    ];
    let line = |&(method, target, status): &(&str, &str, u16)| {
        format!("a - - [01/Jul/1995:00:00:10 +0000] \"{method} {target} HTTP/1.1\" {status} 9\n")
    };
    fs::write(&log, asked.iter().map(line).collect::<String>()).expect("it can be written");
    let (workload, file) = (format!("clf:{}", log.display()), out.display().to_string());
    let (status, told, errors) = load(&["describe", &workload, "--hints", &file]);
    assert_eq!(status, Some(0), "{told}{errors}");
    let expected = format!("hints: 2 paths in {file}, asked for in 83.33 % of the requests");
    assert_eq!(told.lines().last(), Some(&*expected), "{told}");
    let head = "by requests, most first; for weir serve --cache-hints";
    let expected = format!("# paths of {workload} {head}\n/b\n/a%20b\n");
    assert_eq!(fs::read_to_string(&out).expect("hints"), expected);

    // Without hints what is there stays.
    fs::write(&log, line(&("GET", "/once", 200))).expect("it can be written");
    let (status, told, errors) = load(&["describe", "--workload", &workload, "--hints", &file]);
    assert_eq!((status, &*told), (Some(2), ""), "{errors}");
    let is_told = errors.contains("has no path that was asked for 2 times or more");
    assert!(is_told && errors.lines().count() == 1, "{errors}");
    assert_eq!(fs::read_to_string(&out).expect("hints"), expected);
}
