//! What the experiments of JAWS97 have in common: its load, its numbers of clients, its metrics.

use super::frame::{self, Rival};
use crate::claim::{self, Says};
use crate::closed::Closed;
use crate::curves::{self, number};
use crate::design::Plan;
use crate::experiment::Experiment;
use crate::known::{Cell, Known};
use crate::metric::{self, Metric};
use crate::page::{Comparison, Figure, Section};
use crate::setup::{Setup, WarmUp};
use crate::spec::Load;
use crate::subject::Subject;
use crate::testbed::Layout;

/// WebStone's files (table 1), one request on each connection (JAWS97 2.2.2), from 1 to 42 at a
/// time (2.3).
pub(super) fn closed(experiment: &'static str, setup: &Setup, subjects: Vec<Subject>) -> Closed {
    let load = Load {
        workload: setup.workload.clone().unwrap_or_else(|| String::from("webstone")),
        // A reply of 5 MB takes long on a wire that is full.
        seconds: setup.seconds(if setup.wire_mbit.is_some() { 10.0 } else { 2.0 }),
        // "Server file caches were pre-loaded by running a dummy client" (2.3).
        warm_up: setup.warm_up(WarmUp::Fixed(0.5)),
        flags: Default::default(),
        idle_connections: 0,
        beside: None,
    };
    Closed {
        experiment,
        subjects,
        // All lengths are verified, and the contents of some replies: to look at each byte of 62 KB
        // a reply would make the client the limit.
        load: load.with("keeps", "request").with("verified", 0.05),
        layout: layout(setup),
        clients: if setup.is_paper { &PAPER_CLIENTS[..] } else { &CLIENTS[..] }.into(),
        profile: None,
        repeats: setup.repeats(3),
    }
}

/// With the packets of its network (2.2.1). Its rate is nobody's here who does not ask for it: see
/// [`wire`].
fn layout(setup: &Setup) -> Layout {
    let layout = super::overload::layout(setup);
    let mtu_bytes = (!layout.is_loopback).then_some(MTU_BYTES);
    Layout { wire_mtu_bytes: layout.wire_mtu_bytes.or(mtu_bytes), ..layout }
}

const MTU_BYTES: u32 = 9_180;

/// Of its figures, which end at 42 (2.3).
const PAPER_CLIENTS: [u32; 8] = [1, 6, 12, 18, 24, 30, 36, 42];
const CLIENTS: [u32; 5] = [1, 6, 15, 24, 42];

/// How it was measured.
pub(super) fn question(closed: &Closed) -> Vec<String> {
    let (Some(least), Some(most)) = (closed.clients.first(), closed.clients.last()) else {
        return Vec::new();
    };
    let clients = if least == most {
        format!("{most} clients")
    } else {
        format!("{least} to {most} clients")
    };
    let quota = closed.layout.quota_percent.map_or_else(String::new, |percent| {
        format!(" The server's processes have {percent} % of one processor.")
    });
    let files = match closed.load.flags.get("largest-percent") {
        None => String::from("table 1: 500 bytes to 5 MB, 62 KB on the average"),
        Some(percent) => format!(
            "table 1: 500 bytes to 5 MB, of which {percent} % of the requests are for the one of \
             5 MB, where the table has 1 %"
        ),
    };
    vec![format!(
        "{clients} at a time ask for WebStone's files ({files}), one request on each connection, \
         and again as soon as they are answered. So they never ask for more than the server can \
         do.{quota} {}",
        wire(&closed.layout)
    )]
}

/// What joins the machines, beside what joined the paper's.
fn wire(layout: &Layout) -> String {
    let mtu = layout.wire_mtu_bytes.map_or_else(String::new, |bytes| {
        format!(" Packets have {} bytes at most.", number(f64::from(bytes)))
    });
    match layout.wire_mbit {
        Some(mbit) => format!(
            "The wire has {mbit} Mbit/s in each direction.{mtu} The paper's, ATM, had 155 Mbit/s \
             and packets of 9,180 bytes. With one of 10 Mbit/s its servers did not differ (2.2.1)."
        ),
        None => format!(
            "The paper's network, ATM of 155 Mbit/s with packets of 9,180 bytes, had room for \
             more: its best servers came to somewhat over 35 Mbit/s.{mtu} Servers of today fill \
             155 Mbit/s with one client, and would all be alike, so that the wire has no rate of \
             its own here (--wire-mbit 155 is for that)."
        ),
    }
}

