//! A trace as a cache sees it: which file is asked for, one after the other.

use cache::{Arrival, Weight};
use load::source::draws;
use load::workload::settings::Settings;
use load::workload::{self, Workload};
use measure::draw::Stream;
use sim::classes::directories;

use crate::Failure;
use crate::spec::Load;

/// The flag of a load that says how many requests are replayed at most, beside what a scan adds.
pub const REQUESTS: &str = "requests";

/// The flag that says what is changed of what its workload draws.
pub const CHANGE: &str = "change";
/// A crawler comes, in the middle of what is judged: it asks for each file once, by their numbers.
pub const SCAN: &str = "scan";
/// All files have the mean size: there Belady's rule is the best that there can be.
pub const EQUAL_SIZES: &str = "equal-sizes";

/// Of all traces: the same seed gives the same figures.
const SEED: u64 = 1;

/// Of hashes of files: they share no draw with what is asked.
const HASHING: u64 = 1 << 32;

/// More requests have no number.
const REQUESTS_MAX: u64 = 1 << 28;

/// See the head of this file.
#[derive(Debug)]
pub(super) struct Trace {
    /// By their numbers: as they come in, with a directory's number as class.
    pub(super) files: Vec<Arrival>,
    /// Numbers of files.
    pub(super) requests: Vec<u32>,
    /// What comes before this request fills the cache and is not counted.
    pub(super) judged_from: usize,
}

/// What came of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) requests: u64,
    pub(super) bytes: u64,
    pub(super) hits: u64,
    pub(super) hit_bytes: u64,
}

impl Trace {
    /// That of a load, from its first session on, as long as it says, or as one pass is. The second
    /// half of it is judged.
    ///
    /// # Errors
    /// The operator's: there is no such workload, or a flag has none of its values.
    pub(super) fn of(load: &Load) -> Result<Self, Failure> {
        let count = load.flags.get(REQUESTS).and_then(|text| text.parse::<u64>().ok());
        let count = count.filter(|count| (2..=REQUESTS_MAX).contains(count));
        let count = count.ok_or_else(|| wrong(load, REQUESTS))?;
        let mut workload = made(load)?;
        let sessions = workload.pass().map_or(count, |pass| pass.min(count));
        let mut requests: Vec<u32> = Vec::new();
        for number in 0..sessions {
            if requests.len() as u64 >= count {
                break;
            }
            let (mut asking, mut thinking) = draws(SEED, number);
            let session = workload.session(number, &mut asking, &mut thinking);
            let asked = session.bursts.iter().flat_map(|burst| &burst.requests);
            requests.extend(asked.map(|request| request.file.0));
        }
        requests.truncate(count as usize);
        let files = arrivals(&*workload);
        let judged_from = requests.len() / 2;
        let trace = Self { files, requests, judged_from };
        match load.flags.get(CHANGE).map(String::as_str) {
            None => Ok(trace),
            Some(SCAN) => Ok(trace.with_scan()),
            Some(EQUAL_SIZES) => Ok(trace.with_equal_sizes()),
            Some(_) => Err(wrong(load, CHANGE)),
        }
    }

    fn with_scan(mut self) -> Self {
        let middle = usize::midpoint(self.judged_from, self.requests.len());
        self.requests.splice(middle..middle, 0..self.files.len() as u32);
        self
    }

    fn with_equal_sizes(mut self) -> Self {
        let sum: u64 = self.files.iter().map(|file| file.weight.bytes).sum();
        let mean = sum / self.files.len().max(1) as u64;
        self.files.iter_mut().for_each(|file| file.weight.bytes = mean);
        self
    }

    /// Of all files that are asked for.
    pub(super) fn asked_bytes(&self) -> u64 {
        let mut is_asked = vec![false; self.files.len()];
        self.requests.iter().for_each(|file| is_asked[*file as usize] = true);
        let asked = self.files.iter().zip(is_asked).filter(|(_, is_asked)| *is_asked);
        asked.map(|(file, _)| file.weight.bytes).sum()
    }

    /// What comes of it where `ask` says of each request, by its place and its file, whether that
    /// is a hit.
    pub(super) fn counted(&self, mut ask: impl FnMut(usize, u32) -> bool) -> Counts {
        let mut counts = Counts::default();
        for (at, &file) in self.requests.iter().enumerate() {
            let is_hit = ask(at, file);
            if at < self.judged_from {
                continue;
            }
            let bytes = self.files[file as usize].weight.bytes;
            counts.requests += 1;
            counts.bytes += bytes;
            counts.hits += u64::from(is_hit);
            counts.hit_bytes += if is_hit { bytes } else { 0 };
        }
        counts
    }
}

fn wrong(load: &Load, flag: &str) -> Failure {
    let value = load.flags.get(flag).map_or("", String::as_str);
    Failure::Operator(format!("{}: there is no trace with {flag} {value}", load.workload))
}

fn made(load: &Load) -> Result<Box<dyn Workload + Send>, Failure> {
    let mut settings = Settings::default();
    let knobs = workload::named(&load.workload).into_iter().flat_map(|row| row.knobs);
    for knob in knobs {
        if let Some(value) = load.flags.get(*knob) {
            settings.set(knob, value).map_err(Failure::Operator)?;
        }
    }
    workload::make(&load.workload, &settings).map_err(Failure::Operator)
}

/// Files as a cache is told of them. What each weighs are its bytes alone, so that a share of the
/// files is a share of their bytes.
fn arrivals(of: &dyn Workload) -> Vec<Arrival> {
    let hashes = Stream::new(SEED, HASHING);
    let directories = directories(of.files());
    let arrival = |((id, file), class): ((load::files::FileId, &load::files::File), &u32)| {
        let hash = hashes.sibling(id.0.into()).bits();
        Arrival { hash, weight: weight(file.bytes.unwrap_or(0)), class: *class }
    };
    of.files().iter().zip(directories.iter()).map(arrival).collect()
}

/// Of descriptors there are always enough.
pub(super) const fn weight(bytes: u64) -> Weight {
    Weight { bytes, descriptors: 0 }
}
