use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use servers::architectures;
use servers::knobs::Knob;
use servers::settings::Settings;
use site::Rules;
use site::rules::{Effect, Host, Origin, Rule};
use toml::de::DeTable;

use crate::item::{Item, Section};
use crate::knobs::{self, Written};
use crate::source::Source;
use crate::{Fault, Flags, hosts, rules, syntax};

/// Files within files: deeper than anybody can follow.
const DEPTH_MAX: usize = 16;
/// Files of all depths: one for each host of a large machine.
const FILES_MAX: usize = 4096;

/// What was read so far.
#[derive(Default)]
pub(crate) struct Reader {
    faults: Vec<Fault>,
    /// The files that are being read, each included by the one before.
    within: Vec<Known>,
    /// All files.
    known: BTreeMap<PathBuf, Arc<str>>,
    written: BTreeMap<&'static str, Written>,
    root: Option<(PathBuf, Fault)>,
    hosts: Vec<Host>,
}

/// A file by its true path, and what it is called.
struct Known {
    path: PathBuf,
    name: Arc<str>,
}

impl Reader {
    /// Reads the operator's file.
    pub(crate) fn read(&mut self, path: &Path) {
        if let Err(fault) = self.file(path) {
            self.faults.push(fault);
        }
    }

    /// The same of a file whose content is `bytes`.
    pub(crate) fn read_bytes(&mut self, path: &Path, bytes: Vec<u8>) {
        match Source::of(path, bytes) {
            Ok(source) => self.content(&source),
            Err(fault) => self.faults.push(fault),
        }
    }

    /// What was read, as settings.
    ///
    /// # Errors
    /// All mistakes.
    pub(crate) fn settings(mut self, flags: Flags<'_>) -> Result<Settings, Vec<Fault>> {
        let mut settings = Settings::default();
        // In the table's order, because some knobs bound others.
        for knob in servers::knobs::all() {
            let Some(Written { values, .. }) = self.written.get(knob.name) else { continue };
            for (value, _) in values {
                // It was judged where it is written.
                let _ = (knob.set)(&mut settings, value);
            }
            let origins = values.iter().map(|(_, origin)| origin.clone());
            settings.written.insert(knob.name, origins.collect());
        }
        let architecture = flags.architecture.unwrap_or(&settings.architecture);
        // What is no architecture has been told already.
        if architectures::architecture(architecture).is_some() {
            let written =
                servers::knobs::all().filter_map(|knob| Some((knob, self.written.get(knob.name)?)));
            let refused = written.filter(|(knob, _)| !knob.is_taken_by(architecture));
            self.faults.extend(refused.map(|(knob, written)| untaken(knob, written, architecture)));
        }
        self.give_all_other_names(flags.root);
        match (flags.root, self.root) {
            (Some(root), _) => settings.root = root.to_path_buf(),
            (None, Some((root, place))) => {
                settings.root = root;
                settings.written.insert("root", vec![place.origin()]);
            }
            (None, None) => {}
        }
        settings.rules = Rules { hosts: self.hosts };
        self.faults.sort_by(|a, b| (&a.file, a.place).cmp(&(&b.file, b.place)));
        if self.faults.is_empty() { Ok(settings) } else { Err(self.faults) }
    }

    /// A root beside hosts is one more host.
    fn give_all_other_names(&mut self, flag: Option<&Path>) {
        if self.hosts.is_empty() {
            return;
        }
        let (root, place) = match (flag, &self.root) {
            (None, None) => return,
            (Some(root), _) => (root.to_path_buf(), None),
            (None, Some((root, place))) => (root.clone(), Some(place)),
        };
        if self.hosts.iter().any(|host| host.names.iter().any(|name| name == "*")) {
            let told =
                "no name is left for it: a host is there for all (`*`); leave one of them out";
            self.faults.push(match place {
                Some(place) => Fault { told: told.into(), ..place.clone() },
                None => {
                    Fault { file: "DIR".into(), place: None, key: String::new(), told: told.into() }
                }
            });
            return;
        }
        let origin = place.map_or_else(|| Origin::flag("DIR"), Fault::origin);
        let rule = Rule { at: "/".into(), effect: Effect::Root(root), origin };
        self.hosts.push(Host { names: vec!["*".into()], rules: vec![rule] });
    }

