//! What of the settings cannot be, found before anything is opened. A mistake is a line for the
//! operator, the same that a start would refuse to serve with.

use std::io;

use os::{Address, Listener, PidFile, output};

use super::{cache, confine, start};
use crate::architectures::{self, Architecture};
use crate::operator::admin;
use crate::shared::architecture::LOOPS_MAX;
use crate::shared::settings::{AdminAt, LogTo, RingFiles, RingSockets, Settings};

/// All that [`serve`](super::serve) would refuse of these settings but for the site: what they
/// name is tried, and nothing made, written or locked. What somebody else has at the moment, a port
/// or the file of the process's number, is no mistake.
///
/// From then on the calling process is the user that the settings name, if it may become that: what
/// is opened as that user is tried so. Where it may not, whoever starts the server has other rights
/// than the caller, and what the caller may not do is no mistake.
#[must_use]
pub fn judge(settings: &Settings) -> Vec<String> {
    let mut mistakes = knobs(settings);
    mistakes.extend(confine::lacking(settings));
    let mut refused = of_who_starts(settings);
    let identity = confine::identity(settings);
    let is_it = identity.is_ok_and(|who| confine::become_identity(who.as_ref()).is_ok());
    refused.extend(of_the_user(settings));
    refused.retain(|(error, _)| is_it || *error != io::ErrorKind::PermissionDenied);
    mistakes.extend(refused.into_iter().map(|(_, line)| line));
    mistakes
}

/// What a single knob cannot judge by itself: knobs that contradict each other, and a user or group
/// that this machine has not.
pub(super) fn knobs(settings: &Settings) -> Vec<String> {
    let row = architectures::architecture(&settings.architecture);
    let ways = row.map_or(&[][..], |row| row.sendfile);
    let mut mistakes = Vec::new();
    if settings.sendfile.is_some_and(|way| !ways.contains(&way)) {
        let takes = ways.iter().map(|way| way.name()).collect::<Vec<_>>().join(" or ");
        let said = settings.said("sendfile", "");
        mistakes.push(format!("{said}: {} takes {takes}", settings.architecture));
    }
    let ring = (settings.ring_files, settings.ring_sockets);
    if ring == (Some(RingFiles::Sendfile), Some(RingSockets::Direct)) {
        let said = settings.said("ring-files", "sendfile");
        mistakes.push(format!("{said}: takes --ring-sockets ordinary, as no call can name a slot"));
    }
    if let Some(percent) = settings.admit_percent.filter(|percent| *percent < 100)
        && row.is_some_and(|row| row.admits_itself(settings))
    {
        let said = settings.said("admit-percent", percent);
        mistakes.push(format!("{said}: --stage-admission response decides that; leave it out"));
    }
    mistakes.extend(named_twice(settings));
    mistakes.extend(cache::contradictions(settings));
    mistakes.extend(row.into_iter().flat_map(|row| of_threads(settings, row)));
    mistakes.extend(confine::identity(settings).err().into_iter().flatten());
    mistakes
}

/// An address that is named twice: the second socket could not be bound. The kernel may choose
/// several ports.
fn named_twice(settings: &Settings) -> Option<String> {
    let is_chosen = |address: &Address| match address {
        Address::Inet(address) => address.port() == 0,
        Address::Name(_, port) | Address::Port(port) => *port == 0,
        Address::Unix(_) | Address::Fd(_) => false,
    };
    let all = &settings.listen;
    let is_again = |(at, address): &(usize, &Address)| {
        !is_chosen(address) && all[..*at].iter().any(|before| before.is_same_place(address))
    };
    let (_, address) = all.iter().enumerate().find(is_again)?;
    Some(format!("{}: it is named twice; leave one out", settings.said("listen", address)))
}

