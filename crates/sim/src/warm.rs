//! What memory holds before a run: that of a server which has run for long.

use cache::PolicyKind;
use load::workload::settings::Settings;
use measure::draw::{Draw, Stream};

use crate::classes::{Classes, classes};
use crate::clients::Sessions;
use crate::footprint::Footprint;
use crate::resources::memory::{Kept, Warm};
use crate::scenario::Scenario;

/// All that decides what is warm. Scenarios of which it is the same can begin from the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Caches {
    workload: String,
    settings: Settings,
    policy: PolicyKind,
    file_sizes: String,
    warmth: String,
    files_bytes: u64,
    /// By [`Footprint::weight`], of a file large enough to tell any two ways of weighing apart.
    weight: u64,
    path_entries: u64,
}

/// No run that counts draws from it.
const WARM_SEED: u64 = 0x005E_ED0F_1A51_EA50;

/// Files from the one on that was asked for longest ago.
fn by_age(shares: &[f64]) -> Vec<u32> {
    let mut stream = Stream::new(WARM_SEED, 0);
    let mut ages: Vec<(f64, u32)> = Vec::with_capacity(shares.len());
    for (file, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        let age = Draw::Exponential { mean: 1.0 / share }.draw(&mut stream);
        ages.push((age, file as u32));
    }
    ages.sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
    ages.into_iter().map(|(_, file)| file).collect()
}

impl Scenario {
    /// What memory holds long after the start.
    ///
    /// Where it is known how likely each file is, the time since somebody asked for it last is
    /// drawn (it is exponential, as requests know nothing of each other), and files come in from
    /// the oldest on: that is what LRU has kept after any number of requests. Other policies see a
    /// pass of requests behind that. One pass through empty memory is all where nothing is known,
    /// or the parameter `warmth` says so.
    ///
    /// # Errors
    /// See [`Self::sized`] and [`classes`].
    pub fn warm(&self, workload: &mut Sessions) -> Result<Warm, String> {
        let (_, footprint) = self.sized()?;
        let sizes = self.sizes(workload);
        let weights: Vec<u64> = sizes.iter().map(|bytes| footprint.weight(*bytes)).collect();
        let mut shares = workload.model().shares;
        let room = (&weights[..], footprint.files_bytes());
        let classes = classes(self.policy, workload.files(), &shares, room)?;
        let mut warm = self.cold(&footprint, sizes.len(), classes);
        if self.parameters.word("warmth") == "pass" {
            shares.clear();
        }
        for file in by_age(&shares) {
            warm.files.keep(file, weights[file as usize]);
            warm.paths.keep(file, 1);
        }
        if self.policy != PolicyKind::Lru || shares.is_empty() {
            self.pass(workload, &weights, &mut warm);
        }
        warm.files.forget_seen();
        warm.paths.forget_seen();
        Ok(warm)
    }

    /// One pass of the workload's requests through memory.
    fn pass(&self, workload: &mut Sessions, weights: &[u64], warm: &mut Warm) {
        /// Of workloads that have no end.
        const REQUESTS: u64 = 1_000_000;
        for number in 0..workload.pass().unwrap_or(REQUESTS) {
            let (mut sessions, mut thinking) = load::source::draws(WARM_SEED, number);
            let session = workload.session(number, &mut sessions, &mut thinking);
            for request in session.bursts.iter().flat_map(|burst| &burst.requests) {
                let file = request.file.0;
                if !warm.files.look(file) {
                    warm.files.keep(file, weights[file as usize]);
                }
                if !warm.paths.look(file) {
                    warm.paths.keep(file, 1);
                }
            }
        }
    }

    /// What decides of [`Self::warm`].
    ///
    /// # Errors
    /// See [`Self::sized`].
    pub fn caches(&self) -> Result<Caches, String> {
        let (_, footprint) = self.sized()?;
        let word = |name| String::from(self.parameters.word(name));
        Ok(Caches {
            workload: self.workload.clone(),
            settings: self.settings.clone(),
            policy: self.policy,
            file_sizes: word("file-sizes"),
            warmth: word("warmth"),
            files_bytes: footprint.files_bytes(),
            weight: footprint.weight(1 << 50),
            path_entries: self.parameters.whole("path-entries"),
        })
    }

    fn cold(&self, footprint: &Footprint, files: usize, classes: Classes) -> Warm {
        let paths = self.parameters.whole("path-entries");
        Warm {
            files: Kept::new(files, footprint.files_bytes(), self.policy, classes),
            paths: Kept::new(files, paths, PolicyKind::Lru, Classes::default()),
        }
    }
}
