//! Testbeds for whoever wants to try something: they last until they are taken down.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use measure::Duration;
use os::{Signal, Signals};

use super::groups::Roots;
use super::name::{Maker, Name};
use super::network::Network;
use super::processors::{Split, numbers};
use super::wire::Wire;
use super::{Carrying, Disk, Layout, Testbed, delay, disk, is_root, lacks, pages, removal};
use crate::Failure;
use crate::hearing::hear;

/// Makes one that lasts, also when this process has ended, and tells how to run programs in it.
/// `site` is what its server serves: a slow disk has an image of it, which is made beside it.
/// `own` is a command of this program with words for [`serve`], which carries packets or serves a
/// disk for a layout with a round trip or a disk.
///
/// # Errors
/// As [`Testbed::up`]; a layout with a slow disk and no site; a ^C or SIGTERM in between
/// ([`Failure::Stopped`]): then nothing is left behind.
pub fn up(
    layout: &Layout,
    site: Option<&Path>,
    own: &dyn Fn(&[String]) -> Command,
) -> Result<Vec<String>, Failure> {
    if layout.disk.is_some() && site.is_none() {
        let what = "what is to be on the slow disk? Name a directory";
        return Err(Failure::Operator(what.into()));
    }
    let site = site.map(beside).transpose()?;
    let failed = |error| Failure::machine("signals", error);
    let signals = Signals::take(&[Signal::Int, Signal::Term, Signal::Hup]).map_err(failed)?;
    let made = make(layout, site.as_deref(), own).and_then(|testbed| match signals.next() {
        Ok(None) => keep(testbed),
        _ => Err(Failure::Stopped),
    });
    signals.release().map_err(failed)?;
    made
}

fn make(
    layout: &Layout,
    site: Option<&Path>,
    own: &dyn Fn(&[String]) -> Command,
) -> Result<Testbed, Failure> {
    let start = |name: &Name, round_trip_ms: u32| {
        let words = [CARRY.into(), name.to_string(), round_trip_ms.to_string()];
        begin(own(&words), CARRIES, PATIENCE)
    };
    let mut testbed = Testbed::make(layout, Carrying::ByProcess(&start))?;
    if let (Some(disk), Some(site)) = (layout.disk, site) {
        let image = disk::new_image(site)?;
        testbed.made.0.disks.push(disk::make(&testbed.name)?);
        begin(own(&disk::words(&testbed.name, &image, disk)), disk::SERVED, PATIENCE)?;
        let site = disk::mount_image(&disk::directory(&testbed.name))?;
        testbed.facts.insert(String::from("site on the slow disk"), site.display().to_string());
    }
    Ok(testbed)
}

/// The directory as one that an image can be beside: without a slash at its end.
fn beside(site: &Path) -> Result<PathBuf, Failure> {
    let whole = std::path::absolute(site).map_err(|e| Failure::machine(site.display(), e))?;
    let whole: PathBuf = whole.components().collect();
    if whole.file_name().is_none() {
        let what = "its image is made beside it, so name it by its own name, and not the root";
        return Err(Failure::Operator(format!("{}: {what}", site.display())));
    }
    Ok(whole)
}

/// The first word of a carrier, and what it says when it carries.
const CARRY: &str = "carry";
const CARRIES: &str = "carrying";

