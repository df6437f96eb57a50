//! A file that an argument names: `-` is standard input or standard output.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::combination::Program;

const PARAMETERS: &str = include_str!("../../../sim/src/parameters/weir.toml");
const BRIEF: &str = "--workload one-packet --clients 1 --warm-up 0 --measured 2 --replications 1";

/// Runs `weir` with these arguments and this standard input, in an empty directory, and returns its
/// status, standard output and errors. It makes no file there.
fn weir(arguments: &str, input: &str) -> (Option<i32>, String, String) {
    let home = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(Program::Weir.path());
    command.args(arguments.split_whitespace()).current_dir(home.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("its input");
    // A program that does not read it may have ended.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = harness::output_of(child);
    let files = home.path().read_dir().expect("the directory").count();
    assert_eq!(files, 0, "weir {arguments}: a file was made");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_dash_is_standard_output() {
    for arguments in [
        format!("sim run mt {BRIEF} --json -"),
        format!("sim run mt {BRIEF} --json - --parameters -"),
    ] {
        let (status, told, errors) = weir(&arguments, PARAMETERS);
        assert_eq!(status, Some(0), "weir {arguments}: {errors}");
        let json: serde_json::Value = serde_json::from_str(&told).expect("JSON and nothing else");
        assert_eq!(json["model"], "mt", "weir {arguments}");
    }
    let describe = "load describe --workload surge --sessions 3 --wsesslog -";
    let (status, told, errors) = weir(describe, "");
    assert_eq!(status, Some(0), "{errors}");
    assert!(told.contains("\n/") && !told.contains("sample: "), "{told}");
}

#[test]
fn a_dash_is_standard_input() {
    let rows = [
        ("check -", "listen = \"127.0.0.1:8080\"\n", 0, "127.0.0.1:8080"),
        ("check -", "listen = 1\nbogus = 2\n", 2, "weir: -:2"),
        ("serve --config -", "", 2, "--config -: standard input cannot be read again"),
        ("load compare - -", "", 2, "A.json and B.json are both standard input"),
        ("load compare - /does/not/exist", "{}", 2, "-: "),
    ];
    for (arguments, input, status, says) in rows {
        let (ended, told, errors) = weir(arguments, input);
        assert_eq!(ended, Some(status), "weir {arguments}: {told}{errors}");
        assert!(format!("{told}{errors}").contains(says), "weir {arguments}: {told}{errors}");
    }
}
