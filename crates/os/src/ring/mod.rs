//! Completions: operations are submitted, the kernel performs them, and reports each (io_uring(7)).
//!
//! A ring owns all that the kernel may read or write for as long as it may: bytes to be sent and
//! files to be read are held until their operation has come back, and what is received lies in
//! buffers of the ring, which a socket takes only when data is there. So no call is unsafe,
//! whatever is dropped when. Its sockets are the ring's as well ([`Sockets`]).

mod accept;
mod buffers;
mod in_flight;
mod kernel;
mod peer;
mod probe;
mod settings;
mod sockets;

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::types::{CancelBuilder, Fd, Fixed};
use io_uring::{cqueue, opcode, squeue};

use crate::{File, Socket, Wake};

use buffers::Buffers;
use in_flight::{Entry, Holds, InFlight, What};
use kernel::{BATCH, Kernel};
pub use probe::{probe, probe_polled};
pub use settings::{How, RingSettings, SetUp, Sockets, Takes};
pub use sockets::Handle;
use sockets::Table;

/// A ring of the thread that made it. All of its operations are performed by the kernel between
/// [`Ring::submit_and_wait`] and the completion that names their token.
pub struct Ring {
    // First, so that it is dropped first.
    kernel: Kernel,
    buffers: Buffers,
    in_flight: InFlight,
    sockets: Table,
    /// Completions copied out of the shared queue, and how many of them have been looked at.
    reaped: Vec<cqueue::Entry>,
    looked_at: usize,
    /// The buffer that the last completion lent to the caller.
    lent: Option<u16>,
}

/// One report of the kernel.
#[derive(Debug)]
pub struct Completion<'r> {
    /// As given with the operation.
    pub token: u64,
    /// The operation goes on: more completions will name it.
    pub more: bool,
    /// What was done.
    pub done: Done<'r>,
}

/// What an operation did; its error is as the system call's of that name.
#[derive(Debug)]
pub enum Done<'r> {
    /// A connection, and whose it is where that was asked for and is known ([`Socket::peer_ip`]);
    /// no free slot or descriptor for one is [`crate::is_out_of_descriptors`].
    Accepted(io::Result<(Handle, Option<IpAddr>)>),
    /// Bytes, none after FIN. No free buffer for them is [`crate::is_out_of_buffers`]: nothing is
    /// lost, the bytes come with the next receive.
    Received(io::Result<&'r [u8]>),
    /// So many bytes.
    Sent(io::Result<usize>),
    /// Bytes of a file, fewer than asked for only at its end.
    Read(io::Result<Arc<[u8]>>),
    /// What was waited for is readable.
    Ready(io::Result<()>),
    /// A socket takes bytes, or has ended.
    Writable(io::Result<()>),
    /// Shut, unless what it was linked to has failed.
    Shut(io::Result<()>),
    /// A copy of the socket as an ordinary descriptor.
    Installed(io::Result<Socket>),
}

/// The `user_data` of operations of which only the effect counts.
const UNNAMED: u64 = u64::MAX;

/// How long a ring that is dropped waits for what it has cancelled, in tenths of a second.
const SETTLE_ROUNDS: u32 = 10;

/// How often what is queued is offered to a kernel that takes nothing of it.
const SUBMIT_ROUNDS: u32 = 100;

impl Ring {
    /// A ring for the calling thread, which performs the operations below and no other.
    ///
    /// # Errors
    /// As [`probe`], in words.
    pub fn new(settings: &RingSettings) -> io::Result<Self> {
        let open = || {
            let kernel = Kernel::open(settings)?;
            let buffers = Buffers::new(&kernel, settings.buffers, settings.buffer_bytes)?;
            kernel.enable()?;
            Ok((kernel, buffers))
        };
        let (kernel, buffers) = open().map_err(probe::explain)?;
        Ok(Self {
            kernel,
            buffers,
            in_flight: InFlight::default(),
            sockets: Table::new(settings.sockets),
            reaped: Vec::with_capacity(BATCH),
            looked_at: 0,
            lent: None,
        })
    }

