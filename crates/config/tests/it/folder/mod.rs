//! Files to read, in a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};

use config::Flags;
use servers::settings::Settings;

/// A directory in which `site` is a directory, too.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        fs::create_dir(folder.path().join("site")).expect("a root");
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(&path, content).expect("written");
        path
    }

    /// The settings of a file, or its mistakes with names as seen from here.
    pub(crate) fn read(&self, path: &Path, flags: Flags<'_>) -> Result<Settings, Vec<String>> {
        let here = format!("{}/", self.0.path().display());
        let told = |fault: config::Fault| fault.to_string().replace(&here, "");
        config::read(path, flags).map_err(|faults| faults.into_iter().map(told).collect())
    }

    /// The same for one file without flags.
    pub(crate) fn text(&self, content: &str) -> Result<Settings, Vec<String>> {
        self.read(&self.write("weir.toml", content), Flags::default())
    }
}
