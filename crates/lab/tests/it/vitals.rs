//! What is read of this machine, as it is.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::machine::has;
use crate::said::Lines;
use harness::KilledOnDrop;
use lab::testbed::Need;
use lab::vitals::{Reading, Side, Vitals, Watch};

fn shell(script: &str) -> KilledOnDrop {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    KilledOnDrop(command.spawn().unwrap())
}

#[test]
fn a_server_that_works_is_seen_at_it() {
    let server = shell("while :; do :; done");
    let watch = Watch {
        server: Side { pids: vec![server.0.id()], ..Side::default() },
        client: Side { pids: vec![std::process::id()], ..Side::default() },
    };
    let vitals = loop {
        let reading = Reading::take(&watch).unwrap();
        std::thread::yield_now();
        let vitals = reading.finish(&watch).unwrap();
        if vitals.server.processes.user_us > 0 {
            break vitals;
        }
    };
    assert_eq!(vitals.server.processes.count, 1);
    assert_eq!(vitals.server.processes.threads, 1);
    assert!(vitals.client.processes.count >= 1);
    assert!(vitals.memory.page_cache_bytes > 0);
    assert_eq!(vitals.server.processors.numbers, vitals.client.processors.numbers);
    let text = serde_json::to_string(&vitals).unwrap();
    assert_eq!(serde_json::from_str::<Vitals>(&text).unwrap(), vitals);
}

#[test]
fn drops_in_a_namespace_are_told_by_class() {
    if !has(&[Need::Root, Need::Ip, Need::Namespaces]) {
        return;
    }
    // Other sockets that listen on this machine would be counted in its own namespace.
    let mut host = shell("exec unshare -n sh -c 'ip link set lo up && echo up && exec cat'");
    let told = Lines::new(host.0.stdout.take().unwrap());
    assert_eq!(told.next().as_deref(), Some("up"));
    let namespace = PathBuf::from(format!("/proc/{}/ns/net", host.0.id()));
    let inside = Side { namespace: Some(namespace.clone()), ..Side::default() };
    let watch = Watch { server: inside.clone(), client: inside };
    // As short as a queue may be: two wait in it.
    let listener = os::namespace::within(&namespace, || {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        os::Listener::bind(&os::Address::Inet(any), 1)
    });
    let listener = listener.unwrap();
    let address: SocketAddr = listener.local_address().unwrap().parse().unwrap();
    let reading = Reading::take(&watch).unwrap();
    let attempts = os::namespace::within(&namespace, move || {
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(10));
        Ok((0..ATTEMPTS).map(connect).collect::<Vec<_>>())
    });
    let attempts = attempts.unwrap();
    let queues = reading.finish(&watch).unwrap().queues;
    // One that was answered too late is among those that failed.
    let refused = attempts.iter().filter(|attempt| attempt.is_err()).count() as u64;
    let classes = queues.classes.unwrap();
    assert!(classes.accept_queue_full > 0 && classes.accept_queue_full >= refused, "{classes:?}");
    assert_eq!((classes.syn_queue_full, classes.drop_request), (0, 0));
    assert_eq!((queues.waiting, queues.listen_drops), (Some(2), queues.listen_overflows));
    assert!(queues.drops >= queues.listen_drops);
}

const ATTEMPTS: u64 = 5;
