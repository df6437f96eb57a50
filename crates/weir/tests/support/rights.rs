//! Rights that a test needs and a container may lack though its user is root. Each function tries
//! the right. If the machine refuses it, the function records that the calling test is skipped and
//! returns true; the test then returns.

use std::process::Command;

use harness::Need;
use rustix::fs::Mode;

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
    let as_user = [own.as_str(), group.as_str(), "--clear-groups"];
    // Other users are to read what tests make.
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let temporary = std::env::temp_dir().display().to_string();
    lacks_right("other users", "setpriv", &as_user)
        || lacks_right(
            &format!("a directory {temporary} that other users may enter"),
            "setpriv",
            &[&as_user[..], &["env", "--chdir", &temporary]].concat(),
        )
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

/// Whether only root may attach a filter to a socket here, without which no connection is refused
/// at its first packet. If so, records that the calling test is skipped.
#[track_caller]
pub(crate) fn lacks_filters() -> bool {
    let address = "127.0.0.1:0".parse().expect("an address");
    let listener = os::Listener::bind(&address, 1).expect("a socket");
    match listener.admit(u16::MAX, 0) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            harness::skip(format!("needs root, to attach a filter to a socket: {error}"));
            true
        }
        _ => false,
    }
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