/// A carrier opens two devices, which takes some milliseconds; a disk is one file.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts who carries packets or serves a disk, and waits until it does.
fn begin(mut command: Command, expected: &str, patience: Duration) -> Result<(), Failure> {
    let program = command.get_program().display().to_string();
    let failed = |error| Failure::machine(&program, error);
    // It is not for the keyboard, and outlives who started it.
    command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let deadline = os::clock::monotonic() + patience;
    let said = child.stdout.take().map(|mut stdout| {
        let said = hear(&mut stdout, deadline, |said| said.contains(&b'\n'))?;
        Ok(String::from_utf8_lossy(&said).lines().next().unwrap_or_default().to_owned())
    });
    let said = said.unwrap_or_else(|| Ok(String::new()));
    // What cannot be read says that it does not carry.
    let said = said.unwrap_or_else(|error: io::Error| error.to_string());
    if said == expected {
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(Failure::Machine(format!("{program} does not say {expected:?} but {said:?}")))
}

/// Carries the packets of a lasting testbed or serves a disk of any, by the calling process, which
/// has nothing else to do, until it is taken down; or reads the files that its input names. What it
/// prints is for who has started it. None: these are no such words.
#[must_use]
pub fn serve(words: &[String]) -> Option<Result<(), Failure>> {
    match words {
        [word, name, round_trip_ms] if word == CARRY => {
            Some(carry(name, round_trip_ms.parse().ok()?))
        }
        [word, name, image, disk] if word == disk::WORD => {
            Some(serve_disk(name, Path::new(image), disk.parse().ok()?))
        }
        [word] if word == pages::READ => Some(pages::read(io::stdin().lock())),
        _ => None,
    }
}

fn serve_disk(name: &str, image: &Path, disk: Disk) -> Result<(), Failure> {
    let served = || {
        let name = named(name)?;
        // Where it is found by who takes the testbed down. A loopback has no such place.
        let network = Network::new(&name, Wire::of(&Layout::default()));
        if network.client().exists() {
            os::namespace::enter(network.client())?;
        }
        disk::serve(&name, image, disk)
    };
    served().map_err(|error: io::Error| {
        println!("{error}");
        Failure::machine(name, error)
    })
}

fn named(name: &str) -> io::Result<Name> {
    let nobody = || io::Error::new(io::ErrorKind::NotFound, "no testbed has this name");
    Name::of(name).filter(|(_, rest)| rest.is_empty()).map(|(name, _)| name).ok_or_else(nobody)
}

fn carry(name: &str, round_trip_ms: u32) -> Result<(), Failure> {
    let carried = || {
        let layout = Layout { round_trip_ms: Some(round_trip_ms), ..Layout::default() };
        let network = Network::new(&named(name)?, Wire::of(&layout));
        let begun = || {
            println!("{CARRIES}");
            io::stdout().flush()
        };
        let round_trip = Duration::from_millis(round_trip_ms.into());
        let processors = Split::here()?.client;
        delay::carry_here(network.server(), network.client(), &processors, round_trip, begun)
    };
    carried().map_err(|error: io::Error| {
        println!("{error}");
        Failure::machine(name, error)
    })
}

/// Where it is written which testbeds are to last: a file for each, with what was told of it.
const KEPT: &str = "/run/weir-lab";

fn note(name: &Name) -> PathBuf {
    Path::new(KEPT).join(name.to_string())
}

/// Whether it is to last longer than its maker.
pub(super) fn is_kept(name: &Name) -> bool {
    note(name).exists()
}

fn keep(mut testbed: Testbed) -> Result<Vec<String>, Failure> {
    let lines = told(&testbed);
    let nothing = testbed.made.0.namespaces.is_empty() && testbed.made.0.groups.is_empty();
    if !nothing {
        let note = note(&testbed.name);
        let written =
            fs::create_dir_all(KEPT).and_then(|()| fs::write(&note, lines.join("\n") + "\n"));
        if let Err(error) = written {
            // Else it would be kept, by half a note.
            let _ = fs::remove_file(&note);
            return Err(Failure::machine(note.display(), error));
        }
        testbed.made.0 = removal::Belongings::default();
    }
    Ok(lines)
}

/// How to run something on either side, and what was set.
fn told(testbed: &Testbed) -> Vec<String> {
    let addresses = match testbed.client_addresses.as_slice() {
        [one] => one.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => String::new(),
    };
    let server = command(&testbed.server.placement);
    let client = command(&testbed.client.placement);
    let mut lines = vec![
        format!("server {}: {server} PROGRAM", testbed.server.address),
        format!("client {addresses}: {client} PROGRAM"),
    ];
    lines.extend(testbed.facts.iter().map(|(name, fact)| format!("{name}: {fact}")));
    lines
}

/// What a shell takes to run a program there.
fn command(placement: &os::placement::Placement) -> String {
    let mut words = Vec::new();
    if !placement.groups.is_empty() {
        let join =
            |group: &PathBuf| format!("echo $$ >{} && ", group.join("cgroup.procs").display());
        let joins: String = placement.groups.iter().map(join).collect();
        words.push(format!("sh -c '{joins}exec \"$0\" \"$@\"'"));
    }
    if let Some(name) = placement.namespace.as_ref().and_then(|path| path.file_name()) {
        words.push(format!("ip netns exec {}", name.display()));
    }
    if !placement.processors.is_empty() {
        words.push(format!("taskset -c {}", numbers(&placement.processors)));
    }
    words.join(" ")
}

/// What there is on this machine that labs have made, whose it is, and what the machine lacks.
#[must_use]
pub fn status() -> Vec<String> {
    let mut lines = Vec::new();
    for (name, belongings) in removal::found(&Roots::here()) {
        let processes = match belongings.processes().len() {
            // Others are not told where the processes of root are.
            _ if !is_root() => "",
            0 => "; nothing runs there",
            1 => "; 1 process in it",
            n => &format!("; {n} processes in it"),
        };
        lines.push(format!("{name}: {}{processes}", whose(&name)));
        let note = fs::read_to_string(note(&name)).unwrap_or_default();
        lines.extend(note.lines().map(|line| format!("    {line}")));
    }
    if lines.is_empty() {
        lines.push(String::from("no testbed is up"));
    }
    let lacks = lacks();
    lines.extend(lacks.iter().map(|lack| format!("this machine: {lack}")));
    if lacks.is_empty() {
        lines.push(String::from("this machine has all that testbeds are made of"));
    }
    lines
}

/// And what becomes of it.
fn whose(name: &Name) -> String {
    let process = name.process;
    match name.maker() {
        _ if is_kept(name) => String::from("made by hand, lasts until it is taken down"),
        Maker::Runs => format!("of process {process}, which runs"),
        Maker::Ended => format!("left behind by process {process}, goes with the next up or down"),
        Maker::Elsewhere => format!("of process {process} of another container, left alone"),
    }
}

/// Removes what was made to last, and what labs have left behind that were killed. Each line tells
/// what was removed, or what was not and why.
///
/// # Errors
/// Something that should have gone stays: a line each.
pub fn down() -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    let mut complaints = Vec::new();
    for (name, belongings) in removal::found(&Roots::here()) {
        let goes = is_kept(&name) || name.maker() == Maker::Ended;
        if !goes {
            lines.push(format!("{name} stays: {}", whose(&name)));
        } else if let Err(errors) = belongings.remove() {
            complaints.extend(errors);
        } else {
            lines.push(format!("{name} is gone"));
        }
    }
    complaints.extend(forget_notes());
    if complaints.is_empty() {
        if lines.is_empty() {
            lines.push(String::from("no testbed was up"));
        }
        return Ok(lines);
    }
    if !is_root() {
        complaints.push(String::from("only root takes testbeds down"));
    }
    Err(Failure::Machine(complaints.join("\n")))
}

