//! One measurement, and whether it counts.

use std::collections::BTreeMap;
use std::fmt;

use load::collector::figures::Figures;
use load::collector::results::Results;
use load::gates::{self, Finding};
use serde::{Deserialize, Serialize};

use crate::profile::Profile;
use crate::spec::Spec;
use crate::testbed::Sent;
use crate::vitals::{Classes, FOREIGN, STEAL, Vitals};

/// Of the lines of results. It grows when a key changes its meaning or goes, not when one comes.
pub const SCHEMA: u32 = 2;

/// All that is kept of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Of the run.
    pub run: String,
    /// What was to be measured.
    pub spec: Spec,
    /// From 0; more, where earlier ones were invalid.
    pub attempt: u32,
    /// When it began, by the calendar (RFC 3339).
    pub began: String,
    /// Whether it counts.
    pub verdict: Verdict,
    /// What it cost.
    pub cost: Cost,
    /// As they were called.
    pub commands: Commands,
    /// Of each knob that the server has not taken, what it is and what it was to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Of the machines.
    pub testbed: BTreeMap<String, String>,
    /// Of the site, where the server's memory is limited.
    pub site: Option<InMemory>,
    /// What the clients saw; none if there was no measurement.
    pub load: Option<Results>,
    /// What those of the load beside it saw for as long, which begins and ends up to 0.2 s later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Results>,
    /// What the server counted meanwhile, by its own names; of Weir alone. Or what came of a policy
    /// by itself ([`crate::policies`]).
    pub counters: BTreeMap<String, f64>,
    /// What the machines did meanwhile.
    pub vitals: Option<Vitals>,
    /// What came beside the load meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syns: Option<Sent>,
    /// What was seen of the server from within, or why nothing was; none: nobody looked.
    pub profile: Option<Result<Profile, String>>,
    /// For how long it was counted, in seconds: as long as the load was measured.
    pub counted_s: f64,
}

/// Whether a measurement counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It does.
    Good,
    /// It tells what it should, and the server failed: wrong answers, unfair timeouts (Pariag07
    /// 3.4), an early end.
    Failed(Vec<String>),
    /// It does not tell what it should: the client or somebody else's work was the limit.
    Invalid(Vec<String>),
}

/// How much of a site's files was in the page cache, by cachestat(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct InMemory {
    /// All of its files.
    pub bytes: u64,
    /// Of them, before the server was started.
    pub before_bytes: u64,
    /// And when it had ended.
    pub after_bytes: u64,
}

impl InMemory {
    /// Why a measurement does not count in which a server with so much memory was to read from the
    /// disk: others had read the files before, or held more of them than the server could.
    #[must_use]
    pub fn complaint(&self, limit_bytes: u64) -> Option<String> {
        /// Pages that somebody was just reading stay.
        const BEFORE_SHARE: f64 = 0.01;
        let share = |bytes: u64| bytes as f64 / self.bytes.max(1) as f64;
        let percent = |bytes: u64| 100.0 * share(bytes);
        if share(self.before_bytes) > BEFORE_SHARE {
            return Some(format!(
                "{:.1} % of the site was in memory before; {:.0} % is too much",
                percent(self.before_bytes),
                100.0 * BEFORE_SHARE
            ));
        }
        (self.after_bytes > limit_bytes).then(|| {
            format!(
                "{:.1} % of the site was in memory at the end; the server's limit is {:.1} %",
                percent(self.after_bytes),
                percent(limit_bytes)
            )
        })
    }
}

/// Where a point's time went, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The whole of it.
    pub whole_s: f64,
    /// Until the server answered.
    pub start_s: f64,
    /// Warming up, as far as it is no part of the load's own time.
    pub warm_up_s: f64,
    /// The load, from its start until its report was there.
    pub load_s: f64,
}

/// What was called, so that a reader can do it by hand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commands {
    /// On the server's side.
    pub server: String,
    /// On the client's.
    pub load: String,
    /// The same of the load beside it; empty: there was none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub beside: String,
}

/// What these gates find in a flood is a figure, and no fault: who is asked for more than he can do
/// leaves some, or all, without an answer in time.
const OF_CALM: [&str; 4] = ["answered", "losses", "timeouts", "client-timeouts"];

/// The gate that fails whoever answers wrongly. Late clients do not make wrong replies; timeouts
/// they do, so that those are a server's only where nothing else was disturbed.
pub(crate) const CORRECT: &str = "correct";

fn is_client_gate(name: &str) -> bool {
    gates::judged(name).is_some_and(|judged| judged != gates::Judged::Server)
}

/// Whether a reason tells of other programs, or of other guests of the machine's host.
pub(crate) fn is_of_others(words: &str) -> bool {
    [FOREIGN, STEAL].iter().any(|begins| words.starts_with(begins))
}

/// Whether what it finds judges the generator and not the server.
#[must_use]
pub fn is_of_client(finding: &Finding) -> bool {
    is_client_gate(finding.gate)
}

impl Verdict {
    /// By what the gates of a load found, which may be a flood
    /// ([`is_flood`](crate::design::is_flood)), and by what disturbed the machine meanwhile, in
    /// words.
    #[must_use]
    pub fn of(findings: &[Finding], is_flood: bool, disturbed: Vec<String>) -> Self {
        let is_failing = |finding: &&Finding| {
            let is_judged = !is_flood || !OF_CALM.contains(&finding.gate);
            finding.verdict == gates::Verdict::Fails && is_judged
        };
        let failing = findings.iter().filter(is_failing);
        let (client, server): (Vec<&Finding>, Vec<&Finding>) =
            failing.partition(|finding| is_of_client(finding));
        let is_wrong = server.iter().any(|finding| finding.gate == CORRECT);
        // What to do about it is for whoever calls the generator himself.
        let found = |words: &str| String::from(words.split(": ").next().unwrap_or_default());
        let words = |finding: &Finding| format!("{}: {}", finding.gate, found(&finding.words));
        let invalid: Vec<String> = client.into_iter().map(words).chain(disturbed).collect();
        match (is_wrong, invalid.is_empty(), server.is_empty()) {
            (true, _, _) | (false, true, false) => {
                Self::Failed(server.into_iter().map(words).collect())
            }
            (false, false, _) => Self::Invalid(invalid),
            (false, true, true) => Self::Good,
        }
    }

