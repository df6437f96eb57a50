//! Network namespaces without names: each ends with its last process and descriptor, so nothing of
//! them is left behind however a test ends.

use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::support::command::{await_input, run};

/// As in `examples/fleet`.
pub(crate) const BALANCER: &str = "10.20.0.1";
pub(crate) const CLIENTS: &str = "10.20.0.100";

pub(crate) struct Namespace {
    /// Lives in it until its input ends.
    holder: Child,
    file: File,
}

/// The machines of a fleet and of its clients, on one wire.
pub(crate) struct Network {
    pub(crate) balancer: Namespace,
    pub(crate) clients: Namespace,
    pub(crate) replicas: Vec<Namespace>,
}

impl Network {
    pub(crate) fn new(replicas: usize) -> Self {
        let balancer = Namespace::new();
        let machines: Vec<_> = (1..=replicas).map(|n| (n, format!("10.20.0.1{n}"))).collect();
        balancer.within(|| {
            ip("link set lo up");
            ip("link add name fleet type bridge");
            ip(&format!("addr add {BALANCER}/24 dev fleet"));
            ip("link set fleet up");
        });
        let join = |n: usize, address: &str| {
            let machine = Namespace::new();
            let inside = machine.holder.id();
            balancer.within(|| {
                ip(&format!("link add name port{n} type veth peer name eth0 netns {inside}"));
                ip(&format!("link set port{n} master fleet up"));
            });
            machine.within(|| {
                ip("link set lo up");
                ip(&format!("addr add {address}/24 dev eth0"));
                ip("link set eth0 up");
            });
            machine
        };
        let clients = join(0, CLIENTS);
        let replicas = machines.iter().map(|(n, address)| join(*n, address)).collect();
        Self { balancer, clients, replicas }
    }
}

impl Namespace {
    fn new() -> Self {
        let mut command = Command::new("unshare");
        command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = command.spawn().expect("unshare");
        // What comes back says that it is inside.
        holder.stdin.as_mut().expect("its input").write_all(b"?").expect("a holder");
        let mut output = BufReader::new(holder.stdout.as_mut().expect("its output"));
        assert!(await_input(&output), "cat says nothing");
        output.read_exact(&mut [0]).expect("a network namespace");
        let file = File::open(format!("/proc/{}/ns/net", holder.id())).expect("its namespace");
        Self { holder, file }
    }

    /// Does something there: by a thread that moves in. Threads, processes and sockets that it
    /// makes stay.
    pub(crate) fn within<T: Send>(&self, what: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(self.file.as_fd(), kind).expect("the namespace");
            what()
        };
        let done = thread::scope(|scope| scope.spawn(inside).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The processes in it.
    pub(crate) fn inhabitants(&self) -> Vec<u32> {
        let of = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let this = self.file.metadata().map(of).expect("its namespace");
        let processes = fs::read_dir("/proc").expect("/proc");
        let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_here = |pid: &u32| {
            let there = fs::metadata(format!("/proc/{pid}/ns/net")).map(of);
            there.is_ok_and(|there| there == this)
        };
        numbers.filter(is_here).collect()
    }
}

/// Whoever is still there when a test is over or has failed is nobody's child any more.
impl Drop for Namespace {
    fn drop(&mut self) {
        let inhabitants = self.inhabitants().into_iter();
        for pid in inhabitants.filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.holder.wait();
    }
}

/// As `ip` in the namespace of this thread.
fn ip(arguments: &str) {
    let mut command = Command::new("ip");
    let (status, _, errors) = run(command.args(arguments.split(' '))).expect("ip");
    assert_eq!(status, Some(0), "ip {arguments}: {errors}");
}