/// Of testbeds that are gone, also by a restart of the machine.
fn forget_notes() -> Vec<String> {
    let there = removal::found(&Roots::here());
    let notes = fs::read_dir(KEPT).into_iter().flatten().flatten();
    let forgotten = notes.filter_map(|note| {
        let name = note.file_name();
        let (name, rest) = Name::of(name.to_str()?)?;
        if there.contains_key(&name) || !rest.is_empty() {
            return None;
        }
        let error = fs::remove_file(note.path()).err()?;
        Some(format!("{}: {error}", note.path().display()))
    });
    let complaints = forgotten.collect();
    // It is in nobody's way with something in it.
    let _ = fs::remove_dir(KEPT);
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_carry_is_not_waited_for() {
        let hour = Duration::from_secs(3_600);
        let rows = [
            (&["echo", CARRIES][..], hour, None),
            (&["echo", "no"], hour, Some("no")),
            (&["true"], hour, Some("")),
            (&["sleep", "3600"], Duration::ZERO, Some("timed out")),
        ];
        for (words, patience, why) in rows {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            let why = why.map(|why| format!("{} does not say {CARRIES:?} but {why:?}", words[0]));
            let told = begin(command, CARRIES, patience).err().map(|failure| failure.to_string());
            assert_eq!(told, why, "{words:?}");
        }
    }
}
