//! The border with the kernel: how a ring is set up, restricted, entered and left.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use io_uring::register::Restriction;
use io_uring::{Builder, EnterFlags, IoUring, Probe, cqueue, opcode, squeue};

use super::settings::{RingSettings, SetUp, Sockets};

/// The two queues shared with the kernel, and the way to enter it.
pub(super) struct Kernel {
    ring: IoUring,
    door: Door,
    wait_flags: u32,
    sockets: Sockets,
    /// A thread of the kernel takes what is queued.
    is_polled: bool,
    /// Calls of io_uring_enter(2).
    entered: u64,
    /// Of these, those made while completions waited in the kernel for room.
    overflowed: u64,
}

/// What io_uring_enter(2) is told to find the ring by.
#[derive(Clone, Copy)]
enum Door {
    /// An index into the rings registered by this thread: saves looking the descriptor up.
    Registered(u32),
    Descriptor(RawFd),
}

/// How far one system call looks for completions; also how many are copied out of the shared
/// queue at once, so that its head is stored once for all of them. 4 KiB of entries.
pub(super) const BATCH: usize = 256;

/// For so long the kernel's thread looks for entries without finding any before it sleeps. It keeps
/// a processor busy meanwhile, and to wake it costs a call and its client the time until it runs:
/// longer than from one round to the next under load, and no more than a few ticks of a clock.
const POLL_IDLE_MS: u32 = 10;

/// How often that thread is given the processor before it is taken for stuck.
const TAKEN_ROUNDS: u32 = 10_000;

/// What a ring is asked to do, and by what name an operator knows that.
const OPERATIONS: [(u8, &str); 8] = [
    (opcode::Accept::CODE, "the operation ACCEPT"),
    (opcode::AsyncCancel::CODE, "the operation ASYNC_CANCEL"),
    (opcode::Close::CODE, "the operation CLOSE"),
    (opcode::PollAdd::CODE, "the operation POLL_ADD"),
    (opcode::Read::CODE, "the operation READ"),
    (opcode::Recv::CODE, "the operation RECV"),
    (opcode::Send::CODE, "the operation SEND"),
    (opcode::Shutdown::CODE, "the operation SHUTDOWN"),
];
/// The same of one with direct descriptors only. Linux 6.8: newer than multishot accept and
/// receive, which no probe can see.
const OF_DIRECT: [(u8, &str); 1] =
    [(opcode::FixedFdInstall::CODE, "the operation FIXED_FD_INSTALL")];

impl Kernel {
    /// Sets up a ring for the calling thread alone. It takes no operation before
    /// [`Self::enable`].
    pub(super) fn open(settings: &RingSettings) -> io::Result<Self> {
        let RingSettings { entries, completions, handles, sockets, set_up, .. } = *settings;
        let ring = set_up_ring(entries, completions.max(entries), set_up)?;
        let is_polled = set_up == SetUp::Polled;
        if sockets == Sockets::Direct {
            ring.submitter().register_files_sparse(handles)?;
        }
        let door = register(&ring).map_or(Door::Descriptor(ring.as_raw_fd()), Door::Registered);
        let mut wait_flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        if ring.params().is_feature_no_iowait() {
            wait_flags |= EnterFlags::NO_IOWAIT;
        }
        Ok(Self {
            ring,
            door,
            wait_flags: wait_flags.bits(),
            sockets,
            is_polled,
            entered: 0,
            overflowed: 0,
        })
    }

