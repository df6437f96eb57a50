//! What simulations had to know, as it stands on the page.

use sim::parameters::DEFINITIONS;

use super::specs::made;
use super::ways::Way;
use super::{OFTEN, SELDOM, Validation};
use crate::curves::{number, spread_text};
use crate::known::{Known, Spread};
use crate::metric;
use crate::page::{NONE, Table};
use crate::setup::Setup;
use crate::spec::Load;
use crate::subject::Subject;

impl Validation {
    /// What each step took of each server, where they were measured.
    pub(super) fn by_steps_told(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        subjects: &[Subject],
    ) -> Option<Table> {
        let told =
            subjects.iter().filter_map(|of| Some((of, self.told(setup, known, of, Way::Steps)?)));
        let told: Vec<(&Subject, Load)> = told.collect();
        let steps = DEFINITIONS.iter().filter(|of| SHOWN.contains(&of.name));
        let row = |of: &sim::parameters::Definition| {
            let value = |load: &Load| load.flags.get(of.name)?.parse().ok().map(number);
            let values = told.iter().map(|(_, load)| value(load).unwrap_or_else(|| NONE.into()));
            [of.name.into(), of.about.into()].into_iter().chain(values).collect()
        };
        let head = ["step, µs", "what it is"].map(String::from).into_iter();
        let names = told.iter().map(|(of, _)| self.shown(known, of));
        (!told.is_empty()).then(|| Table {
            title: String::from("What the simulations by steps were told"),
            head: head.chain(names).collect(),
            rows: steps.map(row).collect(),
            notes: vec![String::from(
                "path-miss is the whole of a file that is not kept: its name, which is looked up \
                 by opening it, its bytes and its end. Where a step is 0 it is among another one: \
                 what the network does is in receive and in accept, a reply's head in receive. A \
                 look into a table (path-lookup, cache-lookup) is assumed, and receive is less \
                 both.",
            )],
        })
    }

    /// What the simulations had to know, and what it is made of.
    pub(super) fn parameters(
        &self,
        setup: &Setup,
        known: &Known<'_>,
        subjects: &[Subject],
    ) -> Table {
        let row = |of: &Subject| {
            let cpu = |share| {
                let spec = self.rate(setup, known, of, share)?;
                known.cell(&spec)?.judged(&metric::CPU)
            };
            let told = |of: Option<Spread>| of.map_or(NONE.into(), |of| spread_text(&of));
            let fit = self.fit(setup, known, of);
            let made = fit.as_ref().and_then(|fit| made(known, fit));
            let us = |of: Option<f64>| of.map_or(NONE.into(), number);
            let flag = |name: &str| fit.as_ref()?.load.flags.get(name)?.parse().ok();
            vec![
                self.shown(known, of),
                told(cpu(SELDOM)),
                told(cpu(OFTEN)),
                us(made.as_ref().map(|of| of.receive_us)),
                us(made.as_ref().map(|of| of.wake_us)),
                us(flag("round-trip")),
                us(flag("thread-switch")),
                us(flag("hand-over")),
            ]
        };
        let head = [
            "server",
            "a reply at 0.2, µs",
            "at 0.7, µs",
            "receive, µs",
            "wake, µs",
            "round trip, µs",
            "switch, µs",
            "hand-over, µs",
        ];
        Table {
            title: String::from(
                "What the simulations by fitted parameters were told, and what it is made of",
            ),
            head: head.map(String::from).into(),
            rows: subjects.iter().map(row).collect(),
            notes: vec![String::from(
                "receive stands for all that a request takes, its connection and its file \
                 included, but the switches, the hand-overs and the wake.",
            )],
        }
    }
}

/// In the order of [`DEFINITIONS`].
const SHOWN: [&str; 16] = [
    "round-trip",
    "interrupt",
    "accept",
    "close",
    "receive",
    "header",
    "transmit",
    "events-call",
    "event",
    "hand-over",
    "path-lookup",
    "path-miss",
    "cache-lookup",
    "lock-transfer",
    "wake",
    "thread-switch",
];
