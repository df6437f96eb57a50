//! The file with the supervisor's number.

use std::io;
use std::path::Path;

use os::PidFile;

use super::start::unwritable;
use super::upgrade::Inheritance;
use super::voice::Voice;
use crate::shared::failure::Failure;
use crate::shared::settings::Settings;

/// Takes the file that the settings name. The number of this process is in it then, unless it was
/// another's, who serves until it is handed over.
pub(super) fn take(
    settings: &Settings,
    inheritance: Option<&Inheritance>,
) -> Result<Option<PidFile>, Failure> {
    let Some(path) = &settings.pid_file else { return Ok(None) };
    if let Some(taken) = inheritance.and_then(|before| before.pid_file(path)) {
        return taken.map(Some).map_err(|e| refused(settings, path, &e));
    }
    let taken = PidFile::take(path).and_then(|mut file| file.write().map(|()| file));
    taken.map(Some).map_err(|e| refused(settings, path, &e))
}

/// Signals are for this process, from now on or again.
pub(super) fn write(file: Option<&mut PidFile>, voice: &mut Voice<'_>) {
    if let Some(Err(e)) = file.map(PidFile::write) {
        voice.complain(&format!("the file of --pid-file cannot be written: {e}"));
    }
}

/// Why that file cannot be had.
fn refused(settings: &Settings, path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            let said = settings.said("pid-file", path.display());
            let mend = "stop that, or name another file";
            Failure::Machine(format!("{said}: {error} and lives; {mend}"))
        }
        _ => Failure::Operator(unwritable(settings, "pid-file", path.display(), error)),
    }
}
