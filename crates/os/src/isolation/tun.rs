//! A network device whose wire is a descriptor: what the kernel sends there is read, what is
//! written has been received (TUN).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::io::{Errno, retry_on_intr};

/// The other end of a TUN device.
///
/// A packet comes and goes with a `virtio_net_hdr` in front, so that checksums need not be there
/// yet and a packet may be as long as IP allows: the kernel cuts it up where it arrives. Whatever
/// was read from one device may be written to another as it is.
#[derive(Debug)]
pub struct Tun {
    file: File,
}

/// A packet of the greatest length that IPv4 has, and its header.
pub const PACKET_BYTES_MAX: usize = HEADER_BYTES + 65_535;

/// `struct virtio_net_hdr` of linux/virtio_net.h.
const HEADER_BYTES: usize = 10;

/// Where all devices are had.
pub const PLACE: &str = "/dev/net/tun";

impl Tun {
    /// A device of the calling thread's network namespace, by its name; made if it is not there,
    /// and then gone with this.
    ///
    /// # Errors
    /// This kernel has no TUN, only root may, or the device has another end already.
    ///
    /// # Panics
    /// The name is longer than the 15 bytes that a device's may have.
    pub fn attach(name: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(PLACE)?;
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        // SAFETY: of zeros alone it is a valid one.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        assert!(name.len() < request.ifr_name.len(), "{name} is too long for a device's name");
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from.cast_signed();
        }
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // SAFETY: the kernel reads and writes one such structure, which lives during the call.
        done(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
        let taken = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
        // SAFETY: the argument is a number, no memory.
        done(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, taken) })?;
        Ok(Self { file })
    }

    /// The next packet, whole, if the buffer has [`PACKET_BYTES_MAX`]; `None`: there is none.
    ///
    /// # Errors
    /// The device is gone or down.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match retry_on_intr(|| rustix::io::read(&self.file, &mut *buffer)) {
            Ok(n) => Ok(Some(n)),
            Err(Errno::AGAIN) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Hands the kernel a packet as received from the wire.
    ///
    /// # Errors
    /// The device is gone or down, it is no packet, no memory.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        retry_on_intr(|| rustix::io::write(&self.file, packet))?;
        Ok(())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
