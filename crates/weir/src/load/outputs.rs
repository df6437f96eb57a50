//! Where a report goes beside the terminal. Files are made before the run: who waits for minutes is
//! not told only then that there is no such folder.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use load::choices::Choices;
use load::collector::times::Times;
use load::engine::Failure;
use load::report::{Report, hgrm, json};

use crate::named;

pub(super) struct Outputs {
    json: Option<Output>,
    /// In the order of [`HISTOGRAMS`].
    hgrm: Vec<Output>,
}

enum Output {
    Standard,
    File(PathBuf, File),
}

type Histogram = for<'r> fn(&Report<'r>) -> &'r Times;

const HISTOGRAMS: [(&str, Histogram); 4] = [
    ("connect", |report| &report.results.requests.connect),
    ("first-byte", |report| &report.results.requests.first_byte),
    ("whole", |report| &report.results.requests.whole),
    ("lag", |report| &report.results.requests.lag),
];

impl Outputs {
    pub(super) fn create(choices: &Choices) -> Result<Self, Failure> {
        let json = choices.json.as_deref().map(|path| match named::is_standard(path) {
            true => Ok(Output::Standard),
            false => Output::create(path),
        });
        let mut hgrm = Vec::new();
        if let Some(prefix) = &choices.hgrm {
            for (name, _) in HISTOGRAMS {
                let mut path = prefix.clone();
                path.as_mut_os_string().push(format!(".{name}.hgrm"));
                hgrm.push(Output::create(&path)?);
            }
        }
        Ok(Self { json: json.transpose()?, hgrm })
    }

    /// Whether the standard output is taken.
    pub(super) const fn shows_json(&self) -> bool {
        matches!(self.json, Some(Output::Standard))
    }

    /// Writes all; says what could not be written.
    pub(super) fn write(&mut self, report: &Report<'_>) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(output) = &mut self.json {
            faults.extend(output.write(&json::text(report)));
        }
        for (output, (_, histogram)) in self.hgrm.iter_mut().zip(HISTOGRAMS) {
            faults.extend(output.write(&hgrm::text(histogram(report))));
        }
        faults
    }
}

impl Output {
    fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path);
        let file =
            file.map_err(|error| Failure::Machine(format!("{}: {error}", path.display())))?;
        Ok(Self::File(path.into(), file))
    }

    /// Says why it could not be written.
    fn write(&mut self, text: &str) -> Option<String> {
        match self {
            Self::Standard => crate::print(text),
            Self::File(path, file) => {
                let done = file.write_all(text.as_bytes());
                done.err().map(|error| format!("{}: {error}", path.display()))
            }
        }
    }
}
