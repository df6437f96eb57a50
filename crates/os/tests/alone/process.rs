//! Processes: how they begin and end.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::SeqCst;

use measure::Duration;
use os::placement::Placement;
use os::process::{self, Exit, Fork, Pid};
use os::{SharedWords, Signal, Signals, Wake};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::pipe::fcntl_getpipe_size;
use rustix::process::{WaitId, WaitIdOptions, waitid};

const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;
const SIGABRT: i32 = 6;

pub(crate) fn a_process_knows_how_long_it_has_run() {
    let ours = process::cpu_time();
    // Ends only because the work of another thread is seen, and still is when that has ended.
    let seen = std::thread::spawn(move || {
        let mut work = 1_u64;
        while process::cpu_time() <= ours {
            (1..1000).for_each(|n| work = std::hint::black_box(work.wrapping_mul(n)));
        }
        process::cpu_time()
    });
    let seen = seen.join().unwrap();
    assert!(process::cpu_time() >= seen && seen > ours);
}

/// Two whose parent ends before it has looked at them.
pub(crate) fn orphans_are_adopted_and_buried() {
    assert!(!process::adopts_orphans());
    process::adopt_orphans().unwrap();
    assert!(process::adopts_orphans());
    let mut sh = Command::new("/bin/sh");
    let mut parent = sh.args(["-c", "true & true & exit"]).process_group(0).spawn().unwrap();
    let group = parent.id();
    assert!(parent.wait().unwrap().success());
    let raw = rustix::process::Pid::from_raw(group.cast_signed());
    let orphans = || WaitId::Pgid(raw);
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    // One of them first, whichever has ended, then what is left of the group.
    let seen = waitid(orphans(), ended).unwrap();
    assert!(seen.is_some());
    while waitid(orphans(), ended).is_ok() {
        process::wait_group_exited(Pid::new(group).unwrap()).unwrap();
    }
    // Nobody is there, which is no failure.
    process::wait_group_exited(Pid::new(group).unwrap()).unwrap();
    process::wait_exited(Pid::new(group).unwrap()).unwrap();
    assert_eq!(process::wait_any_exited().unwrap(), None);
}

pub(crate) fn another_process_is_asked_how_long_it_has_run() {
    let ours = process::cpu_time();
    let seen = process::cpu_time_of(Pid::new(process::id()).unwrap()).unwrap();
    // The one is counted in microseconds, the other in nanoseconds.
    assert!(seen + Duration::from_micros(2) >= ours, "{seen:?} after {ours:?}");
    let child = child(|| process::exit(0));
    assert_eq!(next_exit(), (child, Exit::Status(0)));
    process::cpu_time_of(child).expect_err("it is not there");
    for number in [0, 1 << 31, u32::MAX] {
        assert_eq!(Pid::new(number), None, "{number}");
    }
}

pub(crate) fn a_group_ends_as_a_whole() {
    let ends: [fn(Pid) -> io::Result<()>; 2] =
        [process::kill_group, |group| process::signal_group(group, Signal::Term)];
    for end in ends {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo; wait"]).process_group(0).stdout(Stdio::piped());
        let mut first = command.spawn().unwrap();
        let group = Pid::new(first.id()).unwrap();
        let mut said = first.stdout.take().unwrap();
        said.read_exact(&mut [0]).unwrap();
        end(group).unwrap();
        // The end of what they say is that of the last of them.
        assert_eq!(said.read(&mut [0]).unwrap(), 0);
        first.wait().unwrap();
        process::kill_group(group).expect("one that is gone is no reason to complain");
    }
}

/// How a child's life ends: what it does, what is done to it, and what is said of it.
type Life = (fn(), fn(Pid), Exit);

