//! A file system whose files are slow: a read of one waits until the test lets it go on. Looking
//! up, opening and listing are quick, but for what a test holds. Nothing of a file stays in the
//! page cache from one opening to the next.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyEntry, ReplyOpen, Request,
};
use harness::Need;

use super::PATIENCE;
use super::fixture::pattern;

/// More than the server keeps in memory, so that it is sent from the file.
pub(crate) const SLOW_BYTES: usize = 256 << 10;

/// The files, with their lengths; all have the content of the longest, as far as they go.
const FILES: [(&str, usize); 9] = [
    ("a.bin", SLOW_BYTES),
    ("b.bin", SLOW_BYTES),
    ("c.bin", SLOW_BYTES),
    ("d.bin", SLOW_BYTES),
    // Behind the first window more than the kernel reads ahead, and less.
    ("long.bin", (5 << 19) + 12_345),
    ("tail.bin", (1 << 20) + 54_321),
    // Less than the server keeps in memory.
    ("small.txt", 100),
    ("broken-small.txt", BROKEN_BYTES),
    ("broken-large.bin", SLOW_BYTES),
];

/// Files from here on cannot be read: the disk fails, at once.
const BROKEN_FROM: usize = 7;

/// Less than the server keeps in memory.
const BROKEN_BYTES: usize = 100;

/// A directory that has the same files.
pub(crate) const DIRECTORY: &str = "directory";

/// Longer than any test lasts.
const KEPT_FOR: Duration = Duration::from_secs(3600);

/// The numbers of the directory and of the first file; the root is 1.
const DIRECTORY_NODE: u64 = 2;
const FIRST: usize = 3;

/// What can be slow beside reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Lookup,
    Open,
    List,
}

impl Operation {
    pub(crate) const ALL: [Self; 3] = [Self::Lookup, Self::Open, Self::List];

    /// What [`SlowFiles::await_read`] takes for it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Open => "open",
            Self::List => "list",
        }
    }
}

pub(crate) struct SlowFiles {
    gate: Arc<Gate>,
    /// For each [`Operation`].
    gates: [Arc<Gate>; 3],
    begun: Receiver<&'static str>,
    /// Unmounts when dropped, after the gate has been opened.
    _session: BackgroundSession,
}

/// Whether this machine cannot mount slow files. If so, records that the calling test is skipped.
#[track_caller]
pub(crate) fn lacks_slow_files() -> bool {
    // A container may have the device and no right to mount.
    static REFUSAL: OnceLock<Option<String>> = OnceLock::new();
    let mut needs = vec![Need::File("/dev/fuse")];
    if !rustix::process::geteuid().is_root() {
        needs.push(Need::Program("fusermount3"));
    }
    if harness::lacks(&needs) {
        return true;
    }
    let refusal = REFUSAL.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a directory");
        SlowFiles::try_mount(directory.path(), KEPT_FOR).err().map(|error| error.to_string())
    });
    if let Some(error) = refusal {
        harness::skip(format!("needs the right to mount /dev/fuse: {error}"));
    }
    refusal.is_some()
}

impl SlowFiles {
    /// Mounts them at `at`, with reads that wait. Tests ask [`lacks_slow_files`] before.
    pub(crate) fn mount(at: &Path) -> Self {
        Self::mounted(at, Duration::ZERO)
    }

    /// The same, but the kernel keeps the names that it has looked up.
    pub(crate) fn mount_with_cached_names(at: &Path) -> Self {
        Self::mounted(at, KEPT_FOR)
    }

    fn mounted(at: &Path, names: Duration) -> Self {
        let mounted = Self::try_mount(at, names);
        mounted.unwrap_or_else(|error| panic!("mount at {}: {error}", at.display()))
    }

    fn try_mount(at: &Path, names_are_kept: Duration) -> io::Result<Self> {
        std::fs::create_dir_all(at)?;
        let (begins, begun) = channel();
        let gate = Arc::new(Gate::default());
        let gates = Operation::ALL.map(|_| Arc::new(Gate::default()));
        gates.iter().for_each(|gate| gate.open(u64::MAX));
        let longest = FILES.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
        let longest = Arc::new(pattern(longest));
        let files = Files {
            gate: Arc::clone(&gate),
            gates: gates.clone(),
            begins: Mutex::new(begins),
            longest,
            names_are_kept,
        };
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RO, MountOption::FSName("weir-test".into())];
        let session = fuser::spawn_mount(files, at, &config)?;
        Ok(Self { gate, gates, begun, _session: session })
    }

    /// Waits until somebody reads that file who is not let go on.
    pub(crate) fn await_read(&self, name: &str) {
        while self.begun.recv_timeout(PATIENCE).expect("nobody reads the slow file") != name {}
    }

    /// From now on each operation of that kind waits.
    pub(crate) fn hold(&self, operation: Operation) {
        self.gates[operation as usize].open(0);
    }

    /// Waits until such an operation begins that is held.
    pub(crate) fn await_held(&self, operation: Operation) {
        self.await_read(operation.name());
    }

    /// Lets operations of that kind go on, from now on.
    pub(crate) fn let_go(&self, operation: Operation) {
        self.gates[operation as usize].open(u64::MAX);
    }

    /// Waits until so many files are read by somebody who is not let go on, and then until no other
    /// read begins for a while: the files that are read.
    pub(crate) fn await_reads(&self, files: usize, silence: Duration) -> BTreeSet<&'static str> {
        let mut read = BTreeSet::new();
        while read.len() < files {
            read.insert(self.begun.recv_timeout(PATIENCE).expect("fewer files are read"));
        }
        while let Ok(name) = self.begun.recv_timeout(silence) {
            read.insert(name);
        }
        read
    }

    /// Reads that have begun since they were last asked for.
    pub(crate) fn reads(&self) -> usize {
        self.begun.try_iter().count()
    }

    /// Lets all go on, from now on.
    pub(crate) fn release(&self) {
        self.gate.open(u64::MAX);
    }

    /// Lets reads go on that begin before this byte.
    pub(crate) fn release_until(&self, byte: u64) {
        self.gate.open(byte);
    }
}