/// JAWS' baseline (3.2.1): 20 threads, one lock for the whole cache, and heads and dates made anew
/// for each reply.
pub(super) const BASELINE: &str =
    "mt:cache-locks=1,date-cache=off,gather=off,head-cache=off,threads=20,threads-min=20";

/// The same pool with what JAWS saves of protocol processing.
pub(super) const SAVING: &str = "mt:cache-locks=1,threads=20,threads-min=20";

/// The same with all that JAWS saves (3.3): its pool as it was tuned.
pub(super) const OPTIMISED: &str = "mt:threads=20,threads-min=20";

/// Something that JAWS was measured with and without.
pub(super) struct Variants {
    pub(super) experiment: &'static Experiment,
    pub(super) title: &'static str,
    /// The first of its four figures.
    pub(super) number: &'static str,
    /// Of the requests, how many are for the file of 5 MB, where that is not as in table 1.
    pub(super) largest_percent: Option<u32>,
    /// Each with its name in the paper's terms.
    pub(super) subjects: &'static [(&'static str, &'static str)],
    pub(super) claims: &'static [Claim],
    /// As many as tell what is claimed.
    pub(super) repeats: u32,
}

impl Variants {
    pub(super) fn plan(&self, setup: &Setup) -> Plan {
        self.closed(setup).plan()
    }

    fn closed(&self, setup: &Setup) -> Closed {
        let own: Vec<&str> = self.subjects.iter().map(|row| row.0).collect();
        let closed = Closed {
            repeats: setup.repeats(self.repeats),
            ..closed(self.experiment.name, setup, setup.subjects(&own))
        };
        let Some(percent) = self.largest_percent else { return closed };
        Closed { load: closed.load.clone().with("largest-percent", percent), ..closed }
    }

    pub(super) fn section(&self, setup: &Setup, known: &Known<'_>) -> Section {
        let closed = self.closed(setup);
        let figures = black_box(&closed, known, &[self.number]);
        let title = format!("{} (JAWS97)", self.title);
        let in_terms_of_paper = |figure| {
            frame::named(figure, &closed.subjects, |of| {
                let text = of.to_string();
                let row = self.subjects.iter().find(|(named, _)| *named == text);
                row.map(|(_, name)| String::from(*name))
            })
        };
        Section {
            question: question(&closed),
            answer: answer(&closed, known, self.subjects),
            comparisons: comparisons(&closed, known, self.subjects, self.claims),
            figures: figures.into_iter().map(in_terms_of_paper).collect(),
            ..frame::section(self.experiment, title, known, &closed.subjects)
        }
    }
}

/// The four figures of its black box (2.3), by their names there, and by their numbers if it has
/// any.
pub(super) fn black_box(closed: &Closed, known: &Known<'_>, numbers: &[&str]) -> Vec<Figure> {
    let rows: [(&str, &str, &Metric); 4] = [
        ("server-throughput", "Server throughput", &metric::SERVER_MBIT),
        ("connections", "Connections/s", &metric::CONNECTIONS),
        ("client-throughput", "Client throughput", &metric::CLIENT_MBIT),
        ("client-latency", "Client latency", &metric::CLIENT_LATENCY),
    ];
    let figure = |(at, (name, title, metric)): (usize, &(&str, &str, &Metric))| {
        let number = numbers.get(at);
        let number = number.map_or_else(String::new, |number| format!(" (JAWS97 {number})"));
        let title = format!("{title} by the number of clients{number}");
        Figure { title, ..closed.figure(known, name, metric) }
    };
    rows.iter().enumerate().map(figure).collect()
}

/// With how many clients something is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// The fewest of the figure.
    Few,
    /// The most of it.
    Most,
}

