//! Rights that a test needs and a container may lack though its user is root. Each function tries
//! the right. If the machine refuses it, the function records that the calling test is skipped and
//! returns true; the test then returns.

use std::process::Command;

use harness::Need;

use super::command::run;

/// The right to run programs as user 65534.
#[track_caller]
pub(crate) fn lacks_users() -> bool {
    lacks_user(65_534)
}

/// The right to run programs as this user.
#[track_caller]
pub(crate) fn lacks_user(user: u32) -> bool {
    let [own, group] = ["reuid", "regid"].map(|kind| format!("--{kind}={user}"));
    lacks_right("other users", "setpriv", &[&own, &group, "--clear-groups"])
}

/// The right to make namespaces by `unshare` with these flags.
#[track_caller]
pub(crate) fn lacks_namespaces(flags: &[&str]) -> bool {
    lacks_right(&format!("unshare {}", flags.join(" ")), "unshare", flags)
}

/// The right to join network namespaces by a bridge.
#[track_caller]
pub(crate) fn lacks_bridges() -> bool {
    const SCRIPT: &str = "ip link add name one type bridge && \
                          ip link add name two type veth peer name three && exec \"$@\"";
    harness::lacks(&[Need::Program("ip")])
        || lacks_right("a bridge and veth", "unshare", &["--net", "sh", "-c", SCRIPT, "sh"])
}

/// Runs `true` by `program` and its arguments, which need the right.
#[track_caller]
fn lacks_right(what: &str, program: &'static str, arguments: &[&str]) -> bool {
    if harness::lacks(&[Need::Root, Need::Program(program)]) {
        return true;
    }
    let mut command = Command::new(program);
    let (status, _, errors) = run(command.args(arguments).arg("true")).expect(program);
    let is_refused = status != Some(0);
    if is_refused {
        harness::skip(format!("needs {what}: {}", errors.lines().next().unwrap_or_default()));
    }
    is_refused
}
