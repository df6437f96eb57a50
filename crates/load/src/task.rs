//! A load as a value: what was said of it, in words, so that another process makes it or its part,
//! on this machine or on another one.

use serde::{Deserialize, Serialize};

use crate::choices::Choices;
use crate::knob;
use crate::knobs::KNOBS;
use crate::workload::one_url::OneUrl;
use crate::workload::settings::{KNOBS as WORKLOAD_KNOBS, Settings};
use crate::workload::{self, Workload};

/// See the head of this file. The same words are the same load: all that is drawn has a seed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What is asked for, as in `--workload`; `None`: the target alone.
    pub workload: Option<String>,
    /// The path of the URL.
    pub target: String,
    /// What was said of the run.
    pub choices: Said,
    /// What was said of the workload.
    pub settings: Said,
}

/// Values of knobs, each behind its name, in the order of their table.
pub type Said = Vec<(String, String)>;

impl Task {
    /// What was chosen of the run.
    ///
    /// # Errors
    /// A value makes no sense: one line.
    pub fn choices(&self) -> Result<Choices, String> {
        knob::told(KNOBS, &self.choices)
    }

    /// What was chosen of the workload.
    ///
    /// # Errors
    /// As [`Task::choices`].
    pub fn settings(&self) -> Result<Settings, String> {
        knob::told(WORKLOAD_KNOBS, &self.settings)
    }

    /// What is asked for.
    ///
    /// # Errors
    /// There is no such workload, or its file cannot be read: one line.
    pub fn workload(&self) -> Result<Box<dyn Workload + Send>, String> {
        match &self.workload {
            None => Ok(Box::new(OneUrl::new(&self.target))),
            Some(name) => workload::make(name, &self.settings()?),
        }
    }
}
