//! The files that are served: made once for each workload, and kept.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use load::site_files::{self, Fault};
use load::workload::settings::Settings;
use load::workload::{self, Workload};

use crate::Failure;
use crate::spec::Load;

/// Beneath one directory.
#[derive(Debug)]
pub(super) struct Sites {
    dir: PathBuf,
    /// By the workload and what was chosen of it.
    made: BTreeMap<String, PathBuf>,
}

impl Sites {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.into(), made: BTreeMap::new() }
    }

    /// Where the files of a load are; they are made if they are not there, as long as `may_go_on`
    /// says so.
    pub(super) fn of(
        &mut self,
        load: &Load,
        may_go_on: &mut dyn FnMut() -> Result<(), Failure>,
    ) -> Result<PathBuf, Failure> {
        let beside = load.beside.iter().map(|of| named(&of.workload, &of.flags));
        let all = std::iter::once(named(&load.workload, &load.flags)).chain(beside);
        let mut all: Vec<_> = all.collect::<Result<_, _>>()?;
        all.dedup_by(|a, b| a.0 == b.0);
        let names: Vec<&str> = all.iter().map(|(name, _)| &**name).collect();
        let name = names.join("+");
        if let Some(dir) = self.made.get(&name) {
            return Ok(dir.clone());
        }
        let dir = std::path::absolute(self.dir.join(&name));
        let dir = dir.map_err(|error| Failure::machine(self.dir.display(), error))?;
        // Asked after each file: there may be gigabytes of them.
        for (name, workload) in &all {
            let mut asked = Ok(());
            let made = site_files::make(workload.files(), &dir, |_| {
                asked = may_go_on();
                if asked.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            asked?;
            made.map_err(|fault| match fault {
                Fault::Unknown | Fault::Name(_) => Failure::Operator(format!("{name}: {fault}")),
                Fault::Full { .. } => Failure::Full(fault.to_string()),
                Fault::Write(..) => Failure::Machine(fault.to_string()),
                Fault::Stopped => Failure::Stopped,
            })?;
        }
        self.made.insert(name, dir.clone());
        Ok(dir)
    }
}

/// What users do between two requests changes no file.
const PAUSES: [&str; 2] = ["think", "think-scale"];

/// One of the files that a load asks for.
pub(super) fn target(load: &Load) -> Result<String, Failure> {
    let (name, workload) = named(&load.workload, &load.flags)?;
    let mut targets = workload.files().iter().map(|(_, file)| file.target.to_string());
    targets.next().ok_or_else(|| Failure::Operator(format!("{name}: it asks for nothing")))
}

/// Whose files a load asks for that has another beside it: that one's, for which they are there.
pub(super) fn workload(load: &Load) -> Result<Box<dyn Workload + Send>, Failure> {
    let of =
        load.beside.as_ref().map_or((&load.workload, &load.flags), |b| (&b.workload, &b.flags));
    named(of.0, of.1).map(|(_, workload)| workload)
}

/// The workload, and a name of its files.
fn named(
    workload: &str,
    flags: &BTreeMap<String, String>,
) -> Result<(String, Box<dyn Workload + Send>), Failure> {
    let row = workload::named(workload);
    let mut settings = Settings::default();
    let mut name = String::from(workload);
    for knob in row.into_iter().flat_map(|row| row.knobs) {
        if let Some(value) = flags.get(*knob) {
            settings.set(knob, value).map_err(Failure::Operator)?;
            if !PAUSES.contains(knob) {
                name.push_str(&format!("-{knob}-{value}"));
            }
        }
    }
    let made = workload::make(workload, &settings).map_err(Failure::Operator)?;
    Ok((name.replace(['/', ':'], "-"), made))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;
    use crate::experiment::Experiment;
    use crate::experiments::EXPERIMENTS;
    use crate::known::Known;
    use crate::setup::Setup;

    /// What each question asks for first: the rest is of the same workloads.
    #[test]
    fn all_experiments_ask_for_workloads_that_there_are() {
        let known = Known::of(&[]);
        let seen = Mutex::new(BTreeSet::new());
        let check = |experiment: &Experiment| {
            let specs = (experiment.plan)(&Setup::default(), &known).specs;
            assert!(!specs.is_empty(), "{}", experiment.name);
            for spec in specs {
                let of = &spec.load;
                // Files do not depend on how many clients there are, nor on how often they ask.
                let knobs = workload::named(&of.workload).map_or(&[][..], |row| row.knobs);
                let mut files = of.flags.clone();
                files.retain(|flag, _| knobs.contains(&flag.as_str()));
                let is_new = || seen.lock().unwrap().insert((of.workload.clone(), files));
                if of.beside.is_none() && !is_new() {
                    continue;
                }
                let made = workload(&spec.load);
                assert!(made.is_ok(), "{}: {:?}: {:?}", experiment.name, spec.load, made.err());
            }
        };
        std::thread::scope(|scope| {
            for experiment in EXPERIMENTS {
                scope.spawn(|| check(experiment));
            }
        });
    }
}
