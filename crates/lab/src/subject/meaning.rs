//! What servers can be told, whatever each of them calls it.

use super::Subject;

/// The same, and nothing else, as far as a server takes it: its name with Weir first.
const MEANINGS: [(&str, &[&str]); 4] = [
    ("connections", &["connections-max", "connections"]),
    ("backlog", &["backlog"]),
    ("deferred accept", &["defer-accept-s", "defer-accept"]),
    ("workers", &["processes", "workers", "threads"]),
];

impl Subject {
    /// With a knob of another value, by whatever name it has the knob; `None`: it has none such, or
    /// does not take the value.
    #[must_use]
    pub fn with(&self, knob: &str, value: &str) -> Option<Self> {
        let same = MEANINGS.iter().find(|(_, names)| names.contains(&knob));
        let others = same.map_or(&[][..], |(_, names)| names);
        let with = |name: &str| {
            let mut of = self.clone();
            of.knobs.insert(name.into(), value.into());
            of.judge().is_ok().then_some(of)
        };
        std::iter::once(knob).chain(others.iter().copied()).find_map(with)
    }

    /// Whether it was told this, by whatever name.
    #[must_use]
    pub fn says(&self, knob: &str) -> bool {
        let same = MEANINGS.iter().find(|(_, names)| names.contains(&knob));
        let is_said = |name: &&str| self.knobs.contains_key(*name);
        is_said(&knob) || same.is_some_and(|(_, names)| names.iter().any(is_said))
    }

    /// What it cannot be told, of what every server should be.
    #[must_use]
    pub fn lacks(&self) -> Vec<&'static str> {
        let takes = |name: &str| ["1", "on"].iter().any(|value| self.with(name, value).is_some());
        MEANINGS.iter().filter(|(_, names)| !takes(names[0])).map(|(is, _)| *is).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knob_is_found_by_what_it_means() {
        let rows = [
            ("sped", "connections-max", "990", Some("sped:connections-max=990")),
            ("nginx", "connections-max", "990", Some("nginx:connections=990")),
            ("h2o", "connections-max", "990", Some("h2o:connections=990")),
            ("apache-event", "threads", "8", Some("apache-event:threads=8")),
            ("apache-event", "processes", "8", Some("apache-event:workers=8")),
            ("mt", "workers", "8", Some("mt:threads=8")),
            ("caddy", "connections-max", "990", None),
            ("nginx", "poller", "poll", None),
            ("nginx", "backlog", "0", None),
        ];
        for (of, knob, value, expected) in rows {
            let of: Subject = of.parse().expect("a subject");
            let with = of.with(knob, value).map(|of| of.to_string());
            assert_eq!(with.as_deref(), expected, "{of} {knob}");
        }
    }

    #[test]
    fn what_a_server_cannot_be_told_is_named() {
        let rows: [(&str, &[&str]); 6] = [
            ("sped", &[]),
            ("mt", &[]),
            ("nginx", &[]),
            ("apache-prefork", &["connections"]),
            ("h2o", &["backlog", "deferred accept"]),
            ("caddy", &["connections", "backlog", "deferred accept"]),
        ];
        for (of, expected) in rows {
            assert_eq!(of.parse::<Subject>().expect("a subject").lacks(), expected, "{of}");
        }
    }
}
