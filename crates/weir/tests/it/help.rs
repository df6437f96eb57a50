//! What the command line says by itself: help in short and whole, what was probably meant, and what
//! shells complete.

use std::process::Command;

use crate::support::combination::Program;
use crate::support::command::run;
use servers::knobs;

/// Wrong usage or configuration.
const USAGE: i32 = 2;

/// The status, the output and the errors.
fn weir(arguments: &[&str]) -> (Option<i32>, String, String) {
    run(Command::new(Program::Weir.path()).args(arguments)).expect("the binary runs")
}

#[test]
fn who_says_nothing_is_told_what_there_is() {
    let (code, output, errors) = weir(&[]);
    assert_eq!((code, output.as_str()), (Some(USAGE), ""));
    for tool in ["weir serve ", "weir load http://", "weir lab ", "weir --help"] {
        assert!(errors.contains(tool), "{tool}: {errors}");
    }
}

#[test]
fn what_was_probably_meant_is_named() {
    let rows: [(&[&str], &str); 22] = [
        (&["serve", "--lisen", "8080"], "--listen"),
        (&["serve", "--archtecture", "mt"], "--architecture"),
        (&["serve", "--pidfile", "x"], "--pid-file"),
        (&["serve", "--port", "9000"], "--listen"),
        (&["serve", "-p", "9000"], "--listen"),
        (&["serve", "--architecture", "apmed"], "amped"),
        (&["serve", "--poller", "epol"], "epoll"),
        (&["serve", "--log-format", "JSON"], "json"),
        (&["serv"], "serve"),
        (&["laod", "http://localhost/"], "load"),
        (&["load", "--port", "80", "localhost"], "host:port"),
        (&["version"], "--version"),
        (&["check", "x", "--explan", "y"], "--explain"),
        (&["serve", "--workers", "4"], "--processes"),
        (&["serve", "--browse"], "--listing"),
        (&["serve", "-c", "weir.toml"], "--config"),
        (&["serve", "--spa"], "--fallback"),
        (&["load", "-R", "100", "localhost"], "--rate"),
        (&["load", "-z", "10s", "localhost"], "--duration"),
        (&["load", "--timeout", "1", "localhost"], "--patience"),
        (&["load", "--vus", "10", "localhost"], "--clients"),
        (&["load", "--rps", "10", "localhost"], "--rate"),
    ];
    for (arguments, meant) in rows {
        let (code, _, errors) = weir(arguments);
        assert_eq!((code, errors.lines().count()), (Some(USAGE), 1), "{arguments:?}: {errors}");
        assert!(errors.contains(&format!("did you mean `{meant}`?")), "{arguments:?}: {errors}");
    }
    let rows = [["serve", "--frobnicate"], ["check", "--port"], ["lab", "--root"]];
    let others = [["serve", "--response"], ["load", "--rest-of"], ["serve", "--listing=yes"]];
    for arguments in rows.into_iter().chain(others) {
        let (code, _, errors) = weir(&arguments);
        assert!(code == Some(USAGE) && !errors.contains("did you mean"), "{errors}");
    }
}

#[test]
fn what_has_no_flag_leads_to_its_document() {
    let rows = [
        (["serve", "--tls-cert"], "docs/host.md#https"),
        (["serve", "--auth"], "docs/configuration.md#passwords"),
        (["serve", "--cors"], "`cors` in a rule"),
        (["serve", "--compress"], "such as a.css.gz"),
        (["serve", "--daemon"], "docs/host.md#systemd"),
        (["load", "--latency"], "always in the report"),
        (["load", "--http2"], "HTTP/1.1 over TCP"),
    ];
    for (arguments, words) in rows {
        let (code, _, errors) = weir(&arguments);
        assert_eq!((code, errors.lines().count()), (Some(USAGE), 1), "{arguments:?}: {errors}");
        assert!(errors.contains(words) && !errors.contains("did you mean"), "{errors}");
    }
}

#[test]
fn help_is_short_or_whole() {
    /// What fits on a terminal.
    const LINES_MAX: usize = 40;
    let rows: [(&str, &[&str], &str); 2] = [
        ("serve", &["--listen", "--listing", "weir serve site"], "--phase-ms"),
        ("load", &["-c, --clients", "-d, --duration", "compare", "-c 16 -d 30s"], "--patience"),
    ];
    for (tool, parts, left_out) in rows {
        let (code, short, _) = weir(&[tool, "-h"]);
        assert_eq!(code, Some(0));
        assert!(short.lines().count() <= LINES_MAX, "{} lines: {short}", short.lines().count());
        for part in parts.iter().chain(&["--help has all flags", "Examples:"]) {
            assert!(short.contains(part), "{part}: {short}");
        }
        assert!(!short.contains(left_out), "{short}");
    }
    let (code, whole, _) = weir(&["serve", "--help"]);
    assert_eq!(code, Some(0));
    for knob in knobs::all() {
        assert!(whole.contains(&format!("--{} <{}>", knob.name, knob.value)), "{}", knob.name);
    }
    let example = whole.find("Examples:").expect("examples");
    assert!(whole[example..].lines().count() < 10, "at the end");
    let tools: [&[&str]; 9] = [
        &[],
        &["serve"],
        &["load"],
        &["load", "make-site"],
        &["load", "describe"],
        &["load", "compare"],
        &["lab"],
        &["check"],
        &["completions"],
    ];
    for tool in tools {
        let (code, all, _) = weir(&[tool, &["--help"]].concat());
        assert!(code == Some(0) && all.contains("Examples:"), "{tool:?}: {all}");
    }
}

#[test]
fn shells_complete_values() {
    let home = tempfile::tempdir().expect("a directory");
    let script = home.path().join("weir.bash");
    std::fs::write(&script, weir(&["completions", "bash"]).1).expect("written");
    let rows: [(&[&str], &[&str]); 14] = [
        (&["serve", "--architecture", ""], &["sped", "amped", "mt", "mp", "proactor"]),
        (&["serve", "--architecture", "pro"], &["proactor"]),
        (&["serve", "--poller", ""], &["select", "poll", "epoll"]),
        (&["serve", "--log-format", ""], &["common", "combined", "json"]),
        (&["serve", "--landlock", ""], &["on", "off", "auto"]),
        (&["load", "--workload", "spec"], &["specweb99"]),
        (&["load", "--method", ""], &["GET", "HEAD"]),
        (&["load", "--method", "H"], &["HEAD"]),
        (&["load", "make-site", "--workload", "spec"], &["specweb99"]),
        (&["lab", "run", "ref"], &["refusal"]),
        (&["serve", "--pid"], &["--pid-file"]),
        (&["serve", ""], &[]),
        (&["check", ""], &[]),
        (&["load", "compare", ""], &[]),
    ];
    for (words, expected) in rows {
        let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        let (at, last) = (words.len(), words[words.len() - 1]);
        let completes = format!(
            "source {}; COMP_WORDS=(weir {}); COMP_CWORD={at}; _weir weir '{last}' '{}'; \
             echo \"${{COMPREPLY[@]}}\"",
            script.display(),
            quoted.join(" "),
            if at > 1 { words[at - 2] } else { "weir" },
        );
        let (code, output, errors) =
            run(Command::new("bash").args(["-c", &completes])).expect("bash");
        assert_eq!(code, Some(0), "{errors}");
        let offered: Vec<_> = output.split_whitespace().collect();
        assert!(expected.iter().all(|word| offered.contains(word)), "{words:?}: {offered:?}");
        // Nothing of ours: bash then offers files.
        assert!(!expected.is_empty() || offered.is_empty(), "{words:?}: {offered:?}");
    }
}