    /// Receives, whenever there is something, until FIN or a failure.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn recv(&mut self, on: Handle, token: u64) -> io::Result<()> {
        let entry = self.sockets.on(on, |fd| opcode::RecvMulti::new(fd, 0).build());
        self.begin(token, What::Recv, Holds::Nothing, |_| entry)
    }

    /// Sends bytes `at..end` of `bytes`, or the beginning of that; `more` as in [`Socket::send`].
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    ///
    /// # Panics
    /// `at..end` is not inside `bytes`.
    pub fn send(
        &mut self,
        on: Handle,
        bytes: Arc<[u8]>,
        (at, end): (usize, usize),
        more: bool,
        token: u64,
    ) -> io::Result<()> {
        let more = if more { libc::MSG_MORE } else { 0 };
        let entry = self.sockets.on(on, |fd| send(fd, &bytes[at..end], more));
        self.begin(token, What::Send, Holds::Bytes(bytes), |_| entry)
    }

    /// Sends bytes `at..end` of `bytes` whole, then FIN; reports both, the second as
    /// [`Self::shutdown`]. FIN does not go out when the first fails.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    ///
    /// # Panics
    /// `at..end` is not inside `bytes`.
    pub fn send_then_shut(
        &mut self,
        on: Handle,
        bytes: Arc<[u8]>,
        (at, end): (usize, usize),
        token: u64,
    ) -> io::Result<()> {
        self.make_room(2)?;
        // Without MSG_WAITALL a short send would count as done, and FIN would cut the rest off.
        let entry = self.sockets.on(on, |fd| send(fd, &bytes[at..end], libc::MSG_WAITALL));
        let entry = entry.flags(squeue::Flags::IO_LINK);
        let shut = self.sockets.on(on, |fd| opcode::Shutdown::new(fd, libc::SHUT_WR).build());
        let send = self.prepare(token, What::Send, Holds::Bytes(bytes), |_| entry);
        let shut = self.prepare(token, What::Shut, Holds::Nothing, |_| shut);
        // Both at once: the last entry that the kernel finds would be linked to nothing.
        // SAFETY: as in `begin`.
        unsafe { self.kernel.push(&[send, shut]) };
        Ok(())
    }

    /// Reads `bytes` bytes of a file from byte `at` on.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn read(&mut self, file: &Arc<File>, at: u64, bytes: usize, token: u64) -> io::Result<()> {
        let fd = Fd(file.as_fd().as_raw_fd());
        let length = u32::try_from(bytes).unwrap_or(u32::MAX);
        let holds = Holds::Read(file.clone(), Arc::new_uninit_slice(length as usize));
        self.begin(token, What::Read, holds, |holds| {
            let Holds::Read(_, into) = holds else { unreachable!("given above") };
            let into = Arc::get_mut(into).expect("nobody else has it yet").as_mut_ptr();
            opcode::Read::new(fd, into.cast(), length).offset(at).build()
        })
    }

    /// Reports once when `wake` is readable.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn poll(&mut self, wake: &Arc<Wake>, token: u64) -> io::Result<()> {
        let fd = Fd(wake.as_fd().as_raw_fd());
        let entry = opcode::PollAdd::new(fd, libc::POLLIN as u32).build();
        self.begin(token, What::Ready, Holds::Descriptor(wake.clone()), |_| entry)
    }

    /// Reports once when a socket takes bytes, or has ended.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn poll_writable(&mut self, on: Handle, token: u64) -> io::Result<()> {
        let poll = |fd| opcode::PollAdd::new(fd, libc::POLLOUT as u32).build();
        let entry = self.sockets.on(on, poll);
        self.begin(token, What::Writable, Holds::Nothing, |_| entry)
    }

    /// The socket itself, for calls: they do not wait. `None`: it is direct, or closed.
    #[must_use]
    pub fn socket(&self, of: Handle) -> Option<&Socket> {
        self.sockets.get(of)
    }

    /// Makes an ordinary descriptor of a direct one, beside its handle.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn install(&mut self, socket: Handle, token: u64) -> io::Result<()> {
        // Without flags the kernel sets close-on-exec.
        let entry = opcode::FixedFdInstall::new(Fixed(socket.0), 0).build();
        self.begin(token, What::Install, Holds::Nothing, |_| entry)
    }

    /// Shuts a connection. The kernel does so by a thread of its own: a handle that is closed
    /// before that is reported may be another connection's by then, and that would be shut.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn shutdown(&mut self, on: Handle, how: How, token: u64) -> io::Result<()> {
        let how = match how {
            How::Write => libc::SHUT_WR,
            How::Both => libc::SHUT_RDWR,
        };
        let entry = self.sockets.on(on, |fd| opcode::Shutdown::new(fd, how).build());
        self.begin(token, What::Shut, Holds::Nothing, |_| entry)
    }

    /// Gives a handle back; nothing is reported. The connection ends with the last operation on it.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn close(&mut self, socket: Handle) -> io::Result<()> {
        if self.sockets.kind() == Sockets::Direct {
            return self.begin_unnamed(&opcode::Close::new(Fixed(socket.0)).build());
        }
        // Where there is no room for the entry it is closed at once.
        let Some(closes) = self.sockets.take_out(socket) else { return Ok(()) };
        self.make_room(1)?;
        let closes = Fd(OwnedFd::from(closes).into_raw_fd());
        self.begin_unnamed(&opcode::Close::new(closes).build())
    }

    /// Cancels what would go on by itself: accepts and receives with this token, and not a send
    /// that has it too. Each still has its last completion, as an error unless it was done already.
    /// Looks at every operation in flight.
    ///
    /// # Errors
    /// As for every operation: the kernel takes no more at present.
    pub fn cancel(&mut self, token: u64) -> io::Result<()> {
        let mut start = 0;
        while let Some(index) = self.in_flight.find(token, start) {
            if matches!(self.in_flight.what(index).1, What::Accept | What::Recv) {
                self.begin_unnamed(&opcode::AsyncCancel::new(index.into()).build())?;
            }
            start = index + 1;
        }
        Ok(())
    }

    /// Submits what was begun and waits for `min` completions or the end of `timeout`. A signal
    /// ends the wait, too. For none: until the kernel has taken what was begun, and performed what
    /// needs no waiting.
    ///
    /// # Errors
    /// The kernel refuses the ring.
    pub fn submit_and_wait(&mut self, min: u32, timeout: Option<Duration>) -> io::Result<()> {
        self.take_back();
        let min = if self.looked_at < self.reaped.len() { 0 } else { min };
        self.kernel.wait(min, timeout)
    }

    /// Submits what was begun, without a wait: enters the kernel if there is something. What it
    /// performs at once is told by [`Self::completion`] where the ring is cooperative; a polled one
    /// is entered only to wake its thread.
    ///
    /// # Errors
    /// The kernel refuses the ring.
    pub fn submit(&mut self) -> io::Result<()> {
        self.take_back();
        if self.kernel.is_empty() { Ok(()) } else { self.kernel.submit() }
    }

    /// How often it has entered the kernel since this was last asked.
    pub fn take_entered(&mut self) -> u64 {
        self.kernel.take_entered()
    }

    /// How often of these completions had found no room in the queue: the kernel keeps them, and
    /// they come with that call.
    pub fn take_overflowed(&mut self) -> u64 {
        self.kernel.take_overflowed()
    }

    /// The next completion, of those that are there.
    pub fn completion(&mut self) -> Option<Completion<'_>> {
        loop {
            self.take_back();
            if self.looked_at == self.reaped.len() {
                self.reaped.clear();
                self.looked_at = 0;
                self.kernel.reap(&mut self.reaped);
            }
            let reported = self.reaped.get(self.looked_at)?;
            self.looked_at += 1;
            if reported.user_data() != UNNAMED {
                let (index, result) = (reported.user_data() as u32, reported.result());
                let flags = reported.flags();
                return Some(self.report(index, result, flags));
            }
        }
    }

    /// What was lent with the last completion goes back to the kernel.
    fn take_back(&mut self) {
        if let Some(id) = self.lent.take() {
            self.buffers.give_back(id);
        }
    }

    fn report(&mut self, index: u32, result: i32, flags: u32) -> Completion<'_> {
        let more = cqueue::more(flags);
        let (token, what) = self.in_flight.what(index);
        let held = if more { Holds::Nothing } else { self.in_flight.end(index) };
        let result = usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
        let done = match what {
            What::Accept => Done::Accepted(result.map(|number| {
                // SAFETY: the kernel has just made it for us, and nobody else knows it.
                let handle = unsafe { self.sockets.take_in(number as u32) };
                (handle, held.peer())
            })),
            What::Recv => Done::Received(self.received(result, flags)),
            What::Send => Done::Sent(result),
            What::Read => Done::Read(result.map(|n| filled(held, n))),
            What::Ready => Done::Ready(result.map(|_| ())),
            What::Writable => Done::Writable(result.map(|_| ())),
            What::Shut => Done::Shut(result.map(|_| ())),
            What::Install => Done::Installed(result.map(|fd| installed(fd as RawFd))),
            What::Nothing { .. } => unreachable!("the kernel reported what was not in flight"),
        };
        Completion { token, more, done }
    }

    fn received(&mut self, result: io::Result<usize>, flags: u32) -> io::Result<&[u8]> {
        self.lent = cqueue::buffer_select(flags);
        match (result, self.lent) {
            (Ok(n), Some(id)) => Ok(self.buffers.filled(id, n)),
            (Ok(_), None) => Ok(&[]),
            (Err(error), _) => {
                if crate::is_out_of_buffers(&error) {
                    self.buffers.grow();
                }
                Err(error)
            }
        }
    }

    fn begin(
        &mut self,
        token: u64,
        what: What,
        holds: Holds,
        build: impl FnOnce(&mut Holds) -> squeue::Entry,
    ) -> io::Result<()> {
        self.make_room(1)?;
        let entry = self.prepare(token, what, holds, build);
        // SAFETY: the slab keeps what the entry points to until the last completion that names
        // it, and Drop waits for that or leaks.
        unsafe { self.kernel.push(&[entry]) };
        Ok(())
    }

    fn prepare(
        &mut self,
        token: u64,
        what: What,
        holds: Holds,
        build: impl FnOnce(&mut Holds) -> squeue::Entry,
    ) -> squeue::Entry {
        let (index, holds) = self.in_flight.begin(token, Entry { what, holds });
        build(holds).user_data(index.into())
    }

    /// Makes room for `n` entries by submitting what is queued. Where the kernel takes no more
    /// until completions are taken, they are, and are looked at in their turn.
    fn make_room(&mut self, n: usize) -> io::Result<()> {
        for _ in 0..SUBMIT_ROUNDS {
            if self.kernel.has_room(n) {
                return Ok(());
            }
            self.kernel.submit()?;
            if !self.kernel.has_room(n) {
                self.kernel.wait(0, None)?;
                self.kernel.reap(&mut self.reaped);
            }
            if !self.kernel.has_room(n) {
                // It is short of memory, which others give back.
                std::thread::yield_now();
            }
        }
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Begins what points to no memory and reports failure only.
    fn begin_unnamed(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        self.make_room(1)?;
        let entry = entry.clone().flags(squeue::Flags::SKIP_SUCCESS).user_data(UNNAMED);
        // SAFETY: it names no memory, and no descriptor but one of the ring's own.
        unsafe { self.kernel.push(&[entry]) };
        Ok(())
    }

    /// Whether nothing is in flight any more, after all was cancelled.
    fn settle(&mut self) -> bool {
        // What was to be closed is.
        if !self.kernel.is_empty() && self.kernel.wait(0, None).is_err() {
            return false;
        }
        let cancel = opcode::AsyncCancel2::new(CancelBuilder::any()).build();
        for _ in 0..SETTLE_ROUNDS {
            while self.completion().is_some() {}
            if self.in_flight.is_empty() {
                return true;
            }
            let tenth = Some(Duration::from_millis(100));
            let waited = self.begin_unnamed(&cancel).and_then(|()| self.submit_and_wait(1, tenth));
            if waited.is_err() {
                return false;
            }
        }
        while self.completion().is_some() {}
        self.in_flight.is_empty()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Closing a ring does not wait for its operations. Memory that one of them may yet touch
        // is never freed: a disk that hangs is no reason to hang, nor to write into reused memory.
        if !self.settle() {
            mem::forget(mem::take(&mut self.in_flight));
            self.buffers.abandon();
        }
    }
}

fn send(on: Fd, bytes: &[u8], flags: i32) -> squeue::Entry {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let flags = flags | libc::MSG_NOSIGNAL;
    opcode::Send::new(on, bytes.as_ptr(), length).flags(flags).build()
}

/// The first `n` bytes that a read was to fill.
fn filled(held: Holds, n: usize) -> Arc<[u8]> {
    let Holds::Read(_, bytes) = held else { unreachable!("a read holds what it fills") };
    let read: &[MaybeUninit<u8>] = &bytes[..n];
    if n == bytes.len() {
        // SAFETY: the kernel has written all of them, and the operation is over.
        return unsafe { bytes.assume_init() };
    }
    // SAFETY: the kernel has written the first `n`; `MaybeUninit<u8>` has the layout of `u8`.
    Arc::from(unsafe { std::slice::from_raw_parts(read.as_ptr().cast::<u8>(), n) })
}

fn installed(fd: RawFd) -> Socket {
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    Socket::from(unsafe { OwnedFd::from_raw_fd(fd) })
}
