//! What a workload does, told by a sample of its sessions beside what its model says: whoever reads
//! a result can see what was asked, and an error in a distribution shows before it spoils a run.

mod shares;

use std::collections::BTreeSet;
use std::fmt;

use crate::files::Files;
use crate::session::Session;
use crate::source::model::{Model, Popularity};
use crate::source::{self, Workload};
use crate::units;

/// The parts of all requests whose working set is told.
const PARTS: [f64; 3] = [0.5, 0.9, 0.99];

/// See the head of this file.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Of the workload.
    pub name: String,
    /// How many may be asked for.
    pub files: usize,
    /// Of them, those whose size is not known.
    pub unknown: usize,
    /// The others, in bytes.
    pub bytes: u64,
    /// Sessions of the sample.
    pub sessions: u32,
    /// Their requests.
    pub requests: u64,
    /// What the sample was drawn with.
    pub seed: u64,
    /// What whoever reads it has to know beside: see [`Workload::notes`].
    pub notes: Option<String>,
    /// What it comes to.
    pub rows: Vec<Row>,
}

/// One statistic.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub what: String,
    /// What its values are.
    pub unit: Unit,
    /// Of the sample; `None`: it has none.
    pub sample: Option<f64>,
    /// Of the model; `None`: it says nothing of that.
    pub model: Option<f64>,
}

/// The unit of a statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A share of 1, told in percent.
    Share,
    /// Bytes.
    Bytes,
    /// Millions of bytes.
    Megabytes,
    /// Seconds.
    Seconds,
    /// None.
    Number,
}

/// Draws so many sessions, or one pass of a workload that has fewer, and tells what they come to.
/// 100,000 put specweb99's statistics within
/// about 1 % of the model, but for the working set of 99 % of requests: most files are asked for so
/// seldom then that their order is chance.
pub fn describe(name: &str, workload: &mut dyn Workload, sessions: u32, seed: u64) -> Description {
    let model = workload.model();
    let sessions = source::within_pass(workload, sessions);
    let mut sample = Sample::of_none(workload.files().count());
    for number in 0..u64::from(sessions) {
        let (mut asking, mut thinking) = source::draws(seed, number);
        sample.add(&workload.session(number, &mut asking, &mut thinking), model.parallel);
    }
    let files = workload.files();
    let mut rows = by_files(files, &sample.shares(), &model);
    rows.extend(by_sessions(&sample, &model));
    Description {
        name: name.into(),
        files: files.count(),
        unknown: files.iter().filter(|(_, file)| file.bytes.is_none()).count(),
        bytes: files.iter().filter_map(|(_, file)| file.bytes).sum(),
        sessions,
        requests: sample.requests,
        seed,
        notes: workload.notes(),
        rows,
    }
}

/// What has been drawn.
struct Sample {
    /// Requests by file.
    counts: Vec<u64>,
    sessions: u64,
    requests: u64,
    conditional: u64,
    pages: u64,
    connections: u64,
    /// All pauses before a request, in seconds.
    pauses: f64,
}

impl Sample {
    fn of_none(files: usize) -> Self {
        let counts = vec![0; files];
        let (sessions, requests, conditional) = (0, 0, 0);
        Self { counts, sessions, requests, conditional, pages: 0, connections: 0, pauses: 0.0 }
    }

    fn add(&mut self, session: &Session, parallel: u16) {
        let mut connections = 0;
        for burst in &session.bursts {
            for request in &burst.requests {
                self.counts[request.file.0 as usize] += 1;
                self.requests += 1;
                self.conditional += u64::from(request.is_conditional);
                self.pauses += request.pause.as_secs_f64();
            }
            self.pages += 1;
            // The first request goes alone, the others at the same time.
            let together = burst.requests.len().saturating_sub(1).max(1);
            connections = connections.max(together.min(usize::from(parallel.max(1))));
        }
        // Nobody waits when nothing comes any more.
        let between = session.bursts.iter().rev().skip(1);
        self.pauses += between.map(|burst| burst.think.as_secs_f64()).sum::<f64>();
        self.connections += connections as u64;
        self.sessions += 1;
    }

    /// By file; empty if nothing was asked.
    fn shares(&self) -> Vec<f64> {
        let share = |count: &u64| *count as f64 / self.requests as f64;
        if self.requests == 0 { Vec::new() } else { self.counts.iter().map(share).collect() }
    }
}