    /// From now on it takes operations: these and no other, for ever. Seccomp does not see what a
    /// ring is told to do, so a ring that could make a socket or open a path would be a way around
    /// it.
    pub(super) fn enable(&self) -> io::Result<()> {
        let (of_sockets, direct) = match self.sockets {
            Sockets::Direct => (&OF_DIRECT[..], squeue::Flags::FIXED_FILE),
            Sockets::Ordinary => (&[][..], squeue::Flags::empty()),
        };
        let flags = [
            squeue::Flags::BUFFER_SELECT,
            direct,
            squeue::Flags::IO_LINK,
            squeue::Flags::SKIP_SUCCESS,
        ];
        let flags = flags.iter().fold(0, |all, flag| all | flag.bits());
        let operations = OPERATIONS.iter().chain(of_sockets);
        let operations = operations.map(|(code, _)| Restriction::sqe_op(*code));
        let unregister = Restriction::register_op(UNREGISTER_RING_FDS as u8);
        let others = [Restriction::sqe_flags_allowed(flags), unregister];
        let mut allowed: Vec<_> = operations.chain(others).collect();
        let submitter = self.ring.submitter();
        submitter.register_restrictions(&mut allowed)?;
        submitter.register_enable_rings()
    }

    /// Whether the submission queue takes `n` more entries.
    pub(super) fn has_room(&mut self, n: usize) -> bool {
        let queue = self.ring.submission();
        queue.capacity() - queue.len() >= n
    }

    /// Whether nothing is queued.
    pub(super) fn is_empty(&mut self) -> bool {
        self.ring.submission().is_empty()
    }

    /// Whether an accept can be told to wait before it tries: that came with Linux 6.10, as did
    /// what can be asked for.
    pub(super) fn accepts_wait(&self) -> bool {
        self.ring.params().is_feature_recvsend_bundle()
    }

    /// How often the kernel was entered since this was last asked.
    pub(super) fn take_entered(&mut self) -> u64 {
        std::mem::take(&mut self.entered)
    }

    /// How often of these completions had found no room in the queue.
    pub(super) fn take_overflowed(&mut self) -> u64 {
        std::mem::take(&mut self.overflowed)
    }

    /// Submits what is queued, as far as the kernel takes it.
    pub(super) fn submit(&mut self) -> io::Result<()> {
        if self.is_polled && !self.ring.submission().need_wakeup() {
            return Ok(());
        }
        self.enter(0, 0, None)
    }

    /// What is queued has been taken by the kernel's thread, which has performed what needs no
    /// waiting.
    fn await_taken(&mut self) -> io::Result<()> {
        for _ in 0..TAKEN_ROUNDS {
            self.submit()?;
            if self.is_empty() {
                break;
            }
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Queues entries, for which there is room; the kernel sees all of them or none.
    ///
    /// # Safety
    /// The memory and the descriptors that they name stay valid until their last completions.
    pub(super) unsafe fn push(&mut self, entries: &[squeue::Entry]) {
        // SAFETY: the caller promises what `push_multiple` asks for.
        let pushed = unsafe { self.ring.submission().push_multiple(entries) };
        assert!(pushed.is_ok(), "an entry was queued without room for it");
    }

    /// Submits what is queued and waits for `min` completions or the end of `timeout`.
    pub(super) fn wait(&mut self, min: u32, timeout: Option<Duration>) -> io::Result<()> {
        if self.is_polled {
            if min == 0 {
                return self.await_taken();
            }
            if timeout == Some(Duration::ZERO) || !self.ring.completion().is_empty() {
                return self.submit();
            }
        }
        let time = timeout.map(|timeout| Time {
            seconds: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: timeout.subsec_nanos().into(),
        });
        let argument = WaitArgument {
            signals: 0,
            signals_bytes: 0,
            min_wait_us: 0,
            time: time.as_ref().map_or(0, |time| std::ptr::from_ref(time) as u64),
        };
        self.enter(min, self.wait_flags, Some(&argument))
    }

    fn enter(&mut self, min: u32, flags: u32, wait: Option<&WaitArgument>) -> io::Result<()> {
        self.entered += 1;
        let queue = self.ring.submission();
        let queued = queue.len();
        let wakes = self.is_polled && queue.need_wakeup();
        self.overflowed += u64::from(queue.cq_overflow());
        drop(queue);
        let flags = if wakes { flags | EnterFlags::SQ_WAKEUP.bits() } else { flags };
        let (door, flags) = match self.door {
            Door::Registered(index) => (index, flags | EnterFlags::REGISTERED_RING.bits()),
            Door::Descriptor(fd) => (fd.cast_unsigned(), flags),
        };
        let argument = wait.map_or(std::ptr::null(), std::ptr::from_ref);
        let bytes = if wait.is_some() { size_of::<WaitArgument>() } else { 0 };
        // SAFETY: the descriptor or index is that of `self.ring`, which lives; the argument and
        // the time it points to outlive the call; what the queued entries name is valid by the
        // contract of `push`.
        let entered = unsafe {
            libc::syscall(libc::SYS_io_uring_enter, door, queued, min, flags, argument, bytes)
        };
        if entered >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // A signal, the end of the timeout, completions to be reaped first, short of memory:
            // what was not submitted stays queued for the next call.
            Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN) => Ok(()),
            _ => Err(error),
        }
    }

