//! What a machine and its programs cost, as a text of TOML: each value with its unit, its range and
//! its source.
//!
//! A table each, by the names of [`DEFINITIONS`]:
//!
//! ```toml
//! [cache-lookup]
//! value = 13.5
//! unit = "us"
//! range = [1, 50]
//! source = "paper: Choi05 table 3"
//! ```
//!
//! A source says first what kind it is: of a paper, of a command that measures it, fitted to
//! something, or assumed. The range is what it might be: whoever wants to know how far a result
//! depends on it looks at both ends.
//!
//! What costs one model's server something else than the others' is in a table of that model's,
//! `[mt.receive]`. A set that is of one processor alone says so: `processor = "AMD EPYC"`.

mod definitions;
mod shipped;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;
use servers::architectures::ARCHITECTURES;

pub use definitions::{DEFINITIONS, Definition, Takes};
pub use shipped::{SHIPPED, Shipped};

/// A whole set of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// What they are called.
    pub name: String,
    /// Of which machine they are.
    pub machine: String,
    /// The processor that they were measured on, as Linux calls it; `None`: they are of no machine
    /// that anybody has.
    pub processor: Option<String>,
    /// In the order of [`DEFINITIONS`].
    values: Vec<Parameter>,
    /// Of single models, by their names: the definition's place, and what it is there.
    of_models: BTreeMap<String, Vec<(usize, Parameter)>>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// What it is.
    pub value: Value,
    /// As it is written.
    pub unit: String,
    /// What it might be.
    pub range: Vec<Value>,
    /// Where it is from.
    pub source: String,
}

/// A number, in the base unit of its dimension (ns, bytes, bytes/s, a count), or a word.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of the dimension that the definition says.
    Number(f64),
    /// One of those that the definition says.
    Word(String),
}

/// As it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    value: toml::Value,
    #[serde(default)]
    unit: String,
    range: Vec<toml::Value>,
    source: String,
}

/// How a source begins.
const SOURCES: [&str; 4] = ["paper: ", "command: ", "fitted: ", "assumed: "];

impl Parameters {
    /// A set that comes with the program; `None`: there is none of that name.
    ///
    /// # Panics
    /// It cannot be read, which a test excludes.
    #[must_use]
    pub fn shipped(name: &str) -> Option<Self> {
        // Read once: a plan of the lab asks thousands of times.
        static READ: LazyLock<Vec<(&str, Parameters)>> = LazyLock::new(|| {
            let read = |shipped: &Shipped| Parameters::read(shipped.text, shipped.name);
            let read = |shipped| read(shipped).expect("what is shipped can be read");
            SHIPPED.iter().map(|shipped| (shipped.name, read(shipped))).collect()
        });
        READ.iter().find(|(of, _)| *of == name).map(|(_, read)| read.clone())
    }

    /// Reads a text; `file` is what it is called in complaints.
    ///
    /// # Errors
    /// It is no TOML, a parameter is missing or unknown, has no source, another unit or a value
    /// that nothing can be: one line.
    pub fn read(text: &str, file: &str) -> Result<Self, String> {
        let says = |what: String| format!("{file}: {what}");
        let mut tables: Tables =
            toml::from_str(text).map_err(|error| says(one_line(&error.to_string())))?;
        let mut word = |key: &str| match tables.remove(key) {
            Some(toml::Value::String(word)) => Ok(Some(word)),
            Some(_) => Err(says(format!("{key} has to be a text"))),
            None => Ok(None),
        };
        let processor = word("processor")?;
        let mut needed =
            |key: &str| word(key)?.ok_or_else(|| says(format!("{key} is missing: a text")));
        let (name, machine) = (needed("name")?, needed("machine")?);
        let mut values = Vec::with_capacity(DEFINITIONS.len());
        for definition in DEFINITIONS {
            let key = definition.name;
            let table = tables
                .remove(key)
                .ok_or_else(|| says(format!("[{key}] is missing: {}", definition.about)))?;
            values.push(definition.parameter(table, key).map_err(says)?);
        }
        let mut of_models = BTreeMap::new();
        for (key, table) in tables {
            if !ARCHITECTURES.iter().any(|of| of.name == key) {
                return Err(says(unknown(&key)));
            }
            let of_model = of_model(&key, table).map_err(says)?;
            of_models.insert(key, of_model);
        }
        Ok(Self { name, machine, processor, values, of_models })
    }

    /// Those of a model's server: its own where it has some.
    #[must_use]
    pub fn of_model(&self, name: &str) -> Self {
        let mut own = Self { of_models: BTreeMap::new(), ..self.clone() };
        for (at, parameter) in self.of_models.get(name).into_iter().flatten() {
            own.values[*at] = parameter.clone();
        }
        own
    }

    /// The same with other values: `NAME=VALUE`, in the unit that it has.
    ///
    /// # Errors
    /// There is no such parameter, or it cannot be that.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let at = place(name)?;
        let number = value.parse().map(toml::Value::Float).ok();
        let value = number.unwrap_or_else(|| toml::Value::String(value.into()));
        let unit = self.values[at].unit.clone();
        let value = DEFINITIONS[at].value(&value, &unit).map_err(|why| format!("{name}: {why}"))?;
        self.values[at].value = value;
        Ok(())
    }

    /// A time, a size or a count, rounded.
    ///
    /// # Panics
    /// No definition of that name has numbers.
    #[must_use]
    pub fn whole(&self, name: &str) -> u64 {
        self.number(name).round() as u64
    }

    /// A number in its base unit.
    ///
    /// # Panics
    /// No definition of that name has numbers.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        match &self.of(name).value {
            Value::Number(number) => *number,
            Value::Word(word) => unreachable!("{name} is a number, not {word}"),
        }
    }

    /// A word.
    ///
    /// # Panics
    /// No definition of that name has words.
    #[must_use]
    pub fn word(&self, name: &str) -> &str {
        match &self.of(name).value {
            Value::Word(word) => word,
            Value::Number(number) => unreachable!("{name} is a word, not {number}"),
        }
    }

    /// All, in order.
    pub fn all(&self) -> impl Iterator<Item = (&'static Definition, &Parameter)> {
        DEFINITIONS.iter().zip(&self.values)
    }

    fn of(&self, name: &str) -> &Parameter {
        let found = self.all().find(|(definition, _)| definition.name == name);
        found.expect("a parameter that is defined").1
    }
}