/// What follows from how likely a request is for each file.
fn by_files(files: &Files, sampled: &[f64], model: &Model) -> Vec<Row> {
    // The same statistic of both, where there is something to tell it of.
    let row = |what: String, unit, statistic: &dyn Fn(&[f64]) -> Option<f64>| {
        let told = |shares: &[f64]| if shares.is_empty() { None } else { statistic(shares) };
        Row { what, unit, sample: told(sampled), model: told(&model.shares) }
    };
    let mut rows = Vec::new();
    let classes: BTreeSet<u16> = files.iter().map(|(_, file)| file.class).collect();
    for class in classes {
        let what = format!("requests for {}", (model.class_name)(class));
        let of_class = |shares: &[f64]| Some(shares::of_class(files, shares, class));
        rows.push(row(what, Unit::Share, &of_class));
    }
    let Popularity { of, files_each, .. } = model.popularity.unwrap_or(Popularity::FILES);
    let exponent = |shares: &[f64]| shares::zipf_exponent(shares, files_each);
    let zipf = row(format!("Zipf exponent of {of}"), Unit::Number, &exponent);
    let known = model.popularity.map(|popularity| popularity.exponent);
    rows.push(Row { model: known.or(zipf.model), ..zipf });
    let mean = |shares: &[f64]| shares::mean_bytes(files, shares);
    rows.push(row(String::from("mean reply"), Unit::Bytes, &mean));
    for part in PARTS {
        let what = format!("working set of {} % of requests", part * 100.0);
        let set = |shares: &[f64]| Some(shares::working_set_bytes(files, shares, part)? / 1e6);
        rows.push(row(what, Unit::Megabytes, &set));
    }
    rows
}

/// What follows from the sessions.
fn by_sessions(sample: &Sample, model: &Model) -> Vec<Row> {
    let row = |what, unit, sum: f64, of: u64, model| {
        let sample = (of > 0).then(|| sum / of as f64);
        Row { what: String::from(what), unit, sample, model }
    };
    let Sample { sessions, requests, conditional, pages, connections, pauses, .. } = *sample;
    let each = model.requests.zip(model.connections).map(|(all, connections)| all / connections);
    vec![
        row("requests of a session", Unit::Number, requests as f64, sessions, model.requests),
        row("requests of a connection", Unit::Number, requests as f64, connections, each),
        row("pages of a session", Unit::Number, pages as f64, sessions, None),
        row("pauses of a session", Unit::Seconds, pauses, sessions, None),
        row("conditional requests", Unit::Share, conditional as f64, requests, model.conditional),
    ]
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [files, sessions, requests, unknown] =
            [self.files as u64, self.sessions.into(), self.requests, self.unknown as u64]
                .map(units::count);
        let noun = if self.files == 1 { "file" } else { "files" };
        write!(f, "{}: {files} {noun}", self.name)?;
        if self.unknown < self.files {
            write!(f, " with {}", Unit::Megabytes.told(self.bytes as f64 / 1e6))?;
        }
        match self.unknown {
            0 => writeln!(f)?,
            all if all == self.files => writeln!(f, " of unknown size")?,
            _ => writeln!(f, " and {unknown} of unknown size")?,
        }
        if let Some(notes) = &self.notes {
            writeln!(f, "{notes}")?;
        }
        writeln!(f, "sample: {sessions} sessions, {requests} requests, seed {}", self.seed)?;
        writeln!(f)?;
        writeln!(f, "{:38}{:>15}{:>15}", "", "sample", "model")?;
        for Row { what, unit, sample, model } in &self.rows {
            let told = |value: Option<f64>| value.map_or("-".into(), |value| unit.told(value));
            writeln!(f, "{what:38}{:>15}{:>15}", told(*sample), told(*model))?;
        }
        Ok(())
    }
}

impl Unit {
    /// A value with its unit.
    #[must_use]
    pub fn told(self, value: f64) -> String {
        match self {
            Self::Share => format!("{:.2} %", value * 100.0),
            Self::Bytes => format!("{} B", units::count(value.round() as u64)),
            Self::Megabytes => format!("{} MB", three_digits(value)),
            Self::Seconds => format!("{value:.2} s"),
            Self::Number => format!("{value:.2}"),
        }
    }
}

/// With as many decimals as three digits leave.
fn three_digits(value: f64) -> String {
    if value >= 100.0 {
        return units::count(value.round() as u64);
    }
    let magnitude = if value > 0.0 { value.log10().floor() } else { 2.0 };
    let decimals = (2.0 - magnitude).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests;
