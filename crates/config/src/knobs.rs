//! Knobs as keys.

use servers::knobs::Knob;
use servers::settings::Settings;
use site::rules::Origin;
use toml::de::DeValue;

use crate::Fault;
use crate::item::Item;

/// A knob that was written.
pub(crate) struct Written {
    /// As flags would say them, and where each is; only a list has several.
    pub(crate) values: Vec<(String, Origin)>,
    /// Of the key, with nothing told.
    pub(crate) place: Fault,
}

/// The values of a knob, those that it takes.
pub(crate) fn values(
    knob: &Knob,
    item: &Item<'_>,
    faults: &mut Vec<Fault>,
) -> Vec<(String, Origin)> {
    let items = if knob.is_list() { item.elements() } else { vec![item.clone()] };
    if items.is_empty() {
        faults.push(item.fault("is empty; leave it out for the default"));
    }
    let judged = items.into_iter().filter_map(|item| {
        let judged = value(knob, &item);
        judged.map_err(|fault| faults.push(fault)).ok().map(|value| (value, item.origin()))
    });
    judged.collect()
}

fn value(knob: &Knob, item: &Item<'_>) -> Result<String, Fault> {
    let words = words(knob);
    let is_file = words.contains(&"FILE");
    let text = match item.value.get_ref() {
        DeValue::String(text) if text.is_empty() => Err(item.not(&said(knob))),
        DeValue::String(text) if is_file && !words.contains(&&**text) => {
            Ok(item.source.path(text).display().to_string())
        }
        DeValue::String(text) => match text.strip_prefix("unix:") {
            Some(path) if words.contains(&"ADDR") && !path.is_empty() => {
                Ok(format!("unix:{}", item.source.path(path).display()))
            }
            _ => Ok(text.to_string()),
        },
        // Of another radix or with underscores it is the same number.
        DeValue::Integer(n) if !is_file => {
            let number = i64::from_str_radix(n.as_str(), n.radix());
            number.map(|n| n.to_string()).map_err(|_| item.not(&said(knob)))
        }
        DeValue::Boolean(true) if words.contains(&"on") => Ok("on".into()),
        DeValue::Boolean(false) if words.contains(&"off") => Ok("off".into()),
        _ => Err(item.not(&said(knob))),
    }?;
    let judged = (knob.set)(&mut Settings::default(), &text);
    judged.map(|()| text).map_err(|told| item.not(&told))
}

/// What a value is made of: alternatives, without the unit.
fn words(knob: &Knob) -> Vec<&'static str> {
    let (words, _unit) = knob.value.split_once(' ').unwrap_or((knob.value, ""));
    words.split('|').collect()
}

fn said(knob: &Knob) -> String {
    knob.value.replace('|', " or ")
}
