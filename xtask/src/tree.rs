use std::{fs, io, path::Path};

use crate::source::Source;

/// The list of what was too long already; see its head.
pub(crate) const RATCHET: &str = "xtask/ratchet.txt";

/// The manual page, made from the tables of knobs and keys.
pub(crate) const MANUAL: &str = "docs/weir.1";

/// The files that the rules speak of, read once.
pub(crate) struct Tree {
    /// Rust sources, manifests and documents, by path.
    pub(crate) files: Vec<File>,
    /// The text of [`RATCHET`].
    pub(crate) ratchet: String,
    /// The text of [`MANUAL`]; empty where there is none yet.
    pub(crate) manual: String,
}

/// A text file of the tree.
pub(crate) struct File {
    /// From the root, with slashes.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
    /// Its parts, for Rust sources.
    pub(crate) source: Option<Source>,
}

impl Tree {
    /// Reads what lies under `root`, apart from what is built or fetched.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        collect(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let ratchet = fs::read_to_string(root.join(RATCHET))?;
        let manual = fs::read_to_string(root.join(MANUAL)).unwrap_or_default();
        Ok(Self { files, ratchet, manual })
    }

    /// The Rust sources, each with its parts.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files.iter().filter_map(|file| Some((file, file.source.as_ref()?)))
    }

    /// The Markdown files.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }
}

impl File {
    /// A file as it would be read from disk.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let source = path.ends_with(".rs").then(|| Source::split(text));
        Self { path: path.into(), text: text.into(), source }
    }
}

fn collect(root: &Path, below: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        // Hidden names are not of the project. An editor's lock is a link that leads nowhere.
        if name.starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if !["target", "corpus", "artifacts"].contains(&&*name) {
                collect(root, &path, files)?;
            }
        } else if [".rs", ".md", ".toml"].iter().any(|suffix| name.ends_with(suffix)) {
            files.push(File::new(&path, &fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}

#[cfg(test)]
impl Tree {
    /// A tree of one file.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self::of_files(&[(path, text)])
    }

    /// A tree of these paths and texts.
    pub(crate) fn of_files(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new(path, text)).collect();
        Self { files, ratchet: String::new(), manual: String::new() }
    }
}
