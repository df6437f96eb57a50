//! Programs of others, as they are installed here.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use measure::Duration;

use crate::Failure;
use crate::hearing::hear;

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    /// What people call it.
    pub(crate) name: &'static str,
    /// What it is called on the disk.
    pub(crate) file: &'static str,
    /// What `apt-get install` takes.
    pub(crate) package: &'static str,
    /// What it is told to say its version.
    pub(crate) version: &'static str,
}

/// Where programs for root are, which the PATH of many users does not have.
const SYSTEM_PLACES: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Where the program of that file name is: looked for as a shell does, and among those for root.
pub(crate) fn path_of(file: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).filter(|place| !place.as_os_str().is_empty());
    let mut files = places.chain(SYSTEM_PLACES.map(PathBuf::from)).map(|place| place.join(file));
    files.find(|file| file.is_file())
}

impl Program {
    /// Where it is.
    ///
    /// # Errors
    /// It is not installed: a line that says how to.
    pub(crate) fn found(&self) -> Result<PathBuf, Failure> {
        path_of(self.file).ok_or_else(|| {
            let Self { name, package, .. } = self;
            Failure::Machine(format!("{name} is not installed: apt-get install {package}"))
        })
    }

    /// What it says of itself: `1.22.1`.
    ///
    /// # Errors
    /// It is not installed, or does not say.
    pub(crate) fn version(&self) -> Result<String, Failure> {
        self.version_of(&self.found()?)
    }

    /// The same of another one than is found.
    ///
    /// # Errors
    /// It does not say.
    pub(crate) fn version_of(&self, program: &Path) -> Result<String, Failure> {
        said(program, self.version, PATIENCE)
    }
}

/// A program says its version at once; a great one on a cold disk in some seconds. Who takes longer
/// does something else.
const PATIENCE: Duration = Duration::from_secs(20);

fn said(program: &Path, flag: &str, patience: Duration) -> Result<String, Failure> {
    let fault = |error| Failure::machine(program.display(), error);
    let mut command = Command::new(program);
    command.arg(flag).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(fault)?;
    let said = all(&mut child, patience);
    // It is at its end if it has said all; else it is ended.
    let _ = child.kill();
    let _ = child.wait();
    number(&String::from_utf8_lossy(&said.map_err(fault)?))
        .ok_or_else(|| Failure::Machine(format!("{} {flag} says no version", program.display())))
}

/// Its output, then its errors.
fn all(child: &mut Child, patience: Duration) -> io::Result<Vec<u8>> {
    let deadline = os::clock::monotonic() + patience;
    let mut said = match &mut child.stdout {
        Some(out) => hear(out, deadline, |_| false)?,
        None => Vec::new(),
    };
    if let Some(errors) = &mut child.stderr {
        said.extend(hear(errors, deadline, |_| false)?);
    }
    Ok(said)
}

/// The first number with a dot in it.
fn number(said: &str) -> Option<String> {
    let parts = said.split(|c: char| !c.is_ascii_digit() && c != '.');
    let mut numbers = parts.map(|part| part.trim_matches('.')).filter(|part| part.contains('.'));
    numbers.next().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_program_that_says_nothing() {
        let failure = said(Path::new("sleep"), "3600", Duration::ZERO).unwrap_err();
        assert_eq!(failure.to_string(), "sleep: timed out");
        let hour = Duration::from_secs(3_600);
        let failure = said(Path::new("echo"), "no", hour).unwrap_err();
        assert_eq!(failure.to_string(), "echo no says no version");
        assert_eq!(said(Path::new("echo"), "x 1.2", hour).unwrap(), "1.2");
    }

    #[test]
    fn versions_are_read_of_what_programs_say() {
        let rows = [
            ("nginx version: nginx/1.22.1\n", Some("1.22.1")),
            ("lighttpd/1.4.69 (ssl) - a light and fast webserver\n", Some("1.4.69")),
            ("h2o version 2.2.5\nOpenSSL: OpenSSL 3.0.19 27 Jan 2026\n", Some("2.2.5")),
            ("Server version: Apache/2.4.71 (Debian)\n", Some("2.4.71")),
            ("v2.6.2 h1:wKoFIxpmOJLGl3QXoo6PNbYvGW4xLEgo32GPBEjWL8o=\n", Some("2.6.2")),
            ("2.6.2\n", Some("2.6.2")),
            ("bpftrace v0.17.0\n", Some("0.17.0")),
            ("perf version 6.1.158\n", Some("6.1.158")),
            ("no such option.\n", None),
        ];
        for (said, expected) in rows {
            assert_eq!(number(said).as_deref(), expected, "{said}");
        }
    }
}
