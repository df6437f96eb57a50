//! What `weir lab` does not do: a line that says why, and what to do about it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use lab::results::{Results, Run};
use lab::subject::{self, Kind};

use super::runs::{BRIEF, Lab, double, ended, weir};
use crate::load::UNPROVEN;
use crate::load::recipe::Busy;
use crate::support::rights;
use crate::support::users::as_nobody;

/// Wrong usage, and a machine that refuses.
const USAGE: i32 = 2;
const MACHINE: i32 = 3;

#[test]
fn wrong_usage_is_one_line_that_names_the_mend() {
    let rows: [(&[&str], &str); 20] = [
        (&["lab", "run", "capcity"], "capcity: no such experiment; did you mean capacity?"),
        (&["lab", "run", "all"], "all: no such experiment; there are best, capacity, "),
        (
            &["lab", "run", "capacity", "pariag07-processes", "--workload", "webstone"],
            "--workload: pariag07-processes has its own; it is for best, capacity, ",
        ),
        (&["lab", "testbed"], "requires a subcommand but one was not provided [subcommands: up, "),
        (&["lab", "testbed", "dwon"], "dwon: no such word; did you mean down?"),
        (&["lab", "run"], "<NAME>...; see weir lab run --help"),
        (&["lab", "--subject", "ngnix"], "ngnix: no such subject; did you mean nginx?"),
        (&["lab", "tune", "--subject", "sped:backlgo=1"], "did you mean backlog?"),
        (&["lab", "--subject", "mt:threads=0"], "mt: threads=0 must be a number from 1 to "),
        (&["lab", "--subject", "command:x"], "has to say where it listens"),
        (&["lab", "--seconds", "soon"], "--seconds soon: has to be seconds, from 0.1 to 86400"),
        (&["lab", "--workload", "all"], "--workload all: has to be one of one-packet, "),
        (&["lab", "--loopback", "--round-trip-ms", "5"], "the loopback has no delay: "),
        (
            &["lab", "--repeat", "5"],
            "unexpected argument '--repeat' found; did you mean `--repeats`? see weir lab --help",
        ),
        (&["lab", "tune", "sped"], "unexpected argument 'sped' found; see weir lab tune --help"),
        (&["lab", "again"], "<DIR>; see weir lab again --help"),
        (&["lab", "again", "/no/such/place"], "/no/such/place: there are no results"),
        (&["lab", "report", "/no/such/place"], "/no/such/place: there are no results"),
        (&["lab", "floor", "flor", "127.0.0.1:0", "/dev/null"], "floor-readiness"),
        (&["lab", "floor", "floor-sendfile", "nowhere", "/dev/null"], "must be host:port"),
    ];
    for (arguments, told) in rows {
        let lab = Lab::new();
        let refused = ended(weir(arguments).current_dir(lab.home()));
        assert_eq!(refused.status, Some(USAGE), "{arguments:?}: {}", refused.errors);
        assert!(refused.errors.contains(told), "{arguments:?}: {}", refused.errors);
        assert!(refused.errors.starts_with("weir: "), "{}", refused.errors);
        assert!(!refused.errors.contains("carry"), "{}", refused.errors);
        assert_eq!(refused.errors.lines().count(), 1, "{}", refused.errors);
        assert_eq!(refused.output, "", "{arguments:?}");
        is_empty(&lab);
    }
}

/// What somebody keeps where results are to go is not removed, and nothing is put beside it.
#[test]
fn what_is_not_the_labs_stays() {
    const FILE: &str = "there is a file; take the name of a directory";
    let rows: [(&str, &[&str], &str); 4] = [
        ("results/scratch/thesis.tex", &[], "scratch: a lab removes what is there, and this was"),
        ("results/scratch", &[], "move it away, or take another --dir"),
        ("results", &[], FILE),
        ("sites", &["--sites", "sites/of/mine"], FILE),
    ];
    for (file, arguments, told) in rows {
        let lab = Lab::new();
        let kept = lab.home().join(file);
        fs::create_dir_all(kept.parent().expect("above it")).expect("directories");
        fs::write(&kept, "of years").expect("a file");
        let mut command =
            weir(&["lab", "run", "capacity", "--loopback", "--anyway", "--dir", "results"]);
        let refused = ended(command.args(arguments).current_dir(lab.home()));
        assert_eq!(refused.status, Some(USAGE), "{file}: {}", refused.errors);
        assert!(refused.errors.contains(told), "{file}: {}", refused.errors);
        assert_eq!(refused.errors.lines().count(), 1, "{file}: {}", refused.errors);
        assert_eq!(fs::read_to_string(&kept).expect("a file"), "of years");
        let of_its = |path: &Path| fs::read_dir(path).map_or(0, Iterator::count);
        let (home, results) = (of_its(lab.home()), of_its(&lab.dir()));
        assert!(home == 1 && results <= 1, "{file}: something was made");
    }
}

