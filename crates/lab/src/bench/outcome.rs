//! What came of a point, until all is known by which it is judged.

use load::gates::{self, Finding, Judged};

use crate::Failure;
use crate::point::{Verdict, is_of_others};
use crate::subject::NotStarted;

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
    /// A server that does not start is told in its curve's place; who or what prevented it may be
    /// gone at another try.
    ///
    /// # Errors
    /// No other try would be different, or none is wanted.
    pub(super) fn without_start(why: NotStarted) -> Result<Self, Failure> {
        match why {
            NotStarted::Itself(why) => Ok(Self::Failed(why)),
            NotStarted::Prevented(Failure::Machine(why)) => Ok(Self::Untold(vec![why])),
            NotStarted::Prevented(other) => Err(other),
        }
    }

    /// With `--anyway`: neither other programs nor a client that they make late are a reason to
    /// leave a measurement out.
    pub(super) fn anyway(self) -> Self {
        let is_late = |finding: &Finding| gates::judged(finding.gate) == Some(Judged::Punctuality);
        match self {
            Self::Measured { mut findings, mut disturbed } => {
                findings.retain(|finding| !is_late(finding));
                disturbed.retain(|words| !is_of_others(words));
                Self::Measured { findings, disturbed }
            }
            other => other,
        }
    }

    /// With what is wrong about the machines: files that were in memory are not read from a disk,
    /// and packets that were lost on the way never came, so that timeouts then are not of the
    /// server that was to be measured.
    pub(super) fn verdict(self, is_flood: bool, of_machines: Vec<String>) -> Verdict {
        match self {
            Self::Failed(why) => Verdict::Failed(vec![why]),
            Self::Untold(why) => Verdict::Invalid(why.into_iter().chain(of_machines).collect()),
            Self::Measured { findings, disturbed } => {
                let disturbed = disturbed.into_iter().chain(of_machines).collect();
                Verdict::of(&findings, is_flood, disturbed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A measurement in which these gates fail, and that is disturbed in these ways.
    fn measured(gates: &[&'static str], disturbed: &[&str]) -> Outcome {
        let finding = |gate: &&'static str| Finding {
            gate,
            verdict: gates::Verdict::Fails,
            words: String::from("found"),
        };
        let findings = gates.iter().map(finding).collect();
        let disturbed = disturbed.iter().map(ToString::to_string).collect();
        Outcome::Measured { findings, disturbed }
    }

    #[test]
    fn busy_machine_excuses_a_late_client_and_nothing_else() {
        const OTHERS: &str = "other programs ran: 56.2 % of the processors";
        let rows: [(&[&'static str], &[&str], &str); 6] = [
            (&[], &[OTHERS], "good"),
            (&["schedule-lag", "late-starts", "client-cpu"], &[OTHERS], "good"),
            (&["timeouts", "schedule-lag"], &[OTHERS], "failed"),
            (&["descriptors"], &[OTHERS], "invalid"),
            (&["measured"], &[], "invalid"),
            (&[], &[OTHERS, "50 packets were lost on the wire"], "invalid"),
        ];
        for (gates, disturbed, expected) in rows {
            let verdict = measured(gates, disturbed).anyway().verdict(false, Vec::new());
            assert!(verdict.to_string().starts_with(expected), "{gates:?}: {verdict}");
            assert!(!verdict.is_by_others(), "{gates:?}: {verdict}");
        }
    }

    #[test]
    fn machines_that_are_not_as_they_should_be_excuse_timeouts_and_nothing_else() {
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
            let of_machines = is_in_memory.then(|| String::from("in memory"));
            let verdict = outcome.verdict(false, of_machines.into_iter().collect());
            assert_eq!(verdict.to_string(), expected, "{shown} {is_in_memory}");
        }
    }

    #[test]
    fn only_a_server_that_does_not_start_by_itself_has_failed() {
        use Failure::{Full, Machine, Operator, Stopped};
        let text = || String::from("why");
        let failed = NotStarted::Itself(text());
        let told =
            |why| Outcome::without_start(why).map(|outcome| outcome.verdict(false, Vec::new()));
        assert_eq!(told(failed), Ok(Verdict::Failed(vec![text()])));
        let prevented = Machine(text()).into();
        assert_eq!(told(prevented), Ok(Verdict::Invalid(vec![text()])));
        for failure in [Operator(text()), Full(text()), Stopped] {
            assert_eq!(told(failure.clone().into()), Err(failure));
        }
    }
}
