//! What makes no sense.

use std::net::TcpListener;

use crate::load::load;

const URL: &str = "http://127.0.0.1";

/// Arguments, and what is said of them.
const IMPOSSIBLE: &[(&[&str], &str)] = &[
    (&[], "URL"),
    (&[""], "the host is missing, as in http://localhost:8080/"),
    (&["https://localhost"], "TLS is not spoken here: ask the server behind the proxy"),
    (&["ftp://localhost"], "ftp is not spoken here, http is"),
    (&["http:/localhost"], "a URL is http://HOST[:PORT][/PATH]"),
    (&["http://localhost:0"], "a port is a number from 1 to 65535"),
    (&["http://[localhost]"], "between brackets stands an address of IPv6"),
    (&[URL, "--ramp", "0:9:2", "--warm-up", "2"], "the run is over after 2 s"),
    (&[URL, "--rate", "0"], "--rate 0: a rate is a number from"),
    (&[URL, "--rate", "-1"], "--rate -1: a rate is a number from"),
    (&[URL, "--rate", "many"], "--rate many: a rate is a number from"),
    (&[URL, "--rate", "1", "--clients", "1"], "a run has one of --rate, --steps"),
    (&[URL, "--clients", "-1"], "--clients -1: has to be a whole number"),
    (&[URL, "--duration", "0"], "--duration 0: has to be a number of seconds above 0"),
    (&[URL, "--duration", "1e99"], "has to be a number of seconds"),
    (&[URL, "--duration", ""], "has to be a number of seconds above 0"),
    (&[URL, "-d", "3sec"], "--duration 3sec: has to be a number of seconds above 0"),
    (&[URL, "-d", "3s", "-d", "4s"], "'--duration <S>' cannot be used multiple times"),
    (&[URL, "-d"], "--duration <S>"),
    (&[URL, "-c", "many"], "--clients many: has to be a whole number"),
    (&[URL, "-r", "many"], "--rate many: a rate is a number from"),
    (&[URL, "-n", "0"], "--requests-max 0: has to be a whole number from 1"),
    (&[URL, "-n", "1", "--sessions", "1"], "a run has one of --requests-max and --sessions"),
    (&[URL, "-n", "1", "--workload", "specweb99"], "several requests; say how many --sessions"),
    (&["http://me:secret@localhost"], "are sent by --header 'Authorization: Basic ...'"),
    (&[URL, "-H", "gzip"], "--header gzip: has to be NAME: VALUE, as in 'Accept-Encoding: gzip'"),
    (&[URL, "-H", ""], "has to be NAME: VALUE"),
    (&[URL, "-H", "X: a\r\nY: b"], "--header X: a\\r\\nY: b: has to be NAME: VALUE"),
    (&[URL, "-H", "X: a", "-H", "Host: b"], "each request names its host; say --host NAME"),
    (&[URL, "--header", "Connection: close"], "say --keeps request|session|client"),
    (&[URL, "--header", "Content-Length: 1"], "the workload, or --body, says"),
    (&[URL, "--header", "Transfer-Encoding: chunked"], "the workload, or --body, says"),
    (&[URL, "--host", ""], "has to be a host, as example.org or example.org:8080"),
    (&[URL, "--host", "a/b"], "--host a/b: has to be a host, as example.org"),
    (&[URL, "--host", "a", "--host", "b"], "cannot be used multiple times"),
    (&[URL, "-m", "post"], "--method post: has to be one of GET, HEAD, POST"),
    (&[URL, "--body", "/nowhere"], "--body /nowhere: /nowhere: No such file or directory"),
    (&[URL, "-m", "GET", "--body", "/dev/null"], "--body /dev/null: a GET or HEAD has none; say"),
    (&[URL, "-m", "GET", "-m", "HEAD"], "cannot be used multiple times"),
    (&[URL, "--expect", "p99"], "--expect p99: has to be as 'p99<50ms', 'good>5000/s' or"),
    (&[URL, "--find", "p99"], "--find p99: has to be as 'p99<50ms', 'good>5000/s' or"),
    (&[URL, "--find", "p99<1s", "-c", "4"], "the run has no --clients, --steps or --ramp"),
    (&[URL, "--find", "p99<1s", "-r", "0.5"], "begins at a --rate of 1 in a second at least"),
    (&[URL, "--find", "p99<1s", "--records", "a"], "--records and --begins are of none of them"),
    (&[URL, "--expect", ""], "has to be as 'p99<50ms'"),
    (&[URL, "--expect", "p99<50ms", "--expect", "p99<50"], "has to be a time with its unit"),
    (&[URL, "-t", "4"], "-t: there are no threads here; --processes N"),
    (&[URL, "-t4"], "-t: there are no threads here"),
    (&["-t", URL], "-t: there are no threads here"),
    (&["-t"], "-t: there are no threads here"),
    (&[URL, "--patience", "x"], "--patience x: has to be a number of seconds"),
    (&[URL, "--reads-kb-per-s", "0"], "--reads-kb-per-s 0: has to be a whole number from 1"),
    (&[URL, "--reads-kb-per-s", "1.5"], "--reads-kb-per-s 1.5: has to be a whole number"),
    (&[URL, "--reads-kb-per-s", "2000000"], "has to be a whole number from 1 to 1048576"),
    (&[URL, "--reads-kb-per-s", "slow"], "or none"),
    (&[URL, "--connections-max", "0"], "--connections-max 0: has to be a whole number"),
    (&[URL, "--connections-max", "100000000"], "descriptors open"),
    (
        &[URL, "--pipelined", "on", "--keeps", "request", "--probe", "off"],
        "are pipelined on connections that",
    ),
    (&[URL, "--probe", "perhaps"], "--probe perhaps: has to be one of on, off"),
    (&[URL, "--sources", "::1"], "no connection leads from ::1"),
    (&[URL, "--gaps", "poisson"], "--gaps poisson: gaps are those of a --rate"),
    (&[URL, "--dirs", "3"], "--dirs: there is no --workload"),
    (&[URL, "--workload", "spec"], "there is no workload spec; there are: one-packet"),
    (&[URL, "--workload", "surge", "--dirs", "3"], "--dirs: surge has no such knob"),
    (&[URL, "--workload", "specweb99", "--dirs", "0"], "--dirs 0: has to be a whole number"),
    (&["http://127.0.0.1/a", "--workload", "surge"], "the workload says what is asked for"),
    (&[URL, "--workload", "urls:/does/not/exist"], "/does/not/exist: "),
    (&[URL, "--workload", "clf:/does/not/exist"], "/does/not/exist: "),
    (&["make-site"], "DIR"),
    (&["make-site", "/tmp", "--workload", "spec"], "there is no workload spec"),
    (&["make-site", "/tmp"], "--workload is missing: say whose files are made"),
    (&["make-site", "/tmp", "--workload", ""], "there is no workload ; there are: one-packet"),
    (
        &["make-site", "/tmp", "--workload", "specweb99", "--dirs", "many"],
        "--dirs many: has to be a whole number",
    ),
    (&["compare"], "<A.json> <B.json>"),
    (&["compare", "/does/not/exist"], "<B.json>"),
    (&["compare", "/does/not/exist", "/does/not/exist"], "/does/not/exist: No such file"),
    (&["compare", "/dev/null", "/dev/null"], "/dev/null: no report of a load that can be read"),
    (&["describe", "--workload", "spec"], "there is no workload spec"),
    (
        &["describe", "--workload", "surge", "--sessions", "0"],
        "--sessions 0: has to be a whole number",
    ),
    (&["describe", "--workload", "surge", "--dirs", "3"], "--dirs: surge has no such knob"),
    (
        &["describe", "--hints", "/does/not/exist"],
        "--hints /does/not/exist: specweb99 is no trace, and has no paths that were asked for: say",
    ),
];

