//! The manual page weir(1), made from the same tables as flags and documentation.

use std::fmt::Write as _;

use config::keys::KEYS;
use lab::experiments::EXPERIMENTS;
use lab::setup::Setup;
use load::choices::Choices;
use load::knob::Knob;
use load::workload::WORKLOADS;
use servers::architectures::ARCHITECTURES;
use servers::knobs;
use servers::settings::Settings;

use crate::finding::Finding;
use crate::tree::{MANUAL, Tree};

pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let fresh = manual();
    let mut lines = (1..).zip(tree.manual.lines().zip(fresh.lines()));
    let line = lines.find(|(_, (old, new))| old != new).map_or(1, |(line, _)| line);
    let what = "not what the code says: `cargo xtask generate` rewrites it";
    let stale = (fresh != tree.manual).then(|| Finding::new(MANUAL, line, what));
    stale.into_iter().collect()
}

const HEAD: &str = r#".TH WEIR 1
.SH NAME
weir \- web server for static sites whose concurrency architecture is a choice
.SH SYNOPSIS
.B weir serve
.RI [ DIR ]
.RB [ \-\-config
.IR FILE ]
.RI [ "FLAG VALUE" ]...
.br
.B weir load
.I URL
.RB [ \-\-workload
.IR NAME ]
.RI [ "FLAG VALUE" ]...
.br
.B weir load make\-site
.I DIR
.RB [ \-\-workload
.IR NAME ]
.RI [ "FLAG VALUE" ]...
.br
.B weir load describe
.RB [ \-\-workload
.IR NAME ]
.RI [ "FLAG VALUE" ]...
.br
.B weir load compare
.I A.json B.json
.br
.B weir lab
.RI [ "FLAG VALUE" ]...
.br
.B weir lab run
.IR NAME ...
.RI [ "FLAG VALUE" ]...
.br
.B weir lab tune
.RI [ "FLAG VALUE" ]...
.br
.B weir lab again
.I DIR
.RI [ "FLAG VALUE" ]...
.br
.B weir lab report
.IR DIR ...
.RB [ \-\-out
.IR DIR ]
.br
.B weir lab floor
.I NAME ADDR FILE
.br
.B weir lab list
.br
.B weir lab testbed
.BR up | down | status
.RI [ "FLAG VALUE" ]...
.br
.B weir check
.I FILE
.RB [ \-\-explain
.IR URL ]
.br
.B weir completions
.I SHELL
.SH DESCRIPTION
.B weir serve
serves the files of a directory, by default the current one on port 8080.
.PP
.B weir load
asks a server as many clients would, in an open loop by
.B \-\-rate
or a closed one by
.BR \-\-clients ,
for one URL or for what a workload asks, and reports what happened.
.B weir load make\-site
makes the files that a workload asks for, and
.B weir load describe
says what it will ask: of so many
.BR \-\-sessions ,
drawn by
.BR \-\-seed ,
which
.B \-\-wsesslog
writes to a file for httperf; of a log
.B \-\-hints
writes which paths were asked for most often, for a server's cache.
.B weir load compare
compares two results of
.BR \-\-json .
.PP
.B weir lab
answers which server and which knobs are best on this machine, and what happens at
twice the load: it measures Weir's architectures and other servers, and writes a page.
.B weir lab run
answers other questions, which
.B weir lab list
has;
.B weir lab tune
looks for the best knobs of a server, and with
.B \-\-all
of each.
A run that was stopped goes on with the same
.BR \-\-dir .
.B weir lab again
asks once more what a run has asked, and says whether the same comes out.
.B weir lab report
makes the page of results again, of several runs together if need be.
.B weir lab floor
serves one file with the least that a server can do, to measure others by.
.B weir lab testbed
makes the two machines of an experiment for trying something by hand, and takes them down.
.PP
.B weir check
reports every mistake in a file, or what the file would serve.
It tries what
.B weir serve
would open, and leaves nothing behind.
With
.B \-\-explain
it says which host and which rules a URL has, and which of them answers.
.PP
.B weir completions
prints what bash, zsh, fish, elvish or powershell need to complete flags.
"#;

const TAIL: &str = r#".SH SIGNALS
Of
.BR "weir serve" :
.TP
SIGTERM, SIGINT
It finishes what it has in hand and ends; a second one ends it at once.
.TP
SIGHUP
With
.B --config
it reads its file again and serves by that. With a mistake in the file it serves on as before, and
the error log says why. Without, the server ends if it was started in a terminal, does nothing
under nohup(1), and starts its workers anew otherwise.
.TP
SIGUSR1
It opens its logs again, whose files have other names now.
.TP
SIGUSR2
The program that is in the place of this one takes over, as another process.
.PP
Of
.BR "weir load" :
SIGINT or SIGTERM ends a run early, with its results; a second one ends it without.
.SH FILES
.TP
/etc/weir/weir.toml
What the service of the Debian package serves.
.TP
/var/log/weir/access.log
Its access log, which logrotate keeps short.
.TP
/usr/share/doc/weir
These documents, with more of them.
.SH EXAMPLES
A folder to look through, for this machine alone:
.PP
.B weir serve photos \-\-listing \-\-listen 127.0.0.1:8080
.PP
Hosts and rules of a file, and which of them a URL has:
.PP
.B weir serve \-\-config weir.toml
.br
.B weir check weir.toml \-\-explain example.org/docs/
.PP
How much a server can do, and whether it answers 2,000 requests a second in time:
.PP
.B weir load localhost:8080
.br
.B weir load localhost:8080 \-\-rate 2000 \-\-expect 'p99<50ms'
.SH EXIT STATUS
0: done. 1: a run failed, or results of a load or of the lab are missing, invalid or of a server
that failed. 2: wrong usage or configuration.
3: the machine refuses (port, permission, limit).
130: a second SIGINT or SIGTERM ended a load without its results, or one ended the lab, which keeps
what it has measured.
.SH SEE ALSO
.BR curl (1),
.BR systemctl (1),
.BR logrotate (8)
"#;

