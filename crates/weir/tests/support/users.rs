//! The binary, run by who has few rights.

use std::path::Path;
use std::process::Command;

use super::combination::Program;
use super::command::copy_program;

/// The binary as user 65534, from a copy in `home` that everybody may run. Needs root.
pub(crate) fn as_nobody(home: &Path, arguments: &[String]) -> Command {
    as_user(65534, home, arguments)
}

/// The same as any user without rights.
pub(crate) fn as_user(user: u32, home: &Path, arguments: &[String]) -> Command {
    let binary = home.join("weir");
    if !binary.exists() {
        // Complete under its name, or not there: several may do so at the same time.
        let copy = tempfile::NamedTempFile::new_in(home).expect("a file").into_temp_path();
        copy_program(&Program::Weir.path(), &copy);
        copy.persist(&binary).expect("its name");
    }
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}")]);
    command.args(["--clear-groups", "--"]).arg(&binary).args(arguments);
    command
}
