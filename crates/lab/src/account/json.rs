//! All that a page says, for programs.

use serde_json::{Value, json};

use super::{Source, cells};
use crate::page::{Agreement, Page, Section, Table};

/// Of the text's keys. It grows when a key changes its meaning or goes, not when one comes.
const SCHEMA: u32 = 1;

/// The claims of a page with what became of them, its tables, and the cells that it is drawn of.
///
/// # Panics
/// Never: what was written can be read.
#[must_use]
pub fn json(page: &Page, sources: &[Source<'_>]) -> Value {
    let points = || sources.iter().flat_map(|(_, results)| &results.points);
    let text = cells(sources);
    let cell = |line| {
        let mut cell: Value = serde_json::from_str(line).expect("a line of JSON");
        // What programs ask of them is among the metrics.
        cell.as_object_mut().and_then(|keys| keys.remove("response_times"));
        cell
    };
    json!({
        "schema": SCHEMA,
        "simulated": points().next().is_some() && points().all(|point| point.spec.is_simulated()),
        "title": page.title,
        "summary": page.summary,
        "sections": page.sections.iter().map(section).collect::<Vec<_>>(),
        "cells": text.lines().map(cell).collect::<Vec<_>>(),
    })
}

fn section(section: &Section) -> Value {
    let claims = section.comparisons.iter().map(|claim| {
        let agrees = match claim.agrees {
            Agreement::Yes => "yes",
            Agreement::No => "no",
            Agreement::Open => "open",
        };
        json!({"of": claim.of, "paper": claim.paper, "here": claim.here, "agrees": agrees})
    });
    json!({
        "name": section.name,
        "title": section.title,
        "claims": claims.collect::<Vec<_>>(),
        "tables": section.tables.iter().map(table).collect::<Vec<_>>(),
    })
}

fn table(table: &Table) -> Value {
    let Table { title, head, rows, notes } = table;
    json!({"title": title, "head": head, "rows": rows, "notes": notes})
}