/// Something that a figure shows.
pub(super) struct Claim {
    pub(super) figure: &'static str,
    pub(super) paper: &'static str,
    /// A subject, as in [`Closed::subjects`], with so many clients,
    pub(super) of: (&'static str, At),
    /// beside these, with so many.
    pub(super) to: (Rival, At),
    pub(super) says: Says,
    pub(super) metric: &'static Metric,
}

/// What became of claims whose subjects were asked for; `names` are what subjects are called.
pub(super) fn comparisons(
    closed: &Closed,
    known: &Known<'_>,
    names: &[(&str, &str)],
    claims: &[Claim],
) -> Vec<Comparison> {
    let subject = |text: &str| {
        let of: Subject = text.parse().ok()?;
        closed.subjects.contains(&of).then_some(of)
    };
    let compared = |claim: &Claim| {
        let side = |text: &str, at: At| {
            let of = subject(text)?;
            let clients = match at {
                At::Few => closed.clients.first(),
                At::Most => closed.clients.last(),
            };
            let cell = closed.at(known, &of, *clients?);
            let name = names.iter().find(|(named, _)| *named == text).map_or(text, |row| row.1);
            let many = clients.map_or(0, |many| *many);
            let one = if many == 1 { "client" } else { "clients" };
            Some((format!("{name}, {many} {one}"), cell))
        };
        let (name, cell) = side(claim.of.0, claim.of.1)?;
        let (rival, at) = &claim.to;
        let others = rival.names().iter().filter(|text| (**text, *at) != claim.of);
        let others: Vec<_> = others.filter_map(|text| side(text, *at)).collect();
        (!others.is_empty()).then(|| claim::Claim {
            figure: claim.figure,
            paper: claim.paper,
            says: claim.says,
            metric: claim.metric,
            at: String::new(),
            one: (name, cell),
            beside: rival.beside(),
            others,
        })
    };
    claim::judged(&claims.iter().filter_map(compared).collect::<Vec<_>>())
}

/// Who has the most connections/s with the most clients, and how many all others have.
pub(super) fn answer(closed: &Closed, known: &Known<'_>, names: &[(&str, &str)]) -> Vec<String> {
    let told = closed.subjects.iter().zip(curves::labels(&closed.subjects));
    let mut failed: Vec<String> = Vec::new();
    let mut told: Vec<(f64, &Cell<'_>, String)> = told
        .filter_map(|(of, short)| {
            let cell = closed.at(known, of, *closed.clients.last()?)?;
            let text = of.to_string();
            let label = names.iter().find(|(named, _)| *named == text);
            let label = label.map_or(short, |(_, name)| (*name).into());
            if cell.is_failed() {
                failed.push(label);
                return None;
            }
            Some((cell.judged(&metric::CONNECTIONS)?.median, cell, label))
        })
        .collect();
    told.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let Some(most) = closed.clients.last() else { return Vec::new() };
    let failed = (!failed.is_empty())
        .then(|| format!("With {most} clients these failed verification: {}.", failed.join("; ")));
    let Some(&(best, ..)) = told.first() else { return failed.into_iter().collect() };
    let ranked: Vec<_> = told.iter().map(|(_, cell, label)| (&**label, *cell)).collect();
    let near = frame::beside_first(&metric::CONNECTIONS, &ranked);
    let told: Vec<String> = told
        .iter()
        .map(|(of, _, label)| format!("{label} {} ({} %)", number(*of), number(100.0 * of / best)))
        .collect();
    let told = told.join("; ");
    let full = full(closed, known, names);
    let line = format!("Connections/s with {most} clients, the most first: {told}.{near}");
    [line].into_iter().chain(full).chain(failed).collect()
}

/// Who fills the wire with the most clients: there it is the limit, and no server.
fn full(closed: &Closed, known: &Known<'_>, names: &[(&str, &str)]) -> Option<String> {
    /// Heads of packets take some of it, and acknowledgements.
    const FULL_SHARE: f64 = 0.85;
    let mbit = f64::from(closed.layout.wire_mbit?);
    let is_full = |of: &Subject| {
        let throughput = closed.at_most(known, of)?.judged(&metric::SERVER_MBIT)?;
        Some(throughput.median >= FULL_SHARE * mbit)
    };
    let full: Vec<String> = closed
        .subjects
        .iter()
        .filter(|of| is_full(of) == Some(true))
        .map(|of| {
            let text = of.to_string();
            let row = names.iter().find(|(named, _)| *named == text);
            row.map_or(text, |(_, name)| String::from(*name))
        })
        .collect();
    let words = "The wire was full, and is the limit there, of these";
    (!full.is_empty()).then(|| format!("{words}: {}.", full.join("; ")))
}
