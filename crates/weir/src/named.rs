//! A file that an argument names, where `-` stands for standard input or standard output.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

const STANDARD: &str = "-";

/// Whether the name stands for standard input or standard output.
pub(crate) fn is_standard(name: impl AsRef<Path>) -> bool {
    name.as_ref() == Path::new(STANDARD)
}

/// Reads all of a file.
pub(crate) fn read(name: &str) -> io::Result<String> {
    if !is_standard(name) {
        return fs::read_to_string(name);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map(|_| text)
}

/// Makes a file to be written.
pub(crate) fn create(name: &Path) -> io::Result<Box<dyn Write>> {
    if is_standard(name) { Ok(Box::new(io::stdout())) } else { Ok(Box::new(File::create(name)?)) }
}