/// Of workers, their loops and threads, and the connections that are shared out among them.
fn of_threads(settings: &Settings, row: &Architecture) -> Vec<String> {
    let Settings { threads_min, processes_min, connections_max, .. } = *settings;
    let (threads, loops) = (row.threads(settings), row.loops(settings));
    let processes = row.workers_max(settings);
    let mut mistakes = Vec::new();
    if row.knobs.contains(&"threads-min") && threads_min > threads {
        let (least, most) = (("threads-min", threads_min), ("threads", threads));
        mistakes.push(contrary(settings, [least, most], ["more than", "less than"]));
    }
    if processes_min > processes {
        let (least, most) = (("processes-min", processes_min), ("processes", processes));
        mistakes.push(contrary(settings, [least, most], ["more than", "less than"]));
    }
    if processes.saturating_mul(loops) > LOOPS_MAX {
        let said = settings.said("threads", loops);
        let each = if processes > 1 { ", in each process" } else { "" };
        mistakes.push(format!("{said}{each}: there are {LOOPS_MAX} loops at most"));
    }
    let (all, words) = (("connections-max", connections_max), "less than one for each of");
    if (1..processes).contains(&connections_max) {
        mistakes.push(contrary(settings, [all, ("processes", processes)], [words, "more than"]));
    } else if connections_max > 0 && connections_max / processes < loops {
        mistakes.push(contrary(settings, [all, ("threads", loops)], [words, "more than"]));
    }
    mistakes
}

/// Two knobs that do not go together: the first is blamed, unless only the other is in a file.
fn contrary(settings: &Settings, two: [(&str, u32); 2], words: [&str; 2]) -> String {
    let is_written = |knob| settings.origin(knob, 0).is_some();
    let [one, other] = two;
    let ((knob, value), (other, than), words) = match is_written(other.0) && !is_written(one.0) {
        true => (other, one, words[1]),
        false => (one, other, words[0]),
    };
    let other = if is_written(other) { format!("`{other}`") } else { format!("--{other}") };
    format!("{} is {words} {other} {than}", settings.said(knob, value))
}

type Refused = Vec<(io::ErrorKind, String)>;

/// Looks at all files but those of the site, to see whether their disks answer.
pub(super) fn look_at_files(settings: &Settings) {
    number_file(settings);
    traces(settings);
    of_the_user(settings);
}

/// What is opened as who starts the server, in that order.
fn of_who_starts(settings: &Settings) -> Refused {
    [number_file(settings), addresses(settings), traces(settings)].concat()
}

fn tried(outcome: io::Result<()>, line: impl Fn(&io::Error) -> String) -> Refused {
    outcome.err().map(|error| (error.kind(), line(&error))).into_iter().collect()
}

fn number_file(settings: &Settings) -> Refused {
    let Some(path) = &settings.pid_file else { return Refused::new() };
    tried(PidFile::probe(path), |e| start::unwritable(settings, "pid-file", path.display(), e))
}

fn addresses(settings: &Settings) -> Refused {
    let mut refused = Refused::new();
    if let AdminAt::At(address) = &settings.admin {
        refused = tried(Listener::probe(address), |e| admin::refusal(settings, address, e));
    }
    let site = settings.listen.iter().enumerate().flat_map(|(at, address)| {
        tried(Listener::probe(address), move |e| start::refusal(settings, at, e, true))
    });
    refused.extend(site);
    refused
}

fn traces(settings: &Settings) -> Refused {
    let files = [("trace", &settings.trace), ("admission-log", &settings.admission_log)];
    let files = files.into_iter().filter_map(|(knob, path)| Some((knob, path.as_ref()?)));
    let refused = files.flat_map(|(knob, path)| {
        let line = |e: &io::Error| start::unwritable(settings, knob, path.display(), e);
        tried(output::probe(path), line)
    });
    refused.collect()
}

/// What is opened as the user that it then is, and by that user again.
fn of_the_user(settings: &Settings) -> Refused {
    let logs =
        [("access-log", settings.access_log.as_ref()), ("error-log", Some(&settings.error_log))];
    let files = logs.into_iter().filter_map(|(knob, log)| Some((knob, log.and_then(LogTo::path)?)));
    let refused = files.filter_map(|(knob, path)| {
        let error = output::probe(path).err()?;
        Some((error.kind(), start::unwritable(settings, knob, path.display(), &error)))
    });
    refused.chain(cache::hints(settings).err()).collect()
}
