//! What makes no sense.

use crate::load;

#[test]
fn impossible_flags_are_told_in_one_line() {
    let url = "http://localhost";
    let rows: &[(&[&str], &str)] = &[
        (&[], "URL"),
        (&["localhost"], "localhost: a URL begins with http://"),
        (&["https://localhost"], "https is not spoken here"),
        (&["http://localhost:0"], "a port is a number from 1 to 65535"),
        (&["http://[localhost]"], "between brackets stands an address of IPv6"),
        (&[url, "--ramp", "0:9:2", "--warm-up", "2"], "the run is over after 2 s"),
        (&[url, "--rate", "0"], "--rate 0: a rate is a number from"),
        (&[url, "--rate", "-1"], "--rate -1: a rate is a number from"),
        (&[url, "--rate", "many"], "--rate many: a rate is a number from"),
        (&[url, "--rate", "1", "--clients", "1"], "a run has one of --rate, --steps"),
        (&[url, "--clients", "-1"], "--clients -1: has to be a whole number"),
        (&[url, "--duration", "0"], "--duration 0: has to be a number of seconds above 0"),
        (&[url, "--duration", "1e99"], "has to be a number of seconds"),
        (&[url, "--patience", "x"], "--patience x: has to be a number of seconds"),
        (&[url, "--reads-kb-per-s", "0"], "--reads-kb-per-s 0: has to be a whole number from 1"),
        (&[url, "--reads-kb-per-s", "1.5"], "--reads-kb-per-s 1.5: has to be a whole number"),
        (&[url, "--reads-kb-per-s", "2000000"], "has to be a whole number from 1 to 1048576"),
        (&[url, "--reads-kb-per-s", "slow"], "or none"),
        (&[url, "--connections-max", "0"], "--connections-max 0: has to be a whole number"),
        (&[url, "--connections-max", "100000000"], "descriptors open"),
        (&[url, "--pipelined", "on", "--keeps", "request"], "are pipelined on connections that"),
        (&[url, "--sources", "::1"], "no connection leads from ::1"),
        (&[url, "--gaps", "poisson"], "--gaps poisson: gaps are those of a --rate"),
        (&[url, "--dirs", "3"], "--dirs: there is no --workload"),
        (&[url, "--workload", "spec"], "there is no workload spec; there are: one-packet"),
        (&[url, "--workload", "surge", "--dirs", "3"], "--dirs: surge has no such knob"),
        (&[url, "--workload", "specweb99", "--dirs", "0"], "--dirs 0: has to be a whole number"),
        (&["http://localhost/a", "--workload", "surge"], "the workload says what is asked for"),
        (&[url, "--workload", "urls:/does/not/exist"], "/does/not/exist: "),
        (&[url, "--workload", "clf:/does/not/exist"], "/does/not/exist: "),
        (&["make-site"], "DIR"),
        (&["make-site", "/tmp", "--workload", "spec"], "there is no workload spec"),
        (&["make-site", "/tmp", "--dirs", "many"], "--dirs many: has to be a whole number"),
        (&["describe", "--workload", "spec"], "there is no workload spec"),
        (
            &["describe", "--workload", "surge", "--sessions", "0"],
            "--sessions 0: has to be a whole number",
        ),
        (&["describe", "--workload", "surge", "--dirs", "3"], "--dirs: surge has no such knob"),
    ];
    for (arguments, expected) in rows {
        let (status, output, errors) = load(arguments);
        assert_eq!(status, Some(2), "{arguments:?}: {output}{errors}");
        let is_told = errors.contains(expected) && errors.lines().count() == 1;
        assert!(is_told && output.is_empty(), "{arguments:?}: {output}{errors}");
    }
}

#[test]
fn what_the_machine_refuses_is_told_before_the_run() {
    let url = "http://127.0.0.1:1/";
    let rows: &[(&[&str], &str)] = &[
        (&["http://does-not-exist.invalid/"], "does-not-exist.invalid: "),
        (&[url, "--json", "/does/not/exist"], "/does/not/exist: "),
        (&[url, "--hgrm", "/does/not/exist"], "/does/not/exist.connect.hgrm: "),
        (&[url, "--records", "/does/not/exist"], "/does/not/exist: "),
        (&[url, "--records", "/does/not/exist", "--processes", "2"], "/does/not/exist."),
        (&["make-site", "/dev/null/site"], "/dev/null/site"),
        (
            &["describe", "--workload", "surge", "--wsesslog", "/does/not/exist"],
            "/does/not/exist: ",
        ),
    ];
    for (arguments, expected) in rows {
        let (status, output, errors) = load(arguments);
        assert_eq!(status, Some(3), "{arguments:?}: {output}{errors}");
        let is_told = errors.contains(expected) && errors.lines().count() == 1;
        assert!(is_told && output.is_empty(), "{arguments:?}: {output}{errors}");
    }
}