/// Nothing was made of what was not to be.
fn is_empty(lab: &Lab) {
    assert_eq!(fs::read_dir(lab.home()).expect("a directory").count(), 0);
}

#[test]
fn a_peer_that_is_not_there_is_told_with_its_package() {
    let lab = Lab::new();
    let mut command = lab.command(&[&["step", "--subject", "caddy"][..], &BRIEF].concat());
    let refused = ended(command.env("PATH", ""));
    let told = "weir: caddy is not installed: apt-get install caddy\n";
    assert_eq!((refused.status, refused.errors.as_str()), (Some(MACHINE), told));
    is_empty(&lab);
    // One of an experiment's own is left out, and told.
    let subject = double("halves");
    let mut command = lab.command(&[&["step", "--subject", &subject][..], &BRIEF].concat());
    let ran = ended(command.env("PATH", ""));
    assert!(matches!(ran.status, Some(1 | UNPROVEN)), "{:?}: {}", ran.status, ran.errors);
    let Run { missing, setup, .. } = &lab.results().runs[0];
    let told = String::from("caddy is not installed: apt-get install caddy");
    assert!(missing.contains(&told), "{missing:?}");
    assert!(setup.absent.contains(&String::from("caddy")), "{:?}", setup.absent);
    assert!(lab.page().contains(&format!("Not measured: {told}.")), "{}", lab.page());
}

#[test]
fn who_is_not_root_is_told_of_the_loopback() {
    let lab = Lab::new();
    if !rustix::process::geteuid().is_root() {
        let arguments = ["lab", "run", "capacity"];
        needs_root(weir(&arguments).args(lab.places()));
        is_empty(&lab);
    }
    if rights::lacks_users() {
        return;
    }
    let own = |path| fs::set_permissions(path, fs::Permissions::from_mode(0o777));
    own(lab.home()).expect("its mode");
    let arguments = |more: &[&str]| {
        let all = ["lab", "run", "step", "--subject", "sped"].iter().chain(&BRIEF).chain(more);
        all.map(|text| String::from(*text)).chain(lab.own_places()).collect::<Vec<String>>()
    };
    needs_root(&mut as_nobody(lab.home(), &arguments(&[])));
    assert!(!lab.dir().exists(), "something was made");
    let ran = ended(&mut as_nobody(lab.home(), &arguments(&["--loopback"])));
    assert!(matches!(ran.status, Some(0 | 1 | UNPROVEN)), "{:?}: {}", ran.status, ran.errors);
    let results = lab.results();
    assert!(results.points.iter().all(|point| point.load.is_some() && point.vitals.is_some()));
    assert!(!lab.has_scratch());
}

fn needs_root(command: &mut Command) {
    let refused = ended(command);
    assert_eq!(refused.status, Some(MACHINE), "{}", refused.errors);
    let first = refused.errors.lines().next().unwrap_or_default();
    assert!(first.starts_with("weir: two hosts need root"), "{}", refused.errors);
    assert!(first.contains("--loopback"), "{}", refused.errors);
}

/// A disk that has room for some points, and no more: they are kept.
#[test]
fn a_full_disk_ends_a_run_with_a_line() {
    let mount = harness::Need::Program("mount");
    if harness::lacks(&[mount]) || rights::lacks_namespaces(&["--mount"]) {
        return;
    }
    let lab = Lab::new();
    fs::create_dir(lab.dir()).expect("a directory");
    // For a line of results; for little of what a load tells, or a point or two of a machine so
    // busy that there is little to tell; for some points.
    for (size, is_begun) in [("4k", Some(false)), ("64k", None), ("256k", Some(true))] {
        // Of this command alone, and gone with it; what is on it is taken out at the end.
        let script = "mount -t tmpfs -o size=$0 none \"$1\" && { shift; \"$@\"; status=$?; \
                      cp \"$KEPT\"/results.jsonl \"$KEPT\"/../kept.jsonl; ls -A \"$KEPT\" >&2; \
                      exit $status; }";
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, size]).arg(lab.dir());
        command.env("KEPT", lab.dir()).arg(super::executable());
        // A closed loop looks for no capacity, which a busy machine may not let it find.
        command.args(["lab", "run", "jaws97-blackbox", "--loopback", "--subject", "sped"]);
        // Often enough to fill it.
        let full = ended(command.args(BRIEF).args(["--repeats", "9"]).args(lab.places()));
        assert_eq!(full.status, Some(MACHINE), "{}", full.errors);
        let told: Vec<&str> =
            full.errors.lines().filter(|line| line.contains("No space")).collect();
        assert_eq!(told.len(), 1, "{}", full.errors);
        println!("{}", full.errors);
        let kept = lab.home().join("kept");
        fs::create_dir_all(&kept).expect("a directory");
        fs::rename(lab.home().join("kept.jsonl"), kept.join(lab::results::FILE)).expect("kept");
        let results = Results::read(&kept).expect("whole lines");
        let has_points = !results.points.is_empty();
        assert_eq!(has_points, is_begun.unwrap_or(has_points), "{size}: {}", full.errors);
    }
}