/// The whole page.
pub(crate) fn manual() -> String {
    let defaults = Settings::default();
    let mut page = String::from(HEAD);
    page.push_str(".SH FLAGS\nOf\n.B weir serve\nalone.\n");
    for config::folder::Flag { name, value, reason } in config::folder::FLAGS {
        entry(&mut page, &format!("--{name}"), value, reason);
    }
    page.push_str(".SH FLAGS AND KEYS\nEach is a flag, and a key of the configuration file.\n");
    for knob in knobs::all() {
        let takers = knob.takers();
        entry(&mut page, &format!("--{}", knob.name), knob.value, knob.reason);
        let _ = writeln!(page, ".br\nDefault: {}", escaped(&(knob.show)(&defaults)));
        if takers.len() < ARCHITECTURES.len() {
            let _ = writeln!(page, "Taken by {}.", escaped(&takers.join(", ")));
        }
    }
    page.push_str(
        ".SH CONFIGURATION FILE\nIn TOML. The flags' names are keys of it, and flags win.",
    );
    page.push_str("\nRelative paths are relative to the file. Besides there are these keys.\n");
    let mut table = "";
    for key in KEYS {
        if key.table != table {
            table = key.table;
            let _ = writeln!(page, ".SS {}", escaped(table));
        }
        entry(&mut page, key.name, key.value, key.reason);
        if !key.default.is_empty() {
            let _ = writeln!(page, ".br\nDefault: {}", escaped(key.default));
        }
    }
    page.push_str(".SH LOAD\nFlags of\n.BR \"weir load\" .\n");
    knobs(&mut page, load::knobs::KNOBS, &Choices::default());
    page.push_str(".SS Workloads\nNames for\n.BR \\-\\-workload .\n");
    for row in WORKLOADS {
        entry(&mut page, &row.spelling(), "", row.is);
    }
    page.push_str(".SS Flags of workloads\n");
    knobs(&mut page, load::workload::settings::KNOBS, &Default::default());
    laboratory(&mut page);
    page.push_str(".SH ARCHITECTURES\n");
    for row in ARCHITECTURES {
        entry(&mut page, row.name, "", row.is);
    }
    page.push_str(TAIL);
    page
}

fn laboratory(page: &mut String) {
    page.push_str(".SH LAB\nFlags of\n.BR \"weir lab\" ,\n.B run\nand\n.BR tune .\n");
    knobs(page, lab::knobs::KNOBS, &Setup::default());
    entry(
        page,
        "--dir",
        "DIR",
        "where results and the page go; what is there already is not measured again; by default \
         weir-lab/ and the time",
    );
    let sites = "where the files that are served are made, and kept for the next run; by default \
                 weir-lab/sites";
    entry(page, "--sites", "DIR", sites);
    page.push_str(".SS Questions\nNames for\n.BR \"weir lab run\" .\n");
    for experiment in EXPERIMENTS {
        item(page, experiment.name, experiment.paper, experiment.question);
    }
}

/// Those of a load, or of the lab.
fn knobs<C>(page: &mut String, table: &[Knob<C>], defaults: &C) {
    for Knob { name, value, reason, show, .. } in table {
        entry(page, &format!("--{name}"), value, reason);
        let _ = writeln!(page, ".br\nDefault: {}", escaped(&show(defaults)));
    }
}

fn entry(page: &mut String, name: &str, value: &str, reason: &str) {
    item(page, name, value, &format!("{reason}."));
}

fn item(page: &mut String, name: &str, value: &str, text: &str) {
    let (name, value, text) = (escaped(name), escaped(value), escaped(text));
    let _ = writeln!(page, ".TP\n\\fB{name}\\fR \\fI{value}\\fR\n\\&{text}");
}

/// As troff takes it for itself: its escapes, and hyphens that can be copied.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_name_and_no_line_that_troff_takes_for_an_order() {
        let page = manual();
        let names = knobs::all().map(|knob| knob.name).chain(KEYS.iter().map(|key| key.name));
        for name in names.chain(EXPERIMENTS.iter().map(|experiment| experiment.name)) {
            assert!(page.contains(&escaped(name)), "{name}");
        }
        let orders =
            [".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".BR", ".RI", ".RB", ".IR", ".br"];
        for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
            let order = line.split(' ').next().unwrap_or_default();
            assert!(orders.contains(&order), "{line}");
        }
    }
}
