//! A server of the operator's own, by the line that starts it in a shell.

use std::collections::BTreeMap;

use super::{Launch, Start, Subject, quoted};
use crate::Failure;

/// The name of such a subject.
pub const COMMAND: &str = "command";
/// What its line is kept by.
const LINE: &str = "line";

/// What a line may name, in braces.
const PLACES: [&str; 5] = ["address", "host", "port", "site", "scratch"];

pub(super) fn subject(line: &str) -> Subject {
    let knobs = BTreeMap::from([(LINE.into(), line.into())]);
    Subject { name: COMMAND.into(), knobs }
}

pub(super) fn line(knobs: &BTreeMap<String, String>) -> &str {
    knobs.get(LINE).map_or("", String::as_str)
}

/// It has to say where the server listens in one way or another.
pub(super) fn judge(knobs: &BTreeMap<String, String>) -> Result<(), Failure> {
    let line = line(knobs);
    if line.contains("{port}") || line.contains("{address}") {
        return Ok(());
    }
    let places = PLACES.map(|name| format!("{{{name}}}")).join(", ");
    Err(Failure::Operator(format!(
        "command:{line} has to say where it listens, as in command:myserver -l {{address}} \
         {{site}}; it may name {places}"
    )))
}

pub(super) fn launch(knobs: &BTreeMap<String, String>, start: &Start<'_>) -> Launch {
    let values = [
        start.address.to_string(),
        start.address.ip().to_string(),
        start.address.port().to_string(),
        start.site.display().to_string(),
        start.scratch.display().to_string(),
    ];
    let mut line = String::from(line(knobs));
    for (name, value) in PLACES.iter().zip(values) {
        line = line.replace(&format!("{{{name}}}"), &quoted(&value));
    }
    Launch {
        program: "/bin/sh".into(),
        arguments: vec![String::from("-c"), line],
        environment: Vec::new(),
    }
}

/// The name of the program.
pub(super) fn label(knobs: &BTreeMap<String, String>) -> String {
    let words = line(knobs).split_whitespace();
    let program = words.map(|word| word.rsplit('/').next().unwrap_or(word));
    // Variables for its environment stand before it.
    program.into_iter().find(|word| !word.contains('=')).unwrap_or(COMMAND).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Host;
    use std::net::Ipv4Addr;
    use std::path::Path;

    #[test]
    fn a_line_is_told_where_and_what() {
        let host = Host { address: Ipv4Addr::LOCALHOST.into(), placement: Default::default() };
        let start = Start {
            executable: Path::new("weir"),
            host: &host,
            address: "127.0.0.1:80".parse().unwrap(),
            site: Path::new("/a b/it's"),
            scratch: Path::new("/tmp/x"),
            is_as_in_papers: false,
        };
        let rows = [
            ("s {address} {site}", "s 127.0.0.1:80 '/a b/it'\\''s'"),
            ("s -h {host} -p {port} > {scratch}/log", "s -h 127.0.0.1 -p 80 > /tmp/x/log"),
            ("s {port} {other} ${HOME}", "s 80 {other} ${HOME}"),
        ];
        for (line, expected) in rows {
            let launch = launch(&subject(line).knobs, &start);
            assert_eq!(launch.arguments, ["-c", expected], "{line}");
        }
    }
}
