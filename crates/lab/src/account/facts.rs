//! Under which conditions all was measured. Where directories, runs or experiments differ in them,
//! it is told which is which.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use crate::results::Run;
use crate::subject::Kind;

/// A table each.
pub(super) fn facts(sources: &[Source<'_>]) -> Vec<(String, BTreeMap<String, String>)> {
    let mut facts = vec![
        (String::from("The machine"), of_runs(sources, |run| &run.machine)),
        (String::from("Versions"), of_runs(sources, |run| &run.versions)),
        (String::from("Server's and client's hosts"), of_hosts(sources)),
        (String::from("How to do it again"), commands(sources)),
    ];
    facts.extend(peers(sources));
    facts.retain(|(_, rows)| !rows.is_empty());
    facts
}

/// Values by their name, and where each was seen.
#[derive(Default)]
struct Seen {
    /// In the order in which they were.
    places: Vec<String>,
    /// Of each name: values, and the places of each.
    values: BTreeMap<String, Vec<(String, BTreeSet<usize>)>>,
}

impl Seen {
    fn add<'f>(&mut self, place: &str, facts: impl IntoIterator<Item = (&'f String, &'f String)>) {
        let known = self.places.iter().position(|other| other == place);
        let at = known.unwrap_or(self.places.len());
        if known.is_none() {
            self.places.push(place.into());
        }
        for (name, value) in facts {
            let values = self.values.entry(name.clone()).or_default();
            match values.iter_mut().find(|(other, _)| other == value) {
                Some((_, places)) => {
                    places.insert(at);
                }
                None => values.push((value.clone(), BTreeSet::from([at]))),
            }
        }
    }

    /// A row for each name where all places agree, else for each of its values.
    fn rows(self) -> BTreeMap<String, String> {
        let mut rows = BTreeMap::new();
        for (name, values) in self.values {
            if let [(value, places)] = values.as_slice()
                && places.len() == self.places.len()
            {
                rows.insert(name, value.clone());
                continue;
            }
            for at in 0..self.places.len() {
                let here: Vec<&String> = values
                    .iter()
                    .filter(|(_, places)| places.contains(&at))
                    .map(|(value, _)| value)
                    .collect();
                let value = match here.as_slice() {
                    [] => continue,
                    few if few.len() <= FEW => {
                        few.iter().map(|few| few.as_str()).collect::<Vec<_>>().join("; ")
                    }
                    many => {
                        format!("not the same at all points; at the last: {}", many[many.len() - 1])
                    }
                };
                rows.insert(format!("{name} ({})", self.places[at]), value);
            }
        }
        rows
    }
}

/// So many values are all told, where points of one experiment differ.
const FEW: usize = 2;

/// What a run is called beside others: its directory, and which of its runs it is if it went on.
fn place((dir, results): &Source<'_>, at: usize) -> String {
    let dir = dir.display();
    match results.runs.len() {
        1 => dir.to_string(),
        _ => format!("{dir}, begun {}", results.runs[at].began),
    }
}

fn of_runs(
    sources: &[Source<'_>],
    of: impl Fn(&Run) -> &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut seen = Seen::default();
    for source in sources {
        for (at, run) in source.1.runs.iter().enumerate() {
            seen.add(&place(source, at), of(run));
        }
    }
    seen.rows()
}

/// Of each experiment's points.
fn of_hosts(sources: &[Source<'_>]) -> BTreeMap<String, String> {
    let mut seen = Seen::default();
    for (dir, results) in sources {
        for point in &results.points {
            let name = &point.spec.experiment;
            let place = match sources.len() {
                1 => name.clone(),
                _ => format!("{name} in {}", dir.display()),
            };
            seen.add(&place, &point.testbed);
        }
    }
    seen.rows()
}

fn commands(sources: &[Source<'_>]) -> BTreeMap<String, String> {
    let name = String::from("command");
    let mut seen = Seen::default();
    for source in sources {
        for (at, run) in source.1.runs.iter().enumerate() {
            seen.add(&place(source, at), [(&name, &run.command)]);
        }
    }
    seen.rows()
}

/// How those that were measured are set, each once.
fn peers(sources: &[Source<'_>]) -> Vec<(String, BTreeMap<String, String>)> {
    let mut told: Vec<&str> = Vec::new();
    let mut facts = Vec::new();
    for point in sources.iter().flat_map(|(_, results)| &results.points) {
        let Ok(Kind::Peer(peer)) = point.spec.subject.kind() else { continue };
        if !told.contains(&peer.name) {
            told.push(peer.name);
            let settings =
                peer.settings.iter().map(|(key, why)| (String::from(*key), String::from(*why)));
            facts.push((format!("How {} is set, and why", peer.name), settings.collect()));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_everywhere_is_told_once_and_all_else_with_its_place() {
        type Row<'r> = (&'r [(&'r str, &'r str)], &'r [(&'r str, &'r str)]);
        let rows: [Row<'_>; 5] = [
            (&[("a", "1"), ("b", "1")], &[("k", "1")]),
            (&[("a", "1"), ("b", "2")], &[("k (a)", "1"), ("k (b)", "2")]),
            (&[("a", "1"), ("a", "2")], &[("k (a)", "1; 2")]),
            (
                &[("a", "1"), ("a", "2"), ("a", "3")],
                &[("k (a)", "not the same at all points; at the last: 3")],
            ),
            // One has none.
            (&[("a", "1"), ("b", "")], &[("k (a)", "1")]),
        ];
        for (added, expected) in rows {
            let mut seen = Seen::default();
            for (place, value) in added {
                let facts = [(String::from("k"), String::from(*value))];
                let facts = facts.iter().filter(|(_, value)| !value.is_empty());
                seen.add(place, facts.map(|(name, value)| (name, value)));
            }
            let told = seen.rows();
            let told: Vec<(&str, &str)> = told.iter().map(|(k, v)| (&**k, &**v)).collect();
            assert_eq!(told, expected, "{added:?}");
        }
    }
}