    /// Copies up to [`BATCH`] completions out of the shared queue.
    pub(super) fn reap(&mut self, into: &mut Vec<cqueue::Entry>) {
        into.extend(self.ring.completion().take(BATCH));
    }

    /// Lends `count` (a power of two) buffer descriptions at `ring` to the kernel as group 0.
    ///
    /// # Safety
    /// `ring` is page-aligned and stays mapped for as long as the ring lives.
    pub(super) unsafe fn register_buffers(&self, ring: u64, count: u16) -> io::Result<()> {
        // SAFETY: passed on to the caller. The memory is ours: no flag asks the kernel to map its
        // own (CVE-2024-0582 was there).
        unsafe { self.ring.submitter().register_buf_ring_with_flags(ring, count, 0, 0) }
    }

    /// What this kernel lacks, if anything.
    pub(super) fn missing(&self) -> io::Result<Option<&'static str>> {
        let params = self.ring.params();
        let features = [
            (params.is_feature_ext_arg(), "a timeout when waiting for completions"),
            (params.is_feature_nodrop(), "completions that are never dropped"),
            (params.is_feature_skip_cqe_on_success(), "operations that report failure only"),
        ];
        let mut probe = Probe::new();
        self.ring.submitter().register_probe(&mut probe)?;
        let operations = OPERATIONS.iter().chain(&OF_DIRECT);
        let operations = operations.map(|(code, name)| (probe.is_supported(*code), *name));
        let mut all = features.into_iter().chain(operations);
        Ok(all.find(|(there, _)| !there).map(|(_, name)| name))
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        // A registered ring would live on until its thread ends.
        if let Door::Registered(index) = self.door {
            let mut update = RingUpdate { index, reserved: 0, descriptor: 0 };
            // Nothing is left to be done when it fails: the thread's end is the second chance.
            let _ = register_call(&self.ring, UNREGISTER_RING_FDS, &mut update);
        }
    }
}

/// Tries the newest flags first. DEFER_TASKRUN (Linux 6.1) runs completions only when they are
/// waited for; COOP_TASKRUN (5.19) is what older kernels have, and who asks for it; NO_SQARRAY
/// (6.6) saves an indirection.
fn set_up_ring(entries: u32, completions: u32, set_up: SetUp) -> io::Result<IoUring> {
    let build = |shape: fn(&mut Builder) -> &mut Builder| {
        let mut builder = IoUring::builder();
        builder.setup_clamp().setup_submit_all().setup_cqsize(completions).setup_r_disabled();
        shape(&mut builder).build(entries)
    };
    let refused = |error: &io::Error| error.raw_os_error() == Some(libc::EINVAL);
    if set_up == SetUp::Polled {
        return build(|b| b.setup_sqpoll(POLL_IDLE_MS));
    }
    if set_up == SetUp::Cooperative {
        return build(|b| b.setup_single_issuer().setup_coop_taskrun().setup_no_sqarray()).or_else(
            |error| match refused(&error) {
                true => build(Builder::setup_coop_taskrun),
                false => Err(error),
            },
        );
    }
    build(|b| b.setup_single_issuer().setup_defer_taskrun().setup_no_sqarray())
        .or_else(|error| match refused(&error) {
            true => build(|b| b.setup_single_issuer().setup_defer_taskrun()),
            false => Err(error),
        })
        .or_else(|error| match refused(&error) {
            true => build(Builder::setup_coop_taskrun),
            false => Err(error),
        })
}

