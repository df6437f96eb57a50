//! What single steps cost, timed by a process of this program on the server's processor, to which
//! nobody else has anything to send yet.

use std::collections::BTreeMap;

use os::placement::Placement;

use super::Target;
use super::tool;
use crate::Failure;

pub(super) fn measured(target: &Target) -> Result<BTreeMap<String, f64>, Failure> {
    let on = target.processors.first();
    let beside = target.own_processors.iter().find(|own| Some(*own) != on);
    let processors = target.processors.iter().chain(&target.own_processors).copied().collect();
    let placement = Placement { processors, ..Placement::default() };
    let failed = |error| Failure::machine("weir lab cost", error);
    let mut command = placement.command(&target.executable).map_err(failed)?;
    command.args(["lab", "cost", "--json"]);
    for (flag, processor) in [("--on", on), ("--beside", beside)] {
        if let Some(processor) = processor {
            command.args([flag, &processor.to_string()]);
        }
    }
    let text = tool::output("weir lab cost", command, &target.directory)?;
    serde_json::from_str(&text).map_err(|e| Failure::machine("weir lab cost", e))
}
