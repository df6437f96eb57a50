//! The design of JAWS97: so many clients, each of which asks again when it is answered.
//!
//! The more clients there are, the more a server has to do at a time; it is never asked for more
//! than it can answer, so that its capacity is seen and not what comes beyond
//! ([`Design`](crate::design::Design) is for that).

use std::collections::BTreeMap;

use crate::curves;
use crate::design::Plan;
use crate::known::{Cell, Known};
use crate::metric::Metric;
use crate::page::{Axis, Figure};
use crate::profile;
use crate::spec::{Load, Spec};
use crate::subject::Subject;
use crate::testbed::Layout;

/// See the head of this file.
#[derive(Debug, Clone)]
pub struct Closed {
    /// The experiment's name.
    pub experiment: &'static str,
    /// Rivals.
    pub subjects: Vec<Subject>,
    /// What they are asked.
    pub load: Load,
    /// On which machines.
    pub layout: Layout,
    /// How many at a time, upwards.
    pub clients: Vec<u32>,
    /// Of each number, each after all others have had theirs.
    pub repeats: u32,
    /// What else is watched.
    pub profile: Option<profile::Kind>,
}

/// The stage, as it stands in [`Spec::stage`].
const STAGE: &str = "clients";

/// What varies, as it stands in [`Spec::factors`].
pub const CLIENTS: &str = "clients";

impl Closed {
    /// All of it: nothing depends on what comes out.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let mut specs = Vec::new();
        for repeat in 0..self.repeats {
            for &clients in &self.clients {
                specs.extend(self.subjects.iter().map(|subject| Spec {
                    experiment: self.experiment.into(),
                    stage: STAGE.into(),
                    subject: subject.clone(),
                    load: self.load.with("clients", clients),
                    layout: self.layout.clone(),
                    factors: BTreeMap::from([(CLIENTS.into(), f64::from(clients))]),
                    repeat,
                    profile: self.profile,
                }));
            }
        }
        Plan { specs, later_s: 0.0 }
    }

    /// The cells of one subject, by the number of clients.
    #[must_use]
    pub fn curve<'s, 'k>(&self, known: &'s Known<'k>, of: &Subject) -> Vec<&'s Cell<'k>> {
        let mut cells: Vec<_> =
            known.cells(self.experiment, STAGE).filter(|cell| cell.subject() == of).collect();
        let clients = |cell: &Cell<'_>| cell.factor(CLIENTS).unwrap_or_default();
        cells.sort_by(|a, b| clients(a).total_cmp(&clients(b)));
        cells
    }

    /// The cell of one subject with so many clients.
    #[must_use]
    pub fn at<'s, 'k>(
        &self,
        known: &'s Known<'k>,
        of: &Subject,
        clients: u32,
    ) -> Option<&'s Cell<'k>> {
        let is_it = |cell: &&Cell<'_>| cell.factor(CLIENTS) == Some(f64::from(clients));
        self.curve(known, of).into_iter().find(is_it)
    }

    /// The cell of one subject with the most clients.
    #[must_use]
    pub fn at_most<'s, 'k>(&self, known: &'s Known<'k>, of: &Subject) -> Option<&'s Cell<'k>> {
        self.curve(known, of).pop()
    }

    /// A curve of a metric for each subject.
    #[must_use]
    pub fn figure(&self, known: &Known<'_>, name: &str, metric: &Metric) -> Figure {
        let x = Axis { label: String::from("clients at a time"), ..Axis::default() };
        let labels = curves::labels(&self.subjects);
        let series = self.subjects.iter().zip(labels).map(|(of, label)| {
            let cells = self.curve(known, of);
            curves::series(label, &cells, metric, |cell| cell.factor(CLIENTS), false)
        });
        let series = series.filter(|series| !series.points.is_empty()).collect();
        curves::figure(name, metric, x, series)
    }
}