impl Parameter {
    /// From what to what it might be, or the words that it might be, as they are written.
    #[must_use]
    pub fn range(&self) -> String {
        let all: Vec<_> = self.range.iter().map(|value| self.written(value)).collect();
        let separator = if let Value::Word(_) = self.value { ", " } else { " to " };
        all.join(separator)
    }

    /// In its unit, without that.
    fn written(&self, value: &Value) -> String {
        match value {
            Value::Word(word) => word.clone(),
            Value::Number(number) => {
                let units = [TIMES, SIZES, RATES].concat();
                let of = units.iter().find(|(name, _)| *name == self.unit);
                let number = number / of.map_or(1.0, |(_, factor)| *factor);
                // Without what came in by its factor.
                ((number * 1e6).round() / 1e6).to_string()
            }
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.unit.is_empty() { "" } else { " " };
        write!(f, "{}{separator}{}", self.written(&self.value), self.unit)
    }
}

type Tables = BTreeMap<String, toml::Value>;

/// Of a model's own table.
fn of_model(model: &str, table: toml::Value) -> Result<Vec<(usize, Parameter)>, String> {
    let tables: Tables = table
        .try_into()
        .map_err(|_| format!("{model} has to hold tables, as [{model}.receive]"))?;
    let read = |(key, table): (String, toml::Value)| {
        let at = place(&key).map_err(|why| format!("[{model}.{key}]: {why}"))?;
        let parameter = DEFINITIONS[at].parameter(table, &format!("{model}.{key}"))?;
        Ok((at, parameter))
    };
    tables.into_iter().map(read).collect()
}

fn place(name: &str) -> Result<usize, String> {
    let at = DEFINITIONS.iter().position(|definition| definition.name == name);
    at.ok_or_else(|| unknown(name))
}

impl Definition {
    fn parameter(&self, table: toml::Value, key: &str) -> Result<Parameter, String> {
        let read = table.try_into().map_err(|error: toml::de::Error| error.to_string());
        let read = read.and_then(|written| self.read(written));
        read.map_err(|why| format!("[{key}]: {}", one_line(&why)))
    }

    fn read(&self, written: Written) -> Result<Parameter, String> {
        let Written { value, unit, range, source } = written;
        let kind = SOURCES.iter().find(|kind| source.starts_with(**kind));
        if kind.is_none_or(|kind| source.trim_end().len() <= kind.trim_end().len()) {
            let kinds = SOURCES.map(str::trim_end).join(", ");
            return Err(format!("source has to say where it is from, after one of {kinds}"));
        }
        let value = self.value(&value, &unit)?;
        let range: Result<Vec<_>, _> = range.iter().map(|end| self.value(end, &unit)).collect();
        let range = range.map_err(|why| format!("range: {why}"))?;
        if !holds(&range, &value) {
            return Err(String::from("value lies outside of its range"));
        }
        Ok(Parameter { value, unit, range, source })
    }

    fn value(&self, value: &toml::Value, unit: &str) -> Result<Value, String> {
        let units = match self.takes {
            Takes::Word(words) => {
                let word = value.as_str().filter(|word| words.contains(word));
                let word = word.ok_or_else(|| format!("has to be {}", words.join(" or ")))?;
                return Ok(Value::Word(word.into()));
            }
            Takes::Time => TIMES,
            Takes::Bytes => SIZES,
            Takes::Rate => RATES,
            Takes::Count => &[("", 1.0)][..],
        };
        let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
            let names: Vec<_> = units.iter().map(|(name, _)| *name).collect();
            return Err(match names[..] {
                [""] => format!("unit {unit}: a count has none"),
                _ => format!("unit {unit:?} is none of {}", names.join(", ")),
            });
        };
        let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        let number = number.ok_or_else(|| format!("has to be a number, and is {value}"))?;
        if !number.is_finite() || number < 0.0 {
            return Err(format!("has to be from 0 on and finite, and is {number}"));
        }
        if number * factor > NUMBER_MAX {
            let most = NUMBER_MAX / factor;
            return Err(format!("has to be {most} at most, and is {number}"));
        }
        Ok(Value::Number(number * factor))
    }
}

const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
const SIZES: &[(&str, f64)] =
    &[("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0)];
const RATES: &[(&str, f64)] = &[("B/s", 1.0), ("MB/s", 1e6), ("Mbit/s", 125e3)];

/// A year in nanoseconds, or 31 PB.
const NUMBER_MAX: f64 = 3.2e16;

fn holds(range: &[Value], value: &Value) -> bool {
    match (range, value) {
        ([Value::Number(least), Value::Number(most)], Value::Number(number)) => {
            (least..=most).contains(&number)
        }
        (words, Value::Word(_)) => words.contains(value),
        _ => false,
    }
}

fn unknown(key: &str) -> String {
    let names = DEFINITIONS.iter().map(|definition| definition.name);
    let like = names.max_by(|one, other| {
        strsim::jaro_winkler(key, one).total_cmp(&strsim::jaro_winkler(key, other))
    });
    format!("there is no parameter {key}; did you mean {}?", like.expect("there are some"))
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