impl Drop for SlowFiles {
    fn drop(&mut self) {
        self.gate.open(u64::MAX);
        self.gates.iter().for_each(|gate| gate.open(u64::MAX));
    }
}

/// What the content of a file is compared with.
pub(crate) fn content(name: &str) -> Vec<u8> {
    let (_, bytes) = FILES.iter().find(|(known, _)| *known == name).expect("a slow file");
    pattern(*bytes)
}

/// Open to reads that begin before a byte.
#[derive(Default)]
struct Gate {
    until: Mutex<u64>,
    opened: Condvar,
}

impl Gate {
    fn open(&self, until: u64) {
        *self.until.lock().expect("a gate") = until;
        self.opened.notify_all();
    }

    fn is_open(&self, at: u64) -> bool {
        at < *self.until.lock().expect("a gate")
    }

    fn pass(&self, at: u64) {
        let until = self.until.lock().expect("a gate");
        drop(self.opened.wait_while(until, |until| at >= *until).expect("a gate"));
    }
}

struct Files {
    gate: Arc<Gate>,
    gates: [Arc<Gate>; 3],
    begins: Mutex<Sender<&'static str>>,
    /// The content of which each file has the beginning.
    longest: Arc<Vec<u8>>,
    /// For how long the kernel keeps a name.
    names_are_kept: Duration,
}

impl Files {
    /// Performs an operation when its gate is open, on a thread of its own: other requests are to
    /// be answered meanwhile.
    fn perform(&self, operation: Operation, perform: impl FnOnce() + Send + 'static) {
        let gate = &self.gates[operation as usize];
        if gate.is_open(0) {
            return perform();
        }
        // Whether the test still listens is not the file system's business.
        let _ = self.begins.lock().expect("a sender").send(operation.name());
        let gate = Arc::clone(gate);
        std::thread::spawn(move || {
            gate.pass(0);
            perform();
        });
    }
}

impl Filesystem for Files {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let file = FILES.iter().position(|(known, _)| name == OsStr::new(known));
        let node = file.map(|at| (FIRST + at) as u64);
        let node = if name == DIRECTORY { Some(DIRECTORY_NODE) } else { node };
        let kept = self.names_are_kept;
        self.perform(Operation::Lookup, move || match node {
            Some(node) => reply.entry(&kept, &attributes(node), Generation(0)),
            None => reply.error(Errno::ENOENT),
        });
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.perform(Operation::Open, || reply.opened(FileHandle(0), FopenFlags::empty()));
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        self.perform(Operation::List, move || {
            for (at, (name, _)) in FILES.iter().enumerate().skip(offset as usize) {
                let node = INodeNo((FIRST + at) as u64);
                if reply.add(node, at as u64 + 1, FileType::RegularFile, name) {
                    break;
                }
            }
            reply.ok();
        });
    }

    fn getattr(&self, _: &Request, node: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&KEPT_FOR, &attributes(node.into()));
    }

    fn read(
        &self,
        _: &Request,
        node: INodeNo,
        _: FileHandle,
        at: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let file = u64::from(node) as usize - FIRST;
        if file >= BROKEN_FROM {
            return reply.error(Errno::EIO);
        }
        let (name, bytes) = FILES[file];
        if !self.gate.is_open(at) {
            // Whether anybody still listens is not the file system's business.
            let _ = self.begins.lock().expect("a sender").send(name);
        }
        let (gate, longest) = (Arc::clone(&self.gate), Arc::clone(&self.longest));
        // On a thread of its own: other requests are to be answered meanwhile.
        std::thread::spawn(move || {
            gate.pass(at);
            let at = (at as usize).min(bytes);
            let end = (at + size as usize).min(bytes);
            reply.data(&longest[at..end]);
        });
    }
}

fn attributes(node: u64) -> FileAttr {
    let is_directory = node == u64::from(INodeNo::ROOT) || node == DIRECTORY_NODE;
    let file = (node as usize).checked_sub(FIRST).and_then(|at| FILES.get(at));
    let size = file.map_or(0, |(_, bytes)| *bytes as u64);
    FileAttr {
        ino: INodeNo(node),
        size,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH + Duration::from_secs(784_111_777),
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: if is_directory { FileType::Directory } else { FileType::RegularFile },
        perm: if is_directory { 0o755 } else { 0o644 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}
