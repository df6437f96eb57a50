//! What the lab measures, started as the lab does.

mod faults;
#[path = "../../../lab/tests/it/machine/mod.rs"]
mod machine;
mod refusals;
mod runs;
mod stops;
mod subjects;
mod wrong;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, iter};

use lab::subject::{NotStarted, Running, Start, Subject};
use lab::testbed::{Layout, Testbed};

/// A site, and a place for what a subject writes; anybody may read the site.
struct Bench {
    home: tempfile::TempDir,
    testbed: Testbed,
}

impl Bench {
    /// With the files of a workload.
    fn new(workload: &[&str]) -> Self {
        let layout = Layout { is_loopback: true, ..Layout::default() };
        Self::on(Testbed::up(&layout).expect("the loopback"), workload)
    }

    fn on(testbed: Testbed, workload: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        let bench = Self { home, testbed };
        let mut make = Command::new(executable());
        make.args(["load", "make-site"]).arg(bench.site()).arg("--workload").args(workload);
        let (status, _, errors) = crate::support::command::run(&mut make).expect("it runs");
        assert_eq!(status, Some(0), "{workload:?}: {errors}");
        fs::create_dir(bench.scratch()).expect("its place");
        bench
    }

    fn site(&self) -> PathBuf {
        self.home.path().join("site")
    }

    fn scratch(&self) -> PathBuf {
        self.home.path().join("scratch")
    }

    /// On a port that nobody has.
    fn start(&self, subject: &Subject) -> Result<(Running, SocketAddr), NotStarted> {
        // Somebody else may have it before the subject: then there is another.
        const ATTEMPTS: usize = 8;
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let address = free_address();
            match self.start_at(subject, address) {
                Ok(running) => return Ok((running, address)),
                Err(why) if is_taken(&why.to_string()) => last = Some(why),
                Err(why) => return Err(why),
            }
        }
        panic!("no port is to be had: {last:?}");
    }

    fn start_at(&self, subject: &Subject, address: SocketAddr) -> Result<Running, NotStarted> {
        let (site, scratch) = (self.site(), self.scratch());
        Running::start(
            subject,
            &Start {
                executable: executable(),
                host: &self.testbed.server,
                address,
                site: &site,
                scratch: &scratch,
                is_as_in_papers: false,
            },
        )
    }
}

/// Whether that is what is said of a port.
fn is_taken(what: &str) -> bool {
    what.contains(" is taken by ") || what.to_lowercase().contains("already in use")
}

fn executable() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_weir"))
}

/// Whether a process is there; one that has ended is not, though nobody may have looked yet.
fn runs(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// An address below the ports that the kernel gives to other tests, and below those of a lab.
pub(crate) fn free_address() -> SocketAddr {
    const FIRST: u16 = 10_000;
    const COUNT: u16 = 6_000;
    /// How many there are before those of the next run, as several may go on at the same time.
    const OF_EACH_RUN: u32 = 64;
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(OF_EACH_RUN);
    let next = || {
        let place = begin.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % u32::from(COUNT);
        SocketAddr::from((Ipv4Addr::LOCALHOST, FIRST + place as u16))
    };
    let mut tried = iter::repeat_with(next).take(usize::from(COUNT));
    tried.find(|address| TcpListener::bind(address).is_ok()).expect("a free port")
}

fn subject(text: &str) -> Subject {
    lab::subject::resolve(text).unwrap_or_else(|failure| panic!("{text}: {failure}"))
}
