//! The architectures, a file each, named as those of `servers`.

mod amped;
mod mp;
mod mt;
mod pipelined;
mod sped;

use std::fmt;
use std::rc::Rc;

use servers::architectures::{ARCHITECTURES, Architecture};

use crate::crew::Crew;
use crate::server::Server;
use crate::simulation::Simulation;

/// A model.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// As in the registry of `servers`.
    pub name: &'static str,
    /// Knobs of the server's that change it, and what they are without being set.
    pub knobs: &'static [Knob],
    crew: fn(cores: u32, clients: u32, set: &Set<'_>) -> Crew,
    spawn: fn(&mut Simulation, &Rc<Server>),
}

/// One of a model's knobs.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// As in the table of `servers`.
    pub name: &'static str,
    /// Where nobody sets it.
    pub default: PerCore,
    /// That it can be set to.
    least: u32,
}

/// So many for each core, or so many in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerCore {
    /// For each.
    Each(u32),
    /// In all.
    All(u32),
}

/// All models.
pub const MODELS: &[Model] = &[
    Model {
        name: "mp",
        knobs: &[knob("processes", PerCore::Each(16))],
        crew: |cores, _, set| Crew { processes: set("processes"), ..Crew::of(cores) },
        spawn: mp::mp,
    },
    Model {
        name: "mt",
        knobs: &[knob("threads", PerCore::Each(64))],
        crew: |cores, clients, set| Crew {
            threads: set("threads").min(clients),
            shares_entries: true,
            ..Crew::of(cores)
        },
        spawn: mt::mt,
    },
    Model {
        name: "sped",
        knobs: &[knob("processes", PerCore::Each(1)), ACCEPT_LIMIT],
        crew: |cores, _, set| Crew {
            processes: set("processes"),
            accept_limit: set("accept-limit") as usize,
            ..Crew::of(cores)
        },
        spawn: sped::sped,
    },
    Model {
        name: "amped",
        knobs: &[knob("processes", PerCore::Each(1)), HELPERS, ACCEPT_LIMIT],
        crew: |cores, _, set| Crew {
            processes: set("processes"),
            helpers: set("processes") * set("helpers"),
            accept_limit: set("accept-limit") as usize,
            ..Crew::of(cores)
        },
        spawn: amped::amped,
    },
    Model {
        name: "pipelined",
        knobs: &[knob("threads", PerCore::Each(1))],
        crew: |cores, _, set| Crew {
            threads: set("threads") * pipelined::THREADS,
            shares_entries: true,
            ..Crew::of(cores)
        },
        spawn: pipelined::pipelined,
    },
];

const ACCEPT_LIMIT: Knob = knob("accept-limit", PerCore::All(10));

/// One translates paths, the others read.
const HELPERS: Knob = Knob { least: 2, ..knob("helpers", PerCore::All(2)) };

const fn knob(name: &'static str, default: PerCore) -> Knob {
    Knob { name, default, least: 1 }
}

/// What a knob is set to.
type Set<'s> = dyn Fn(&str) -> u32 + 's;

impl Model {
    /// The model of that name.
    ///
    /// # Errors
    /// There is none: one line, with those that there are.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        MODELS.iter().find(|model| model.name == name).ok_or_else(|| {
            let names: Vec<_> = MODELS.iter().map(|model| model.name).collect();
            let is_server = ARCHITECTURES.iter().any(|row| row.name == name);
            let but = if is_server { ": it is an architecture that has no model yet" } else { "" };
            format!("there is no model {name}{but}; there are: {}", names.join(", "))
        })
    }

    /// The row of the registry that it is a model of.
    ///
    /// # Panics
    /// There is none, which a test excludes.
    #[must_use]
    pub fn architecture(&self) -> &'static Architecture {
        let row = ARCHITECTURES.iter().find(|row| row.name == self.name);
        row.expect("a model is named as its architecture")
    }

    /// Who works in it, with these knobs set.
    ///
    /// # Errors
    /// It has no such knob, or the value is none: one line.
    pub fn crew(&self, cores: u32, clients: u32, set: &[(String, String)]) -> Result<Crew, String> {
        let named = |name: &str| self.knobs.iter().find(|knob| knob.name == name);
        let mut values = Vec::new();
        for (name, value) in set {
            let Some(Knob { least, .. }) = named(name) else {
                let knobs: Vec<_> = self.knobs.iter().map(|knob| knob.name).collect();
                let (model, knobs) = (self.name, knobs.join(", "));
                return Err(format!("the model of {model} has no knob {name}; it has: {knobs}"));
            };
            let number = match (&**name, &**value) {
                ("accept-limit", "inf") => Some(COUNT_MAX),
                _ => value.parse().ok().filter(|number| (*least..=COUNT_MAX).contains(number)),
            };
            let model = self.name;
            let why = || format!("{model}: {name}={value}: has to be from {least} to {COUNT_MAX}");
            values.push((&**name, number.ok_or_else(why)?));
        }
        let set = |name: &str| {
            let value = values.iter().rev().find(|(of, _)| *of == name);
            let default = || named(name).map_or(1, |knob| knob.default.of(cores));
            value.map_or_else(default, |(_, number)| *number)
        };
        Ok((self.crew)(cores, clients, &set))
    }

    /// Lets a server of it work on a machine.
    pub fn spawn(&self, simulation: &mut Simulation, server: &Rc<Server>) {
        (self.spawn)(simulation, server);
    }
}

/// As many threads as a server may have.
const COUNT_MAX: u32 = 32_768;

impl PerCore {
    const fn of(self, cores: u32) -> u32 {
        match self {
            Self::Each(count) => count * cores,
            Self::All(count) => count,
        }
    }
}

impl fmt::Display for PerCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each(count) => write!(f, "{count} for each processor"),
            Self::All(count) => write!(f, "{count}"),
        }
    }
}
