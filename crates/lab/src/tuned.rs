//! What a search for the best knobs has found, as a file that other runs read.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::subject::Subject;

/// The file's name in the directory of a search.
pub const FILE: &str = "tuning.json";

/// Where it is looked for if nobody says.
pub const PLACE: &str = "weir-lab/tuning/tuning.json";

/// Of [`Tuned::schema`].
const SCHEMA: u32 = 1;

/// What makes it anew.
const MEND: &str = "weir lab tune --all makes one";

/// What tells a machine from others, of [`load::machine::facts`].
const MACHINE: [&str; 2] = ["processor", "processors"];

/// All that one search has found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Which form of the file it is.
    pub schema: u32,
    /// Where it was found: see [`load::machine::facts`].
    pub machine: BTreeMap<String, String>,
    /// What clients asked for.
    pub workload: String,
    /// Of each server one.
    pub servers: Vec<Server>,
}

/// What was found of one server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Server {
    /// As it is untuned.
    pub of: Subject,
    /// The best of what was tried; the same where nothing was better.
    pub best: Subject,
    /// Which knobs, and their values.
    pub knobs: BTreeMap<String, Vec<String>>,
    /// So many settings of them were tried.
    pub tried: usize,
    /// Good replies in a second that it answers untuned, at most.
    pub capacity: f64,
    /// The same in sessions begun in a second.
    pub rate: f64,
    /// Good replies in a second, the mean of all loads of the search: untuned, where that passed
    /// verification, and with the best.
    pub replies: (Option<f64>, f64),
    /// What the server said of itself.
    pub version: String,
}

impl Tuned {
    /// Of a machine.
    #[must_use]
    pub fn new(machine: BTreeMap<String, String>, workload: String, servers: Vec<Server>) -> Self {
        Self { schema: SCHEMA, machine, workload, servers }
    }

    /// One that was written on this machine.
    ///
    /// # Errors
    /// It cannot be read, is of another form, of another machine or of servers that are not here:
    /// in words, with what to do.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read(path).map_err(|error| format!("{error}; {MEND}"))?;
        Self::parse(&text, &load::machine::facts())
    }

    fn parse(text: &[u8], here: &BTreeMap<String, String>) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: u32,
        }
        let none = |error: serde_json::Error| format!("is no tuning ({error}); {MEND}");
        let Head { schema } = serde_json::from_slice(text).map_err(none)?;
        if schema != SCHEMA {
            let which = if schema < SCHEMA { "an older" } else { "a newer" };
            return Err(format!("{which} weir has written it; {MEND} for this one"));
        }
        let tuned: Self = serde_json::from_slice(text).map_err(none)?;
        if let Some(fact) =
            MACHINE.iter().find(|fact| tuned.machine.get(**fact) != here.get(**fact))
        {
            let of = |facts: &BTreeMap<String, String>| {
                facts.get(*fact).map_or("unknown", String::as_str).to_owned()
            };
            let (there, here) = (of(&tuned.machine), of(here));
            return Err(format!(
                "is of another machine ({fact} {there}, and here {here}); {MEND} of this one"
            ));
        }
        for server in &tuned.servers {
            for of in [&server.of, &server.best] {
                of.judge().map_err(|why| format!("{why}; {MEND} anew"))?;
            }
        }
        Ok(tuned)
    }

    /// Puts it into the directory of a search.
    ///
    /// # Errors
    /// It cannot be written.
    ///
    /// # Panics
    /// Never: all of it can be written.
    pub fn write(&self, dir: &Path) -> Result<(), Failure> {
        let path = dir.join(FILE);
        let mut text = serde_json::to_string_pretty(self).expect("text for keys");
        text.push('\n');
        std::fs::write(&path, text).map_err(|error| Failure::machine(path.display(), error))
    }

    /// What was found of a server as it stands there untuned.
    #[must_use]
    pub fn of(&self, subject: &Subject) -> Option<&Server> {
        self.servers.iter().find(|server| server.of == *subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuned() -> Tuned {
        let of: Subject = "sped".parse().expect("a subject");
        let server = Server {
            best: of.with("backlog", "64").expect("a knob of it"),
            of,
            knobs: BTreeMap::from([("backlog".into(), vec!["64".into(), "1024".into()])]),
            tried: 2,
            capacity: 100.5,
            rate: 100.5,
            replies: (Some(90.0), 100.0),
            version: "0.1.0".into(),
        };
        Tuned::new(here(), "one-packet".into(), vec![server])
    }

    fn here() -> BTreeMap<String, String> {
        [("processor", "A"), ("processors", "2")].map(|(k, v)| (k.into(), v.into())).into()
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().expect("a directory");
        tuned().write(dir.path()).expect("it is written");
        let text = std::fs::read(dir.path().join(FILE)).expect("it is there");
        assert_eq!(Tuned::parse(&text, &here()), Ok(tuned()));
    }

    #[test]
    fn what_cannot_be_used_says_what_to_do() {
        let whole = serde_json::to_string(&tuned()).expect("text");
        let rows = [
            (
                "\"processors\":\"2\"",
                "\"processors\":\"64\"",
                "is of another machine (processors 64, and here 2); ",
            ),
            ("\"processor\":\"A\",", "", "is of another machine (processor unknown, and here A); "),
            ("\"schema\":1", "\"schema\":0", "an older weir has written it; "),
            ("\"schema\":1", "\"schema\":2", "a newer weir has written it; "),
            ("\"sped\"", "\"spde\"", "spde: no such subject; did you mean sped?; "),
            (
                "sped:backlog",
                "sped:backlgo",
                "sped: backlgo: no such knob; did you mean backlog?; ",
            ),
            ("\"servers\"", "\"serves\"", "is no tuning (missing field `servers`"),
            (&whole, "none", "is no tuning (expected ident"),
        ];
        for (there, instead, told) in rows {
            assert!(whole.contains(there), "{there}");
            let why = Tuned::parse(whole.replacen(there, instead, 1).as_bytes(), &here());
            let why = why.expect_err("no tuning");
            assert!(why.starts_with(told), "{why}");
            assert!(why.contains("weir lab tune --all makes one"), "{why}");
            assert_eq!(why.lines().count(), 1, "{why}");
        }
        let why = Tuned::read(Path::new("/no/such/file")).expect_err("no file");
        assert_eq!(why, "No such file or directory (os error 2); weir lab tune --all makes one");
    }
}