/// `struct io_uring_getevents_arg` of linux/io_uring.h.
#[repr(C)]
struct WaitArgument {
    signals: u64,
    signals_bytes: u32,
    min_wait_us: u32,
    time: u64,
}

/// `struct __kernel_timespec`.
#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

/// `struct io_uring_rsrc_update`, as IORING_REGISTER_RING_FDS reads and fills it.
#[repr(C)]
struct RingUpdate {
    index: u32,
    reserved: u32,
    descriptor: u64,
}

const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;

fn register(ring: &IoUring) -> io::Result<u32> {
    let descriptor = u64::from(ring.as_raw_fd().cast_unsigned());
    let mut update = RingUpdate { index: u32::MAX, reserved: 0, descriptor };
    register_call(ring, REGISTER_RING_FDS, &mut update)?;
    Ok(update.index)
}

fn register_call(ring: &IoUring, what: libc::c_uint, update: &mut RingUpdate) -> io::Result<()> {
    let update = std::ptr::from_mut(update);
    // SAFETY: both operations read and write one `io_uring_rsrc_update`, which outlives the call.
    let done = unsafe {
        libc::syscall(libc::SYS_io_uring_register, ring.as_raw_fd(), what, update, 1_u32)
    };
    if done == 1 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_never_asks_of_its_ring_is_refused() {
        for sockets in [Sockets::Direct, Sockets::Ordinary] {
            all_are_refused(sockets);
        }
    }

    fn all_are_refused(sockets: Sockets) {
        let path = c"/";
        let no_address = std::ptr::null();
        let fd = io_uring::types::Fd(0);
        let poll = || opcode::PollAdd::new(fd, 0).build();
        let mut rows = vec![
            ("SOCKET", opcode::Socket::new(libc::AF_UNIX, libc::SOCK_STREAM, 0).build()),
            ("CONNECT", opcode::Connect::new(fd, no_address, 0).build()),
            ("BIND", opcode::Bind::new(fd, no_address, 0).build()),
            ("OPENAT", opcode::OpenAt::new(fd, path.as_ptr()).build()),
            ("UNLINKAT", opcode::UnlinkAt::new(fd, path.as_ptr()).build()),
            ("WRITE", opcode::Write::new(fd, std::ptr::null(), 0).build()),
            ("NOP", opcode::Nop::new().build()),
            ("drained", poll().flags(squeue::Flags::IO_DRAIN)),
        ];
        if sockets == Sockets::Ordinary {
            let slot = io_uring::types::Fixed(0);
            rows.push(("FIXED_FD_INSTALL", opcode::FixedFdInstall::new(slot, 0).build()));
            rows.push(("a slot", poll().flags(squeue::Flags::FIXED_FILE)));
        }
        let settings = RingSettings {
            entries: 8,
            completions: 16,
            buffers: 8,
            buffer_bytes: 64,
            handles: 8,
            sockets,
            set_up: SetUp::Deferred,
        };
        let mut kernel = Kernel::open(&settings).unwrap();
        kernel.enable().unwrap();
        for (name, entry) in rows {
            // SAFETY: the path outlives the ring, and the other entries name no memory.
            unsafe { kernel.push(&[entry]) };
            kernel.wait(1, None).unwrap();
            let mut told = Vec::new();
            kernel.reap(&mut told);
            let told: Vec<_> = told.iter().map(cqueue::Entry::result).collect();
            assert_eq!(told, [-libc::EACCES], "{name}, {sockets:?}");
        }
        let again = kernel.ring.submitter().register_restrictions(&mut []);
        assert!(again.is_err(), "the restrictions can be changed");
    }
}
