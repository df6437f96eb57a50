//! The lab: questions about web servers, answered by figures that can be believed.
//!
//! An [`Experiment`](experiment::Experiment) is one question in one file. It says which
//! [`Spec`](spec::Spec)s are to be measured next, given the [`Point`](point::Point)s that are
//! [`known`] already; the [`schedule`] has the [`mod@bench`] measure them, each on a fresh
//! [`Testbed`](testbed::Testbed) against a fresh [`Subject`](subject::Subject), and each is written
//! down as a line of [`results`] as soon as it is there. So a run can be stopped anywhere and goes
//! on where it was. From the same points an experiment makes the sections of a [`page`], which
//! [`report`] draws.
#![forbid(unsafe_code)]

pub mod account;
pub mod again;
pub mod bench;
mod calendar;
pub mod capacity;
pub mod claim;
pub mod closed;
pub mod compare;
pub mod costs;
pub mod curves;
pub mod design;
pub mod executable;
pub mod experiment;
pub mod experiments;
mod failure;
pub mod fitted;
pub mod floors;
mod hearing;
pub mod knobs;
pub mod known;
pub mod limit;
pub mod metric;
pub mod page;
pub mod papers;
pub mod point;
pub mod policies;
pub mod profile;
mod program;
pub mod report;
pub mod results;
mod room;
pub mod schedule;
pub mod setup;
pub mod simulated;
pub mod spec;
pub mod subject;
pub mod testbed;
pub mod tuned;
pub mod tuning;
mod unknown;
pub mod vitals;

pub use calendar::now;
pub use failure::Failure;
pub use unknown::unknown;
