//! A run as JSON: each top key on a line of its own, so that what is short can be read and
//! compared by lines, and the histograms whole, so that nothing has to be measured again.

use std::collections::BTreeMap;
use std::fmt;

use measure::Duration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{About, Report};
use crate::collector::figures::Figures;
use crate::collector::results::{Requests, Results};
use crate::collector::times::Times;
use crate::gates;
use crate::knob::printable;

/// Of the form below. It grows when a key changes its meaning or goes, not when one comes.
pub const SCHEMA: u32 = 1;

/// Those that are told, in percent.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// The report.
///
/// # Panics
/// Never: all keys are text, and all values can be written.
#[must_use]
pub fn text(report: &Report<'_>) -> String {
    let Report { about, results, findings, expected } = report;
    let requests = &results.requests;
    let times = [
        ("connect", &requests.connect),
        ("first_byte", &requests.first_byte),
        ("whole", &requests.whole),
        ("schedule_lag", &requests.lag),
        ("response", &requests.response),
        ("latency", &requests.latency),
    ];
    let times = times.map(|(name, times)| (name, quantiles(times)));
    let mut times: BTreeMap<&str, Value> = times.into_iter().collect();
    times.insert("whole_of_all", of_all(requests));
    let classes: BTreeMap<&str, u64> = requests.counts.classes().into_iter().collect();
    let mut text = b"{".to_vec();
    field(&mut text, "\n", "schema", &SCHEMA);
    field(&mut text, ",\n", "about", about);
    field(&mut text, ",\n", "is_valid", &gates::is_valid(findings));
    field(&mut text, ",\n", "gates", findings);
    field(&mut text, ",\n", "expected", expected);
    field(&mut text, ",\n", "figures", &Figures::of(results));
    field(&mut text, ",\n", "outcomes", &classes);
    field(&mut text, ",\n", "times_ms", &times);
    field(&mut text, ",\n", "results", results);
    text.extend_from_slice(b"\n}\n");
    whole(text)
}

/// Appends what may be long, so that there are never two of it.
fn field(to: &mut Vec<u8>, before: &str, key: &str, value: &(impl Serialize + ?Sized)) {
    to.extend_from_slice(format!("{before}\"{key}\": ").as_bytes());
    serde_json::to_writer(to, value).expect("text for keys, and values that can be written");
}

fn whole(text: Vec<u8>) -> String {
    String::from_utf8(text).expect("JSON is text")
}

/// What most readers look for, so that they need not read a histogram.
fn quantiles(times: &Times) -> Value {
    let mut told = json!({
        "count": times.count(),
        "mean": ms(times.mean()),
        "longest": ms(times.longest()),
    });
    for percent in PERCENTILES {
        told[format!("p{percent}")] = json!(ms(times.quantile(percent / 100.0)));
    }
    told
}

/// The same of all requests, where one that did not end well takes for ever: `null`.
fn of_all(requests: &Requests) -> Value {
    let mut told = json!({ "count": requests.counts.total() });
    for percent in PERCENTILES {
        told[format!("p{percent}")] = json!(requests.whole_of_all(percent / 100.0).map(ms));
    }
    told
}

fn ms(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// The results in a report.
///
/// # Errors
/// It is none of them, or of another schema.
pub fn read(text: &str) -> Result<Results, Unread> {
    #[derive(Deserialize)]
    struct Part {
        results: Results,
    }
    judged(text).map(|Part { results }| results)
}

/// What a report says, but for what can be made of its results again.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Whole {
    /// Of the run.
    pub about: About,
    /// What the gates made of it.
    pub is_valid: bool,
    /// What came of it.
    pub results: Results,
}

/// A whole report.
///
/// # Errors
/// As of [`read`].
pub fn read_whole(text: &str) -> Result<Whole, Unread> {
    judged(text)
}

/// A part of a report, if it is one that this program knows.
fn judged<T: DeserializeOwned>(text: &str) -> Result<T, Unread> {
    #[derive(Deserialize)]
    struct Head {
        schema: u32,
    }
    let unread = |error: serde_json::Error| Unread { why: printable(&error.to_string()) };
    let Head { schema } = serde_json::from_str(text).map_err(unread)?;
    if schema != SCHEMA {
        let why = format!("its schema is {schema}, and this program reads {SCHEMA}");
        return Err(Unread { why });
    }
    serde_json::from_str(text).map_err(unread)
}

/// Why a text is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// In words.
    pub why: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no report of a load that can be read: {}", self.why)
    }
}

impl std::error::Error for Unread {}
