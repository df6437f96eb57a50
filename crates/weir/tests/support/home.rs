//! A place of its own for a server whose configuration and program change while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::combination::{Combination, Program};
use super::command::{copy_program, run, write_program};
use super::fixture::Fixture;
use super::server::Server;

/// A configuration and a program that can both be replaced.
pub(crate) struct Home {
    home: tempfile::TempDir,
    pub(crate) site: Fixture,
}

impl Home {
    pub(crate) fn new(site: Fixture) -> Self {
        Self { home: tempfile::tempdir().expect("a directory"), site }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes the configuration anew; without `others` about it, nobody administers.
    pub(crate) fn configure(&self, combination: &Combination, others: &str) {
        let poller = combination.poller.as_ref();
        let poller = poller.map_or(String::new(), |name| format!("poller = {name:?}\n"));
        let (root, architecture) = (self.site.root(), &combination.architecture);
        let admin = if others.contains("admin =") { "" } else { "admin = \"off\"\n" };
        let one = if combination.is_reduced() { "processes = 1\n" } else { "" };
        let text = format!(
            "root = {root:?}\narchitecture = {architecture:?}\n{poller}{one}{admin}\
             drain-timeout-ms = 600000\n{others}"
        );
        fs::write(self.path("weir.toml"), text).expect("a configuration");
    }

    /// Runs what lies in this home under that name.
    pub(crate) fn serve(&self, program: &Path) -> Server {
        let mut command = Command::new(program);
        command.args(["serve", "--config"]).arg(self.path("weir.toml"));
        Server::start(command, 0)
    }

    /// Weir, where it can be replaced.
    pub(crate) fn binary(&self) -> PathBuf {
        let binary = self.path("weir");
        copy_program(&Program::Weir.path(), &binary);
        binary
    }

    /// Puts another program in the place of Weir.
    pub(crate) fn replace(&self, content: &str) {
        let next = self.path("next");
        write_program(&next, content);
        fs::rename(&next, self.path("weir")).expect("in its place");
    }

    pub(crate) fn fifo(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        let (code, _, errors) = run(Command::new("mkfifo").arg(&path)).expect("mkfifo");
        assert_eq!(code, Some(0), "{errors}");
        path
    }
}
