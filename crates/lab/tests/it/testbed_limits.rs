//! What a server may use, made and felt for real.

use std::fs;
use std::path::PathBuf;

use crate::hosts::up;
use crate::machine::has;
use crate::said::output;
use lab::testbed::{Layout, Need, Testbed, drop_pages, share};

const MIB: u64 = 1 << 20;

#[test]
fn a_quota_stops_whoever_has_used_it_up() {
    let layout = Layout { quota_percent: Some(10), ..Layout::default() };
    let Some(testbed) = up(&layout, &[Need::Quota]) else { return };
    let throttled = || {
        let stat = group_file(&testbed, &["cpu.stat"]);
        let line = stat.lines().find_map(|line| line.strip_prefix("nr_throttled ")).unwrap();
        line.parse::<u64>().unwrap()
    };
    let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    output(&testbed.client, &["sh", "-c", work]);
    assert_eq!(throttled(), 0, "the client has all it wants");
    // A server that starts, too.
    testbed.limit_processors(false).unwrap();
    output(&testbed.server, &["sh", "-c", work]);
    assert_eq!(throttled(), 0);
    testbed.limit_processors(true).unwrap();
    output(&testbed.server, &["sh", "-c", work]);
    assert!(throttled() > 0);
}

#[test]
fn a_limit_on_memory_covers_the_page_cache() {
    let limit = 16 * MIB;
    let layout = Layout { memory_bytes: Some(limit), ..Layout::default() };
    let Some(testbed) = up(&layout, &[Need::Memory, Need::PageCounts]) else { return };
    let Some(site) = Site::new(6, 8 * MIB) else { return };
    assert_eq!(site.share().files, 6);
    assert_eq!(site.share().bytes, 48 * MIB);
    for _ in 0..2 {
        output(&testbed.server, &site.read());
        let cached = site.share().cached_bytes;
        assert!(0 < cached && cached <= limit, "{cached} bytes are cached");
    }
    output(&testbed.client, &site.read());
    // Not all of it: a machine may take pages back that nobody uses, long before memory is full.
    let cached = site.share().cached_bytes;
    assert!(cached > 2 * limit, "{cached} bytes are cached: the client has the server's limit");
    let most = group_file(&testbed, &["memory.max_usage_in_bytes", "memory.peak"]);
    assert!(most.trim().parse::<u64>().unwrap() <= limit, "{most}");
    drop_pages(&site.path).unwrap();
    assert_eq!(site.share().cached_bytes, 0);
}

/// On a loopback, too, the server's processes can be limited.
#[test]
fn a_loopback_has_limits_where_there_is_root() {
    let layout = Layout { is_loopback: true, quota_percent: Some(50), ..Layout::default() };
    if !has(&[Need::Root]) {
        let refused = Testbed::up(&layout).unwrap_err().to_string();
        assert!(refused.contains("--quota needs root"), "{refused}");
        return;
    }
    let Some(testbed) = up(&layout, &[Need::Quota]) else { return };
    assert_eq!(testbed.server.placement.namespace, None);
    assert!(group_file(&testbed, &["cgroup.procs"]).is_empty());
}

/// The first of these files that the server's group has.
fn group_file(testbed: &Testbed, names: &[&str]) -> String {
    let groups = &testbed.server.placement.groups;
    let files = groups.iter().flat_map(|group| names.iter().map(|name| group.join(name)));
    let mut texts = files.filter_map(|file| fs::read_to_string(file).ok());
    texts.next().unwrap()
}

/// Files on a disk, not in memory.
struct Site {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Site {
    /// `None`, which it says: this directory has no disk.
    fn new(files: u32, bytes: u64) -> Option<Self> {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = directory.path().join("deeper/down");
        fs::create_dir_all(&path).unwrap();
        for number in 0..files {
            let bytes = vec![number.to_le_bytes()[0] + 1; usize::try_from(bytes).unwrap()];
            fs::write(path.join(number.to_string()), bytes).unwrap();
        }
        let site = Self { path: directory.path().into(), _directory: directory };
        let written = site.share().cached_bytes;
        drop_pages(&site.path).unwrap();
        let left = site.share().cached_bytes;
        let is_told = written > 0 && left == 0;
        if !is_told {
            let place = site.path.display();
            harness::skip(format!("needs a file system at {place} that tells what is cached"));
        }
        is_told.then_some(site)
    }

    fn share(&self) -> lab::testbed::Share {
        share(&self.path).unwrap().expect("a kernel that tells")
    }

    /// What reads all of it.
    fn read(&self) -> [&str; 4] {
        ["sh", "-c", "cat \"$0\"/deeper/down/* >/dev/null", self.path.to_str().unwrap()]
    }
}