#[test]
fn impossible_flags_are_told_in_one_line() {
    for (arguments, expected) in IMPOSSIBLE {
        let (status, output, errors) = load(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {output}{errors}");
        let is_told = errors.contains(expected) && errors.lines().count() == 1;
        assert!(is_told && output.is_empty(), "{arguments:?}: {output}{errors}");
    }
}

#[test]
fn what_the_machine_refuses_is_told_before_the_run() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = &listener.local_addr().expect("an address").to_string();
    let list = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(list.path(), "/a\n/a\n").expect("it can be written");
    let trace = &format!("wsesslog:{}", list.path().display());
    let rows: &[(&[&str], &str)] = &[
        (&["http://does-not-exist.invalid/"], "does-not-exist.invalid: "),
        (&["does-not-exist.invalid"], "; check the name, or say an address"),
        (&[url, "--json", "/does/not/exist"], "/does/not/exist: "),
        (&[url, "--hgrm", "/does/not/exist"], "/does/not/exist.connect.hgrm: "),
        (&[url, "--records", "/does/not/exist"], "/does/not/exist: "),
        (&[url, "--records", "/does/not/exist", "--processes", "2"], "/does/not/exist."),
        (
            &["describe", "--workload", "surge", "--wsesslog", "/does/not/exist"],
            "/does/not/exist: ",
        ),
        (
            &["describe", "--workload", trace, "--hints", "/does/not/exist"],
            "/does/not/exist: No such file",
        ),
    ];
    for (arguments, expected) in rows {
        let (status, output, errors) = load(arguments);
        assert_eq!(status, Some(3), "{arguments:?}: {output}{errors}");
        let is_told = errors.contains(expected) && errors.lines().count() == 1;
        assert!(is_told && output.is_empty(), "{arguments:?}: {output}{errors}");
    }
}
