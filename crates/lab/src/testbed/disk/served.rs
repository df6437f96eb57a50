//! A disk's side that the kernel does not see: an image of a file system, as one file whose reads
//! are answered late (FUSE), by a process of its own. What is in flight when that ends fails, so
//! that nobody waits for it for ever.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::UNIX_EPOCH;

use fuser::{
    Config, FileAttr, FileHandle, FileType, Filesystem, INodeNo, InitFlags, KernelConfig,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, Request, SessionACL,
};
use measure::{Duration, Instant};

use super::Reads;
use super::model::{Disk, Place};

/// More than a loop device asks for at a time (its queue has 128).
const IN_FLIGHT_MAX: u16 = 256;

/// The file never changes.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// Serves an image as the file `at` until the process is killed or the file is unmounted, and says
/// when it is there. Then each line of `orders` says whether reads are slow from now on (`slow`,
/// `free`; slow before the first one), and is answered by what came of the reads since the last
/// one: their number, and by how many µs all of them together were late.
pub(super) fn serve(
    (at, image, name): (&Path, &Path, &str),
    disk: Disk,
    orders: impl BufRead,
    mut answers: impl io::Write,
) -> io::Result<()> {
    let image = File::open(image)?;
    let bytes = image.metadata()?.len();
    let (waiting, place, told) = (VecDeque::new(), Place::default(), Reads::default());
    let state = Mutex::new(State { is_slow: true, waiting, place, told });
    let line = Arc::new(Line { disk, bytes, state, more: Condvar::new() });
    let replies = Arc::clone(&line);
    thread::Builder::new().name("lab-disk".into()).spawn(move || replies.answer(&image))?;
    let mut config = Config::default();
    config.mount_options = vec![MountOption::RO, MountOption::FSName(name.into())];
    config.acl = SessionACL::Owner;
    let session = fuser::spawn_mount(Image { bytes, line: Arc::clone(&line) }, at, &config)?;
    writeln!(answers, "{SERVED}")?;
    answers.flush()?;
    for order in orders.lines() {
        let Reads { reads, late_us } = line.order(order? == SLOW);
        writeln!(answers, "{reads} {late_us}")?;
        answers.flush()?;
    }
    // Whoever gave orders has no more: it lasts as it is.
    session.join()
}

/// What is said when the file is there.
pub(in crate::testbed) const SERVED: &str = "served";
/// Orders.
pub(super) const SLOW: &str = "slow";
/// See [`SLOW`].
pub(super) const FREE: &str = "free";

struct Image {
    bytes: u64,
    line: Arc<Line>,
}

impl Filesystem for Image {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let refused = |_| io::Error::other("this kernel's FUSE has no reads beside each other");
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(refused)?;
        // Else it is twelve at a time.
        let most = config.set_max_background(IN_FLIGHT_MAX);
        most.map(drop).map_err(|_| io::Error::other("FUSE refuses its number of reads"))
    }

    fn getattr(&self, _: &Request, _: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_EVER, &attributes(self.bytes));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.line.enter(at, bytes, reply);
    }
}

/// Reads that wait, in the order in which they are answered.
struct Line {
    disk: Disk,
    bytes: u64,
    state: Mutex<State>,
    more: Condvar,
}

struct State {
    is_slow: bool,
    waiting: VecDeque<Waiting>,
    place: Place,
    told: Reads,
}

struct Waiting {
    due: Instant,
    at: u64,
    bytes: u32,
    reply: ReplyData,
}

impl Line {
    fn enter(&self, at: u64, bytes: u32, reply: ReplyData) {
        let now = os::clock::monotonic();
        let mut state = self.locked();
        let due = match state.is_slow {
            true => self.disk.due(&mut state.place, now, (at, bytes), self.bytes),
            false => now,
        };
        state.waiting.push_back(Waiting { due, at, bytes, reply });
        self.more.notify_one();
    }

    /// What came of the reads since the last order.
    fn order(&self, is_slow: bool) -> Reads {
        let mut state = self.locked();
        state.is_slow = is_slow;
        std::mem::take(&mut state.told)
    }

    /// Answers each when it is due. What comes later is due later: no read overtakes another.
    fn answer(&self, image: &File) {
        os::thread::wake_exactly();
        let mut buffer = Vec::new();
        loop {
            let state = self.locked();
            let state = self.more.wait_while(state, |state| state.waiting.is_empty());
            let mut state = state.unwrap_or_else(PoisonError::into_inner);
            let Some(Waiting { due, at, bytes, reply }) = state.waiting.pop_front() else {
                continue;
            };
            drop(state);
            buffer.resize(bytes as usize, 0);
            let read = image.read_at(&mut buffer, at);
            thread::sleep(due.since(os::clock::monotonic()));
            let late = os::clock::monotonic().since(due);
            match read {
                Ok(length) => reply.data(&buffer[..length]),
                Err(error) => reply.error(error.into()),
            }
            let mut state = self.locked();
            state.told.reads += 1;
            state.told.late_us += late.as_micros() as u64;
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn attributes(bytes: u64) -> FileAttr {
    FileAttr {
        ino: INodeNo::ROOT,
        size: bytes,
        blocks: bytes.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind: FileType::RegularFile,
        perm: 0o400,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}