pub(crate) fn a_process_ends_as_it_is_told() {
    let rows: [Life; 7] = [
        (|| process::exit(0), |_| {}, Exit::Status(0)),
        (|| process::exit(7), |_| {}, Exit::Status(7)),
        (|| process::exit(255), |_| {}, Exit::Status(255)),
        (|| std::process::abort(), |_| {}, Exit::Killed(SIGABRT)),
        (wait_for_ever, |child| process::kill(child).unwrap(), Exit::Killed(SIGKILL)),
        (wait_for_ever, |child| process::signal(child, Signal::Term).unwrap(), TERMINATED),
        (
            // Taken, a signal ends nobody; told to stop, the child stops by itself.
            || process::exit(i32::from(taken_signal() != Some(Signal::Hup))),
            |child| process::signal(child, Signal::Hup).unwrap(),
            Exit::Status(0),
        ),
    ];
    for (n, (live, act, expected)) in rows.into_iter().enumerate() {
        let ready = SharedWake::new();
        let child = child(|| {
            let signals = (n == 6).then(|| Signals::take(&[Signal::Hup]).unwrap());
            ready.tell();
            live();
            drop(signals);
        });
        ready.wait();
        act(child);
        assert_eq!(next_exit(), (child, expected), "row {n}");
        process::kill(child).expect("one that is buried is no reason to complain");
        process::signal(child, Signal::Term).expect_err("it is not there");
    }
    assert_eq!(process::wait_any_exited().unwrap(), None, "no children");
}

const TERMINATED: Exit = Exit::Killed(SIGTERM);

fn taken_signal() -> Option<Signal> {
    Signals::take(&[Signal::Hup]).unwrap().wait(None).unwrap()
}

pub(crate) fn several_that_ended_are_buried_one_by_one() {
    let idle = child(wait_for_ever);
    assert_eq!(process::wait_any_exited().unwrap(), None, "it lives");
    let mut expected: Vec<(Pid, Exit)> =
        (1..6).map(|n| (child(|| process::exit(n)), Exit::Status(n))).collect();
    let mut seen: Vec<(Pid, Exit)> = expected.iter().map(|_| next_exit()).collect();
    for ends in [&mut seen, &mut expected] {
        ends.sort_by_key(|(_, exit)| exit.to_string());
    }
    assert_eq!(seen, expected);
    end(idle);
}

pub(crate) fn a_child_knows_who_it_is() {
    let words = SharedWords::new(4).unwrap();
    // Asked before the fork, so that a remembered answer would be the wrong one.
    let (ours, thread) = (process::id(), os::thread::id());
    let pid = child(|| {
        let told = [process::id(), process::parent(), os::thread::id(), os::thread::id()];
        for (word, told) in words.iter().zip(told) {
            word.store(told.into(), SeqCst);
        }
        process::exit(0);
    });
    assert_eq!(next_exit(), (pid, Exit::Status(0)));
    let told: Vec<u32> = words.iter().map(|word| word.load(SeqCst) as u32).collect();
    let child: u32 = pid.to_string().parse().unwrap();
    assert_eq!(told, [child, ours, child, child]);
    assert_eq!((process::id(), os::thread::id()), (ours, thread));
    assert_ne!(child, ours);
}

/// One end of each of three connections is kept, and that of the one between them is not.
pub(crate) fn a_child_keeps_what_it_needs() {
    let pairs = [(); 4].map(|()| UnixStream::pair().unwrap());
    let kept = [0, 1, 3].map(|n: usize| pairs[n].0.as_raw_fd());
    let words = SharedWords::new(5).unwrap();
    let pid = child(|| {
        let done = process::keep_only(&kept);
        words[4].store(u64::from(done.is_ok()), SeqCst);
        for (word, (one, other)) in words.iter().zip(&pairs) {
            let is_open = |fd: &UnixStream| u64::from(rustix::io::fcntl_getfd(fd).is_ok());
            word.store(10 * is_open(one) + is_open(other), SeqCst);
        }
        process::exit(0);
    });
    assert_eq!(next_exit(), (pid, Exit::Status(0)));
    let told: Vec<u64> = words.iter().map(|word| word.load(SeqCst)).collect();
    assert_eq!(told, [10, 10, 0, 10, 1]);
}

/// The grandchild holds one end of a connection: its end is seen at the other.
pub(crate) fn a_child_dies_with_its_parent() {
    let ready = SharedWake::new();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let middle = child(|| {
        child(|| {
            process::die_with_parent();
            ready.tell();
            wait_for_ever();
        });
        wait_for_ever();
    });
    drop(theirs);
    ready.wait();
    end(middle);
    // Only the grandchild can still have it.
    assert_eq!(ours.read(&mut [0]).unwrap(), 0);
}

pub(crate) fn a_child_whose_parent_is_gone_ends_itself() {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let gone = SharedWake::new();
    let words = SharedWords::new(1).unwrap();
    let middle = child(|| {
        child(|| {
            gone.wait();
            process::die_with_parent();
            words[0].store(1, SeqCst);
            process::exit(0);
        });
        process::exit(0);
    });
    drop(theirs);
    assert_eq!(next_exit(), (middle, Exit::Status(0)));
    gone.tell();
    assert_eq!(ours.read(&mut [0]).unwrap(), 0);
    assert_eq!(words[0].load(SeqCst), 0, "it went on");
}