    /// Reads a file and what it includes; what is wrong with the file as a whole is an error.
    fn file(&mut self, path: &Path) -> Result<(), Fault> {
        let source = Source::read(path)?;
        let true_path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        self.known.insert(true_path.clone(), Arc::clone(&source.name));
        self.within.push(Known { path: true_path, name: Arc::clone(&source.name) });
        self.content(&source);
        self.within.pop();
        Ok(())
    }

    fn content(&mut self, source: &Source) {
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        if !errors.is_empty() {
            // What a parser makes of the rest would be blamed for the wrong things.
            // Of a word without quotes each of its characters may be a mistake of its own.
            let mut advised = 0..0;
            for error in &errors {
                let at = error.span().unwrap_or(0..0);
                if advised.contains(&at.start) {
                    continue;
                }
                let plain = || error.message().lines().collect::<Vec<_>>().join(", ");
                let advice = syntax::advice(&source.text, at.start);
                let (at, said) = advice.unwrap_or_else(|| (at, plain()));
                advised = at.clone();
                self.faults.push(source.fault(&at, "", said));
            }
            return;
        }
        let section = Section::whole(source, table.get_ref());
        section.tell_unknown(&mut self.faults);
        if let Some(item) = section.item("include") {
            for (item, name) in item.strings(&mut self.faults) {
                if let Err(fault) = self.include(&item, name) {
                    self.faults.push(fault);
                }
            }
        }
        for item in section.items() {
            self.top(&item);
        }
    }

    fn top(&mut self, item: &Item<'_>) {
        match item.name {
            "root" => {
                if let Some(root) = rules::root(item, &mut self.faults) {
                    self.root = Some((root, item.fault("")));
                }
            }
            "host" => {
                for section in item.sections("host", &mut self.faults) {
                    hosts::host(&section, &mut self.hosts, &mut self.faults);
                }
            }
            name => {
                if let Some(knob) = servers::knobs::knob(name) {
                    let values = knobs::values(knob, item, &mut self.faults);
                    let place = item.source.fault(&item.at, &item.key, String::new());
                    self.written.insert(knob.name, Written { values, place });
                }
            }
        }
    }

    fn include(&mut self, item: &Item<'_>, name: &str) -> Result<(), Fault> {
        let path = item.source.path(name);
        // What is not there is told by reading it.
        let true_path = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if let Some(first) = self.within.iter().position(|known| known.path == true_path) {
            let circle = self.within[first..].iter().chain([&self.within[first]]);
            let circle = circle.map(|known| &*known.name).collect::<Vec<_>>().join(" includes ");
            return Err(item.fault(format!("goes round in a circle: {circle}; leave it out")));
        }
        if self.known.contains_key(&true_path) {
            return Err(item.fault(format!("{name:?} is included twice; leave one out")));
        }
        if self.within.len() >= DEPTH_MAX {
            return Err(item.fault(format!("more than {DEPTH_MAX} files within each other")));
        }
        if self.known.len() >= FILES_MAX {
            return Err(item.fault(format!("more than {FILES_MAX} files")));
        }
        self.file(&path).map_err(|fault| match fault.place {
            Some(_) => fault,
            None => item.fault(format!("{}: {}", fault.file, fault.told)),
        })
    }
}

fn untaken(knob: &Knob, written: &Written, architecture: &str) -> Fault {
    let takers = knob.takers().join(", ");
    let told = format!("{architecture} does not take it ({takers} would); leave it out");
    Fault { told, ..written.place.clone() }
}
