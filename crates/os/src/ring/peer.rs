//! Who is at the other end of a connection, as the kernel writes it when it accepts.

use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// An address, and how long it is.
#[repr(C)]
pub(super) struct Peer {
    address: Address,
    length: libc::socklen_t,
}

/// Whoever wrote one says in its first field of which kind it is.
#[repr(C)]
union Address {
    any: libc::sockaddr_storage,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Peer {
    /// Room for one, where it stays.
    pub(super) fn new() -> Arc<Self> {
        // SAFETY: numbers and bytes, of which zeros are one.
        let any: libc::sockaddr_storage = unsafe { mem::zeroed() };
        let length = size_of_val(&any) as libc::socklen_t;
        Arc::new(Self { address: Address { any }, length })
    }

    /// Where the kernel writes.
    ///
    /// # Panics
    /// Somebody else has it, too.
    pub(super) fn pointers(this: &mut Arc<Self>) -> (*mut libc::sockaddr, *mut libc::socklen_t) {
        let this: *mut Self = Arc::get_mut(this).expect("nobody else has it yet");
        // SAFETY: it is alive, and only places in it are named.
        unsafe { ((&raw mut (*this).address).cast(), &raw mut (*this).length) }
    }

    /// The address; IPv4 as such, also when it came through a socket for both. `None` for others.
    pub(super) fn ip(&self) -> Option<IpAddr> {
        // SAFETY: every kind begins with it, and all bytes were zeros at first.
        let kind = unsafe { self.address.any.ss_family };
        match libc::c_int::from(kind) {
            libc::AF_INET => {
                // SAFETY: the kernel has written one of this kind; so below.
                let address = unsafe { self.address.v4.sin_addr.s_addr };
                Some(Ipv4Addr::from(u32::from_be(address)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: as above.
                let address = unsafe { self.address.v6.sin6_addr.s6_addr };
                Some(IpAddr::from(Ipv6Addr::from(address)).to_canonical())
            }
            _ => None,
        }
    }
}