#[test]
fn the_list_names_all_there_is() {
    let list = ended(&mut weir(&["lab", "list"]));
    assert_eq!((list.status, list.errors.as_str()), (Some(0), ""));
    let names: Vec<&str> =
        list.output.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    for experiment in lab::experiments::EXPERIMENTS {
        assert!(names.contains(&experiment.name), "{}: {}", experiment.name, list.output);
    }
    let lengths =
        list.output.lines().filter(|line| line.starts_with("   ") && line.contains(" about "));
    assert_eq!(lengths.count(), lab::experiments::EXPERIMENTS.len(), "{}", list.output);
    for (name, kind) in subject::all() {
        assert!(names.contains(&name), "{name}: {}", list.output);
        let Kind::Peer(peer) = kind else { continue };
        let here = match peer.version() {
            Ok(version) => format!("{version}, of package {}; knobs: ", peer.package),
            Err(_) => format!("not installed: apt-get install {}; knobs: ", peer.package),
        };
        assert!(list.output.contains(&here), "{here}: {}", list.output);
    }
}

/// A loop for each processor is more than a run can stand.
#[test]
fn busy_machine_is_told_before_a_run_begins() {
    let processors = std::thread::available_parallelism().expect("a number").get();
    let loops: Vec<Busy> = (0..processors).map(|_| Busy::start()).collect();
    let lab = Lab::new();
    let refused = lab.run(&["step", "--subject", "sped"]);
    let warned = lab.run(&["step", "--subject", "sped", "--dry-run"]);
    drop(loops);
    assert_eq!((refused.status, warned.status), (Some(MACHINE), Some(0)), "{}", refused.errors);
    for told in [&refused.errors, &warned.errors] {
        assert!(told.starts_with("weir: nothing is measured: "), "{told}");
        assert!(told.contains("other programs ran: "), "{told}");
        assert!(told.contains(" % is too much (") && told.contains("--anyway"), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    assert!(warned.output.starts_with("step takes about "), "{}", warned.output);
    is_empty(&lab);
}

/// Neither the machine nor the disk is touched.
#[test]
fn a_dry_run_says_how_long_it_takes_and_makes_nothing() {
    let lab = Lab::new();
    let arguments =
        ["lab", "run", "capacity", "step", "--subject", "sped", "--anyway", "--dry-run"];
    let told = ended(weir(&arguments).current_dir(lab.home()));
    assert_eq!((told.status, told.errors.as_str()), (Some(0), ""));
    let lines: Vec<&str> = told.output.lines().collect();
    assert_eq!(lines.len(), 3, "{}", told.output);
    assert!(
        lines[0].starts_with("capacity takes about 3 minutes: 1 point, then others"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("step takes about "), "{lines:?}");
    // Where there is a quota, something stands beside it that needs none.
    assert!(lines[2].starts_with("flood-sessions-whole takes about "), "{lines:?}");
    is_empty(&lab);
}

#[test]
fn a_run_whose_place_is_given_makes_nothing_elsewhere() {
    let lab = Lab::new();
    let arguments = ["lab", "run", "step", "--loopback", "--subject", "sped", "--dir", "here"];
    let mut command = weir(&[&arguments[..], &BRIEF].concat());
    let ran = ended(command.current_dir(lab.home()));
    assert!(matches!(ran.status, Some(0 | 1 | UNPROVEN)), "{:?}: {}", ran.status, ran.errors);
    let entries = fs::read_dir(lab.home()).expect("a directory");
    let names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["here"]);
    assert!(lab.home().join("here/sites/one-packet").is_dir());
}
