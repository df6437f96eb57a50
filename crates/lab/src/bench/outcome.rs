//! What came of a point, until all is known by which it is judged.

use load::gates::Finding;

use crate::point::Verdict;

/// One of these ways it ended.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The server did what it must not.
    Failed(String),
    /// There was no measurement, and the server is not to blame.
    Untold(Vec<String>),
    /// There was one.
    Measured {
        /// By the gates of the load.
        findings: Vec<Finding>,
        /// What others did to it.
        disturbed: Vec<String>,
    },
}

impl Outcome {
    /// With what is wrong about the site: files that were in memory are not read from a disk, so
    /// that timeouts then are not of the server that was to be measured.
    pub(super) fn verdict(self, of_site: Option<String>) -> Verdict {
        match self {
            Self::Failed(why) => Verdict::Failed(vec![why]),
            Self::Untold(why) => Verdict::Invalid(why.into_iter().chain(of_site).collect()),
            Self::Measured { findings, disturbed } => {
                Verdict::of(&findings, disturbed.into_iter().chain(of_site).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use load::gates;

    use super::*;

    #[test]
    fn a_site_in_memory_excuses_timeouts_and_nothing_else() {
        let measured = |gates: &[&'static str], disturbed: &[&str]| {
            let finding = |gate: &&'static str| Finding {
                gate,
                verdict: gates::Verdict::Fails,
                words: String::from("found"),
            };
            let findings = gates.iter().map(finding).collect();
            let disturbed = disturbed.iter().map(ToString::to_string).collect();
            Outcome::Measured { findings, disturbed }
        };
        let untold = || Outcome::Untold(vec![String::from("no load")]);
        let failed = || Outcome::Failed(String::from("gone"));
        let rows = [
            (measured(&[], &[]), false, "good"),
            (measured(&[], &[]), true, "invalid: in memory"),
            (measured(&["timeouts"], &[]), false, "failed: timeouts: found"),
            (measured(&["timeouts"], &[]), true, "invalid: in memory"),
            (measured(&["correct"], &[]), true, "failed: correct: found"),
            (measured(&[], &["steal"]), true, "invalid: steal; in memory"),
            (untold(), false, "invalid: no load"),
            (untold(), true, "invalid: no load; in memory"),
            (failed(), true, "failed: gone"),
        ];
        for (outcome, is_in_memory, expected) in rows {
            let shown = format!("{outcome:?}");
            let verdict = outcome.verdict(is_in_memory.then(|| String::from("in memory")));
            assert_eq!(verdict.to_string(), expected, "{shown} {is_in_memory}");
        }
    }
}
