//! The registry: every architecture, and who performs which step in it.

mod amped;
mod mt;
mod proactor;
mod sped;

use std::io;

use crate::shared::performer::Performer;
use crate::shared::server::Server;
use crate::shared::settings::{ACCEPT_INF, Sendfile};

/// One architecture.
pub struct Architecture {
    /// As in `--architecture NAME`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub is: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// Who takes connections.
    pub accept: Performer,
    /// Who receives and sends.
    pub transfer: Performer,
    /// Who translates paths, opens and stats.
    pub path: Performer,
    /// Who waits for pages of files.
    pub pages: Performer,
    /// Whether it has a getevents phase, so that it takes `--poller`.
    pub polls: bool,
    /// Whether threads of one process share one descriptor for each connection held.
    pub connection_per_thread: bool,
    /// Connections taken consecutively where the operator does not say: a loop takes all that wait,
    /// because it alone accepts.
    pub accept_limit: u32,
    /// The ways of file parts that it has, the one it takes by itself first.
    pub sendfile: &'static [Sendfile],
    /// Runs one worker until it has drained.
    pub run: fn(&Server, usize) -> io::Result<()>,
}

/// The table.
pub const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "sped",
        is: "one process, one loop, three phases: getevents, accept, work; the disk blocks all",
        paper: "Brecht04 4.1",
        accept: Performer::Loop,
        transfer: Performer::Loop,
        path: Performer::Loop,
        pages: Performer::Loop,
        polls: true,
        connection_per_thread: false,
        accept_limit: ACCEPT_INF,
        sendfile: &[Sendfile::Nonblocking, Sendfile::Off],
        run: sped::sped,
    },
    Architecture {
        name: "amped",
        is: "the same loop, with helper threads for what may touch the disk",
        paper: "Choi05 2 and 3.1",
        accept: Performer::Loop,
        transfer: Performer::Loop,
        path: Performer::Helper,
        pages: Performer::Helper,
        polls: true,
        connection_per_thread: false,
        accept_limit: ACCEPT_INF,
        sendfile: &[Sendfile::Nonblocking, Sendfile::Off],
        run: amped::amped,
    },
    Architecture {
        name: "mt",
        is: "a pool of kernel threads, one connection each, blocking calls, one shared cache",
        paper: "JAWS97 3.2.3",
        accept: Performer::Thread,
        transfer: Performer::Thread,
        path: Performer::Thread,
        pages: Performer::Thread,
        polls: false,
        connection_per_thread: true,
        accept_limit: 1,
        sendfile: &[Sendfile::Blocking, Sendfile::Off],
        run: mt::mt,
    },
    Architecture {
        name: "proactor",
        is: "one loop on a completion ring: every want is a submission, every event a completion",
        paper: "JAWS97 3.2.3",
        accept: Performer::Ring,
        transfer: Performer::Ring,
        path: Performer::Loop,
        pages: Performer::Ring,
        polls: false,
        connection_per_thread: false,
        accept_limit: ACCEPT_INF,
        sendfile: &[],
        run: proactor::proactor,
    },
];

/// Finds an architecture by its name.
#[must_use]
pub fn architecture(name: &str) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().find(|row| row.name == name)
}

/// All names, for messages.
#[must_use]
pub fn names() -> String {
    ARCHITECTURES.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// The table as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from("| name | is | paper | accept | receive, send | path | pages |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for row in ARCHITECTURES {
        let [accept, transfer, path, pages] =
            [row.accept, row.transfer, row.path, row.pages].map(Performer::name);
        text.push_str(&format!(
            "| `{}` | {} | {} | {accept} | {transfer} | {path} | {pages} |\n",
            row.name, row.is, row.paper
        ));
    }
    text
}