/// On its way to the program it joins two groups: pipes, of which the second has no room until its
/// parent is gone.
pub(crate) fn a_program_whose_parent_is_gone_does_not_run() {
    let home = tempfile::tempdir().unwrap();
    let groups = ["told", "waits"].map(|name| home.path().join(name));
    let mut pipes = groups.each_ref().map(|group| {
        fs::create_dir(group).unwrap();
        let path = group.join("cgroup.procs");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let mut options = OpenOptions::new();
        options.read(true).write(true).open(&path).unwrap()
    });
    let size = fcntl_getpipe_size(&pipes[1]).unwrap();
    pipes[1].write_all(&vec![0; size]).unwrap();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let out = Stdio::from(OwnedFd::from(theirs));
    let middle = child(|| {
        let placement = Placement { groups: groups.to_vec(), ..Placement::default() };
        let mut command = placement.command("echo").unwrap();
        let _ = command.arg("it ran").stdout(out).spawn();
    });
    pipes[0].read_exact(&mut [0]).unwrap();
    end(middle);
    pipes[1].read_exact(&mut vec![0; size]).unwrap();
    let mut said = String::new();
    ours.read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

/// Having forked says nothing about one's own parent.
pub(crate) fn a_parent_may_be_a_child_too() {
    let middle = child(|| {
        let inner = child(|| process::exit(0));
        process::die_with_parent();
        let buried = next_exit() == (inner, Exit::Status(0));
        process::exit(if buried { 42 } else { 1 });
    });
    assert_eq!(next_exit(), (middle, Exit::Status(42)));
}

/// The test runs itself as another program, whose output goes through a pipe and is buffered. The
/// environment names this test, so that the program runs and prints nothing else.
pub(crate) fn what_was_printed_is_written_once() {
    const MARK: &str = "WEIR_TEST_PRINTS";
    if std::env::var_os(MARK).is_some() {
        print!("before ");
        let pid = child(|| {
            print!("child ");
            process::exit(0)
        });
        assert_eq!(next_exit(), (pid, Exit::Status(0)));
        print!("parent");
        process::exit(0);
    }
    let program = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(program);
    let output = command.env(MARK, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "before child parent");
    assert!(output.status.success(), "{output:?}");
}

pub(crate) fn a_process_with_threads_does_not_fork() {
    let (wake, ready) = (Wake::new().unwrap(), Wake::new().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            ready.wake();
            os::wait_readable([wake.as_fd()], None).unwrap();
        });
        os::wait_readable([ready.as_fd()], None).unwrap();
        // It is expected, so nothing is said of it.
        std::panic::set_hook(Box::new(|_| {}));
        let forked = std::panic::catch_unwind(process::fork);
        drop(std::panic::take_hook());
        wake.wake();
        assert!(forked.is_err(), "{forked:?}");
    });
}

pub(crate) fn ends_are_told_in_words() {
    let rows = [
        (Exit::Status(3), "ended with status 3"),
        (Exit::Killed(SIGKILL), "was killed by signal 9"),
    ];
    for (exit, text) in rows {
        assert_eq!(exit.to_string(), text);
    }
}

/// Forks one that does `live`, and ends badly if it comes back or panics.
fn child(live: impl FnOnce()) -> Pid {
    match process::fork().unwrap() {
        Fork::Parent(child) => child,
        Fork::Child => {
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(live));
            process::exit(99)
        }
    }
}

fn next_exit() -> (Pid, Exit) {
    let without_burying = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, without_burying).unwrap();
    process::wait_any_exited().unwrap().unwrap()
}

fn end(pid: Pid) {
    process::kill(pid).unwrap();
    assert_eq!(next_exit(), (pid, Exit::Killed(SIGKILL)));
}

fn wait_for_ever() {
    loop {
        os::wait_readable([], None).unwrap();
    }
}

/// One process tells another that it has got so far.
struct SharedWake(Wake);

impl SharedWake {
    fn new() -> Self {
        Self(Wake::new().unwrap())
    }

    fn tell(&self) {
        self.0.wake();
    }

    fn wait(&self) {
        assert_eq!(os::wait_readable([self.0.as_fd()], None).unwrap(), [true]);
    }
}
