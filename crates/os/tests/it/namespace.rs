//! What a thread sees in a network namespace, and the devices that it makes there.

use std::fs;
use std::io;
use std::path::Path;

use harness::Need;
use os::namespace::{Devices, inhabitants, remove_name, within, within_new};
use os::tun::{PACKET_BYTES_MAX, Tun};

const OWN: &str = "/proc/self/ns/net";

/// Whether this process may not make namespaces, as in a container. If so, records that the calling
/// test is skipped.
#[track_caller]
fn lacks_namespaces() -> bool {
    if harness::lacks(&[Need::Root]) {
        return true;
    }
    let refusal = within_new(|| Ok(())).err();
    if let Some(error) = &refusal {
        harness::skip(format!("needs network namespaces: {error}"));
    }
    refusal.is_some()
}

#[test]
fn a_new_one_has_nothing_but_a_loopback() {
    if lacks_namespaces() {
        return;
    }
    let (devices, number) = within_new(|| {
        let text = fs::read_to_string("/proc/thread-self/net/dev")?;
        let names = text.lines().filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()));
        let sysfs = Devices::here()?;
        let lo = fs::read_to_string(sysfs.device("lo").join("operstate"))?;
        Ok(((names.collect::<Vec<_>>(), lo), here()))
    })
    .unwrap();
    assert_eq!(devices, (vec![String::from("lo")], String::from("down\n")));
    assert_ne!(number, here(), "the thread that asked stays where it is");
    assert_eq!(within(Path::new(OWN), || Ok(here())).unwrap(), here());
    let failed = within_new(|| Err::<(), _>(io::Error::other("in there")));
    assert_eq!(failed.unwrap_err().to_string(), "in there");
}

#[test]
fn whoever_is_there_is_told() {
    assert!(inhabitants(Path::new(OWN)).unwrap().contains(&std::process::id()));
    let directory = tempfile::tempdir().unwrap();
    let name = directory.path().join("name");
    fs::write(&name, "").unwrap();
    assert_eq!(inhabitants(&name).unwrap(), []);
    assert_eq!(inhabitants(Path::new("/nowhere")).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(
        within(Path::new("/nowhere"), || Ok(())).unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    if !lacks_namespaces() {
        remove_name(&name).unwrap();
        assert_eq!(remove_name(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}

#[test]
fn a_device_has_one_other_end_and_needs_to_be_up() {
    if harness::lacks(&[Need::File(os::tun::PLACE), Need::Root]) || lacks_namespaces() {
        return;
    }
    within_new(|| {
        let tun = Tun::attach("fifteen-letters")?;
        let mut buffer = vec![0; PACKET_BYTES_MAX];
        assert!(tun.receive(&mut buffer).is_err() || tun.receive(&mut buffer)?.is_none());
        tun.send(&[0; 30]).unwrap_err();
        Tun::attach("fifteen-letters").unwrap_err();
        let sysfs = Devices::here()?;
        assert!(sysfs.device("fifteen-letters").exists());
        drop(tun);
        assert!(!sysfs.device("fifteen-letters").exists());
        Tun::attach("fifteen-letters").map(|_| ())
    })
    .unwrap();
}

fn here() -> Option<std::path::PathBuf> {
    fs::read_link("/proc/thread-self/ns/net").ok()
}
