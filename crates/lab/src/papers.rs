//! What the papers have that this project follows, and what became of each of it here: rows for
//! docs/papers.md. What they claim of servers stands with the experiments that ask about it.

mod brecht04;
mod choi05;
mod jaws97;
mod pariag07;

/// A paper, as its own text says it.
pub struct Paper {
    /// What it is called here.
    pub short: &'static str,
    /// Who wrote it, its title, and where it appeared.
    pub source: &'static str,
    /// Servers, and how they work.
    pub systems: &'static [Row],
    /// Workloads, machines, and what is counted.
    pub method: &'static [Row],
    /// Figures, tables and equations.
    pub figures: &'static [Row],
    /// What its text says or asks beside that, and no claim of an experiment holds.
    pub questions: &'static [Row],
    /// What its authors leave to be done.
    pub future: &'static [Row],
}

/// Where it stands, what it is, and what became of it.
pub type Row = (&'static str, &'static str, Here);

/// What became of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Here {
    /// It is here, as this: in Markdown.
    Is(&'static str),
    /// It is this architecture, or is asked of it, where the build has it.
    Of(&'static str),
    /// An experiment asks, which says so itself ([`Experiment::paper`]).
    ///
    /// [`Experiment::paper`]: crate::experiment::Experiment::paper
    Asked,
    /// Some of it is here; what is not.
    Part(&'static str),
    /// It may come.
    NotYet,
    /// It does not come; because.
    Out(&'static str),
}

/// By year.
pub const PAPERS: [&Paper; 4] =
    [&jaws97::PAPER, &brecht04::PAPER, &choi05::PAPER, &pariag07::PAPER];

impl Paper {
    /// Its rows, by heading.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, &'static [Row]); 5] {
        [
            ("Servers, and how they work", self.systems),
            ("Workloads, machines, and what is counted", self.method),
            ("Figures, tables and equations", self.figures),
            ("Other questions of its text", self.questions),
            ("Future work", self.future),
        ]
    }

    /// All of them.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        self.parts().into_iter().flat_map(|(_, rows)| rows)
    }
}

/// Whether this build has it.
#[must_use]
pub fn is_built(architecture: &str) -> bool {
    servers::architectures::architecture(architecture).is_some()
}

/// The places that an experiment says to follow: `Brecht04 figures 8 to 10 and 15` are four. A part
/// of a figure, as 5a, is that figure.
#[must_use]
pub fn places(of: &str) -> Vec<(&str, String)> {
    let Some((short, rest)) = of.split_once(' ') else { return Vec::new() };
    let (kind, numbers) = match rest.split_once(' ') {
        Some((kind @ ("figure" | "figures"), numbers)) => (&kind[..6], numbers),
        Some((kind @ ("table" | "tables"), numbers)) => (&kind[..5], numbers),
        _ => ("", rest),
    };
    let place = |number: &str| {
        let whole = number.trim_end_matches(|c: char| c.is_ascii_lowercase());
        // Words are no number with a part.
        let whole = if whole.ends_with(|c: char| c.is_ascii_digit()) { whole } else { number };
        (short, format!("{kind} {whole}").trim().into())
    };
    let several = numbers.split(',').flat_map(|part| part.split(" and "));
    let several = several.map(str::trim).filter(|part| !part.is_empty());
    several
        .flat_map(|part| match part.split_once(" to ").map(|(a, b)| (a.parse(), b.parse())) {
            Some((Ok(first), Ok(last))) => {
                (first..=last).map(|n: u32| place(&n.to_string())).collect()
            }
            _ => vec![place(part)],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::{EXPERIMENTS, said};

    #[test]
    fn places_are_counted_out() {
        let rows: [(&str, &[&str]); 6] = [
            ("A figure 6a", &["figure 6"]),
            (
                "A figures 8 to 10, 12 and 16",
                &["figure 8", "figure 9", "figure 10", "figure 12", "figure 16"],
            ),
            ("A figures 16 and 17", &["figure 16", "figure 17"]),
            ("A table 1", &["table 1"]),
            ("A 3.3", &["3.3"]),
            ("", &[]),
        ];
        for (of, expected) in rows {
            let expected: Vec<_> =
                expected.iter().map(|place| ("A", String::from(*place))).collect();
            assert_eq!(places(of), expected, "{of}");
        }
    }

    #[test]
    fn who_follows_a_paper_stands_in_it() {
        let told = EXPERIMENTS.iter();
        let told = told.map(|experiment| (experiment.name, experiment.paper.into(), true));
        // The text of a section is no row of its own.
        let said = said().into_iter().map(|said| (said.experiment, said.place, false));
        for (experiment, of, is_all) in told.chain(said) {
            for (short, place) in places(&of) {
                let paper = PAPERS.iter().find(|paper| paper.short == short);
                let stands = paper.is_some_and(|paper| paper.rows().any(|row| row.0 == place));
                let is_text = !is_all && place.starts_with(char::is_numeric);
                assert!(stands || is_text, "{experiment}: {short} {place}");
            }
        }
    }

    #[test]
    fn what_is_asked_has_an_experiment() {
        for paper in PAPERS {
            for (place, what, here) in paper.rows() {
                let is_it = |of: &str| places(of).contains(&(paper.short, String::from(*place)));
                let is_asked = EXPERIMENTS.iter().any(|experiment| is_it(experiment.paper));
                assert!(is_asked || *here != Here::Asked, "{} {place}: {what}", paper.short);
            }
        }
    }
}
