//! The buffers that the kernel fills when data arrives: a socket that waits for data holds none.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

use super::kernel::Kernel;

/// One mapping: the ring of descriptions that the kernel reads, then the buffers themselves.
///
/// The kernel takes buffers in the order they were given, so with all of them given it would walk
/// through all their memory. Only [`FIRST`] are given at first, which keeps them in the processor's
/// cache and the rest untouched; each time they run out their number doubles.
pub(super) struct Buffers {
    map: NonNull<u8>,
    map_bytes: usize,
    /// A power of two.
    count: u16,
    bytes: u32,
    given: u16,
    tail: u16,
}

/// How many buffers the kernel gets at first: more than one call to the kernel ever fills.
const FIRST: u16 = 256;

/// What the kernel accepts as the size of a buffer ring.
const COUNT_MAX: u16 = 1 << 15;

const PAGE: usize = 4096;

impl Buffers {
    /// Maps `count` buffers of `bytes` each and lends the first of them to the kernel.
    pub(super) fn new(kernel: &Kernel, count: u16, bytes: u32) -> io::Result<Self> {
        let count = count.clamp(1, COUNT_MAX).next_power_of_two();
        let map_bytes = descriptions(count) + usize::from(count) * bytes as usize;
        let map = map(map_bytes)?;
        let mut buffers = Self { map, map_bytes, count, bytes, given: 0, tail: 0 };
        // SAFETY: the mapping starts with the descriptions, is page-aligned, and is unmapped by
        // the owner of both only after the ring is gone or has nothing in flight.
        unsafe { kernel.register_buffers(buffers.map.addr().get() as u64, count)? };
        buffers.give_more(FIRST);
        Ok(buffers)
    }

    /// After the kernel ran out: doubles what it has.
    pub(super) fn grow(&mut self) {
        self.give_more(self.given);
    }

    /// Never unmaps them: the kernel may still write.
    pub(super) fn abandon(&mut self) {
        self.map_bytes = 0;
    }

    fn give_more(&mut self, n: u16) {
        let end = self.count.min(self.given.saturating_add(n));
        for id in self.given..end {
            self.give_back(id);
        }
        self.given = end;
    }

    /// The first `len` bytes of a buffer that the kernel has filled and handed over.
    pub(super) fn filled(&self, id: u16, len: usize) -> &[u8] {
        assert!(id < self.count && len <= self.bytes as usize, "a buffer outside the mapping");
        let at = self.offset(id);
        // SAFETY: inside the mapping, by the assertion; initialised, because fresh pages are
        // zero; the kernel does not write to it until it is given back, which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(at), len) }
    }

    /// Lends a buffer to the kernel (again).
    pub(super) fn give_back(&mut self, id: u16) {
        let addr = self.map.addr().get() + self.offset(id);
        let at = usize::from(self.tail & (self.count - 1));
        self.tail = self.tail.wrapping_add(1);
        let ring = self.map.cast::<BufRingEntry>();
        // SAFETY: `at < count`, so the description lies in the first part of the mapping, which
        // is aligned to a page. The kernel reads descriptions only below the tail, and this one
        // is beyond it until the store. The tail overlays a reserved field of description 0 that
        // the setters leave alone; the kernel and this thread alone use it.
        unsafe {
            let description = ring.add(at).as_mut();
            description.set_addr(addr as u64);
            description.set_len(self.bytes);
            description.set_bid(id);
            let tail = BufRingEntry::tail(ring.as_ptr()).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }

    fn offset(&self, id: u16) -> usize {
        descriptions(self.count) + usize::from(id) * self.bytes as usize
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours, and nothing borrowed from it outlives `self`; of no length,
        // it is abandoned, and the call fails.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_bytes) };
    }
}

fn descriptions(count: u16) -> usize {
    (usize::from(count) * size_of::<BufRingEntry>()).next_multiple_of(PAGE)
}

/// Memory that costs nothing until it is touched, which zeroed allocations of this alignment
/// would be at once.
fn map(bytes: usize) -> io::Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping touches no memory in use.
    let map = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(map.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}
