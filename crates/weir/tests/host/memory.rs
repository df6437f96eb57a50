//! How much memory there is for connections.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::server::{Program, Server, on_every};

const LIMIT_MIB: u64 = 64;

/// A control group of memory, gone when dropped; needs root and one of the two versions.
struct Group(PathBuf);

impl Group {
    fn new(name: &str) -> Result<Self, String> {
        let name = format!("weir-test-{}-{name}", std::process::id());
        let versions =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        let mut why = String::from("no control groups of memory");
        for (at, limit) in versions {
            let group = Self(Path::new(at).join(&name));
            let made = fs::create_dir(&group.0)
                .and_then(|()| fs::write(group.0.join(limit), (LIMIT_MIB << 20).to_string()));
            match made {
                Ok(()) => return Ok(group),
                Err(error) => why = format!("no control groups of memory: {error}"),
            }
        }
        Err(why)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn connections_fit_into_the_memory_of_a_control_group() {
    let site = Fixture::new();
    on_every(Program::Weir, |combination| {
        let group = match Group::new(&combination.to_string().replace(' ', "-")) {
            Ok(group) => group,
            Err(why) => return println!("not tested: {why}"),
        };
        // The operator's flags; what bounds the connections, and whether he is warned.
        let rows: [(&[&str], &str, bool); 2] = [
            (&["--threads", "32768"], "memory", false),
            (&["--threads", "32768", "--connections-max", "4000"], "--connections-max", true),
        ];
        for (flags, bound, is_warned) in rows {
            let flags = if combination.takes(&["--threads", "1"]) { flags } else { &flags[2..] };
            let mut command = Command::new("sh");
            command.args(["-c", "echo $$ > \"$0\"/cgroup.procs; exec \"$@\""]).arg(&group.0);
            command.arg(combination.program.path());
            command.args(combination.arguments(&site.root(), flags));
            let mut server = Server::start(command, 0);
            let told = server.await_line("limits: ");
            assert!(told.contains(&format!("bound by {bound})")), "{combination}: {told}");
            let memory = format!(" of {LIMIT_MIB} MiB of the control group");
            assert!(told.contains(&memory), "{combination}: {told}");
            let said = server.stop();
            assert_eq!(
                said.contains("warning: 4000 connections"),
                is_warned,
                "{combination}: {said}"
            );
        }
    });
}