    /// Whether nothing but the client's own limits is in the way: another try would be the same.
    #[must_use]
    pub fn is_by_client(&self) -> bool {
        let is_gate = |words: &String| words.split(':').next().is_some_and(is_client_gate);
        matches!(self, Self::Invalid(why) if why.iter().all(is_gate))
    }

    /// Whether other programs, or other guests of the machine's host, have disturbed it.
    #[must_use]
    pub fn is_by_others(&self) -> bool {
        matches!(self, Self::Invalid(why) if why.iter().any(|words| is_of_others(words)))
    }

    /// Whether the server passed.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        matches!(self, Self::Good)
    }

    /// Why it does not count; empty if it does.
    #[must_use]
    pub fn why(&self) -> &[String] {
        match self {
            Self::Good => &[],
            Self::Failed(why) | Self::Invalid(why) => why,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Good => return f.write_str("good"),
            Self::Failed(_) => "failed",
            Self::Invalid(_) => "invalid",
        };
        write!(f, "{name}: {}", self.why().join("; "))
    }
}

impl Point {
    /// One of which nothing is known yet.
    #[must_use]
    pub fn begun(run: &str, spec: &Spec, attempt: u32) -> Self {
        Self {
            schema: SCHEMA,
            run: run.into(),
            spec: spec.clone(),
            attempt,
            began: crate::calendar::now(),
            verdict: Verdict::Good,
            cost: Cost::default(),
            commands: Commands::default(),
            ignored: Vec::new(),
            testbed: BTreeMap::new(),
            site: None,
            load: None,
            beside: None,
            counters: BTreeMap::new(),
            vitals: None,
            syns: None,
            profile: None,
            counted_s: 0.0,
        }
    }

    /// Why nothing was seen of the server from within; `None`: it was, or nobody was to look.
    #[must_use]
    pub fn why_unseen(&self) -> Option<&str> {
        self.profile.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// What the load comes to; none if there was none.
    #[must_use]
    pub fn figures(&self) -> Option<Figures> {
        self.load.as_ref().map(Figures::of)
    }

    /// What the server counted by this name, in a second of the load.
    #[must_use]
    pub fn counted_per_s(&self, name: &str) -> Option<f64> {
        let counted = self.counters.get(name)?;
        (self.counted_s > 0.0).then(|| counted / self.counted_s)
    }

    /// Connections that the kernel dropped, by reason, if these can be told apart.
    #[must_use]
    pub fn drops(&self) -> Option<&Classes> {
        self.vitals.as_ref()?.queues.classes.as_ref().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_failed_by_wrong_replies_and_by_timeouts_that_nobody_else_made() {
        let calm: [(&[&str], &[&str], &str); 11] = [
            (&[], &[], "good"),
            (&["answered"], &[], "failed: answered: found"),
            (&["correct"], &[], "failed: correct: found"),
            (&["even-timeouts"], &[], "failed: even-timeouts: found"),
            (&["client-cpu"], &[], "invalid: client-cpu: found"),
            (&[], &["steal"], "invalid: steal"),
            (&["client-cpu", "correct"], &["steal"], "failed: correct: found"),
            (&["schedule-lag", "even-timeouts"], &[], "invalid: schedule-lag: found"),
            (&["timeouts"], &["steal"], "invalid: steal"),
            (&["losses"], &[], "failed: losses: found"),
            (&["late-starts"], &["steal"], "invalid: late-starts: found; steal"),
        ];
        let flood: [(&[&str], &[&str], &str); 4] = [
            (&["answered"], &[], "good"),
            (&["losses", "timeouts", "client-timeouts"], &[], "good"),
            (&["even-timeouts", "timeouts"], &[], "failed: even-timeouts: found"),
            (&["correct"], &[], "failed: correct: found"),
        ];
        let rows = calm.map(|row| (row, false)).into_iter().chain(flood.map(|row| (row, true)));
        for ((gates, disturbed, expected), is_flood) in rows {
            let finding = |gate: &&'static str| Finding {
                gate,
                verdict: gates::Verdict::Fails,
                words: String::from("found: and what to do"),
            };
            let findings: Vec<Finding> = gates.iter().map(finding).collect();
            let disturbed = disturbed.iter().map(ToString::to_string).collect();
            let told = Verdict::of(&findings, is_flood, disturbed).to_string();
            assert_eq!(told, expected, "{gates:?} {is_flood}");
        }
    }

    #[test]
    fn files_that_are_in_memory_are_not_on_the_disk() {
        let rows = [
            ((0, 0), None),
            ((10, 600), None),
            ((11, 500), Some("1.1 % of the site was in memory before; 1 % is too much")),
            (
                (0, 601),
                Some("60.1 % of the site was in memory at the end; the server's limit is 60.0 %"),
            ),
        ];
        for ((before_bytes, after_bytes), expected) in rows {
            let site = InMemory { bytes: 1000, before_bytes, after_bytes };
            assert_eq!(site.complaint(600).as_deref(), expected, "{site:?}");
        }
    }
}
