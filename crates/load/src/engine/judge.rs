//! What a run cannot be asked for.

use std::net::IpAddr;

use super::{Part, Plan, talk};
use crate::arrivals::Arrivals;
use crate::behaviour::Keeps;
use crate::workload::Workload;

/// What makes no sense, in one line.
pub(super) fn judge(plan: &Plan, workload: &dyn Workload) -> Result<(), String> {
    let Plan { behaviour, arrivals, .. } = plan;
    let is_sound = match arrivals {
        Arrivals::Open(gaps) => gaps.are_sound(),
        Arrivals::Closed { .. } => true,
    };
    let Part { place, of } = plan.part;
    if place >= of {
        return Err(format!("there is no part {place} of {of}: they are counted from 0"));
    }
    if let Arrivals::Closed { clients, .. } = *arrivals
        && clients < of
    {
        return Err(format!("{clients} clients cannot be divided among {of} processes"));
    }
    if !is_sound {
        return Err(String::from("a rate is a positive number of sessions a second"));
    }
    if behaviour.pipelines && behaviour.keeps == Keeps::Request {
        return Err(String::from("requests are pipelined on connections that are kept"));
    }
    if behaviour.parallel == 0 || behaviour.connections_max == 0 {
        return Err(String::from("a client has at least one connection"));
    }
    let is_other = |ip: &IpAddr| ip.is_ipv4() != plan.to.is_ipv4();
    if let Some(source) = behaviour.sources.iter().find(|ip| is_other(ip)) {
        return Err(format!("no connection leads from {source} to {}", plan.to.ip()));
    }
    let mut files = workload.files().iter();
    match files.find(|(_, file)| !talk::is_target(&file.target)) {
        Some((_, file)) => Err(format!("{:?} cannot be asked for: no path", file.target)),
        None => Ok(()),
    }
}
