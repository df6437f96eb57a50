//! The lab: questions about web servers, answered by figures that can be believed.
//!
//! A [`Spec`](spec::Spec) says what is to be measured: a [`Subject`](subject::Subject), a load and
//! the machines ([`Testbed`](testbed::Testbed)). A [`Page`](page::Page) is what is told of it.
#![forbid(unsafe_code)]

mod failure;
pub mod floors;
pub mod page;
pub mod profile;
pub mod report;
pub mod spec;
pub mod subject;
pub mod testbed;
pub mod vitals;

pub use failure::Failure;
