//! A share of those who knock: a filter on a listening socket that drops the other SYNs, before the
//! kernel holds anything for them (SO_ATTACH_FILTER, socket(7)). Linux lets every user attach one;
//! some machines let only root.
//!
//! Who is let in is a hash of the client's address and port: whoever is refused is refused again
//! when it tries again, and whoever is let in is let in at once. All packets but SYNs pass.

use std::io;
use std::os::fd::AsRawFd;

use libc::{SOL_SOCKET, sock_filter};

use crate::sharing::Descriptor;

/// Instructions that a filter has at most (BPF_MAXINSNS of linux/bpf_common.h).
const INSTRUCTIONS_MAX: usize = 4096;

/// What a SYN is, in the flags of a TCP header: that flag, and not ACK.
const FLAGS_AT: u32 = 13;
const SYN_AND_ACK: u32 = 0x12;
const SYN: u32 = 0x02;
/// Of those that a client takes its attempt back by.
const RST: u32 = 0x04;

/// The network header, from which addresses are read (linux/filter.h).
const NET: u32 = libc::SKF_NET_OFF as u32;
const VERSION_6: u32 = 0x60;
const SOURCE_4: u32 = NET + 12;
const SOURCE_6: u32 = NET + 8;

/// The finalizer of MurmurHash3: each bit of what goes in changes half of those that come out.
const MIX: [(u32, u32); 2] = [(16, 0x85eb_ca6b), (13, 0xc2b2_ae35)];
/// Odd, so that no two ports are the same behind it; from the golden ratio.
const SPREAD: u32 = 0x9e37_79b1;

const PASS: u32 = u32::MAX;
const DROP: u32 = 0;

/// Admits so many of 65,536 SYNs, chosen anew by each salt.
pub(super) fn program(admitted: u16, salt: u32) -> Vec<sock_filter> {
    use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K};
    use libc::{BPF_LD, BPF_MISC, BPF_MUL, BPF_RET, BPF_RSH, BPF_TAX, BPF_W, BPF_X, BPF_XOR};
    let step = |code: u32, k: u32| jump(code, k, 0, 0);
    let keep = step(BPF_MISC | BPF_TAX, 0);
    let mut program = vec![
        step(BPF_LD | BPF_B | BPF_ABS, FLAGS_AT),
        step(BPF_ALU | BPF_AND | BPF_K, SYN_AND_ACK),
        // Anything else goes on; a jump may be no longer than 255.
        jump(BPF_JMP | BPF_JEQ | BPF_K, SYN, 1, 0),
        step(BPF_RET | BPF_K, PASS),
        step(BPF_LD | BPF_B | BPF_ABS, NET),
        step(BPF_ALU | BPF_AND | BPF_K, 0xf0),
        jump(BPF_JMP | BPF_JEQ | BPF_K, VERSION_6, 2, 0),
        step(BPF_LD | BPF_W | BPF_ABS, SOURCE_4),
        jump(BPF_JMP | libc::BPF_JA, 10, 0, 0),
    ];
    program.push(step(BPF_LD | BPF_W | BPF_ABS, SOURCE_6));
    for word in 1..4 {
        program.push(keep);
        program.push(step(BPF_LD | BPF_W | BPF_ABS, SOURCE_6 + 4 * word));
        program.push(step(BPF_ALU | BPF_XOR | BPF_X, 0));
    }
    program.extend([
        keep,
        step(BPF_LD | BPF_H | BPF_ABS, 0),
        step(BPF_ALU | BPF_MUL | BPF_K, SPREAD),
        step(BPF_ALU | BPF_XOR | BPF_X, 0),
        step(BPF_ALU | BPF_XOR | BPF_K, salt),
    ]);
    for (shift, factor) in MIX {
        program.extend([
            keep,
            step(BPF_ALU | BPF_RSH | BPF_K, shift),
            step(BPF_ALU | BPF_XOR | BPF_X, 0),
            step(BPF_ALU | BPF_MUL | BPF_K, factor),
        ]);
    }
    program.extend([
        step(BPF_ALU | BPF_RSH | BPF_K, 16),
        jump(BPF_JMP | BPF_JGE | BPF_K, u32::from(admitted), 0, 1),
        step(BPF_RET | BPF_K, DROP),
        step(BPF_RET | BPF_K, PASS),
    ]);
    program
}

/// Lets everybody begin a handshake or give it up, and nobody end it.
pub(super) fn without_ends() -> Vec<sock_filter> {
    use libc::{BPF_ABS, BPF_B, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET};
    vec![
        jump(BPF_LD | BPF_B | BPF_ABS, FLAGS_AT, 0, 0),
        jump(BPF_JMP | BPF_JSET | BPF_K, SYN | RST, 0, 1),
        jump(BPF_RET | BPF_K, PASS, 0, 0),
        jump(BPF_RET | BPF_K, DROP, 0, 0),
    ]
}

/// From now on it judges, by that option of sockets, who knocks.
pub(super) fn attach(fd: &Descriptor, option: i32, program: &[sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        // The kernel only reads it.
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the program, of the length given, before the call returns.
    let done = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            SOL_SOCKET,
            option,
            std::ptr::from_ref(&filter).cast(),
            size_of_val(&filter) as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether there is a filter that is none of these, whatever they admit.
pub(super) fn is_others(fd: &Descriptor) -> io::Result<bool> {
    let mut found = vec![jump(0, 0, 0, 0); INSTRUCTIONS_MAX];
    let mut length = INSTRUCTIONS_MAX as libc::socklen_t;
    // SAFETY: of this option the length is in instructions, and as many are there to be written.
    let done = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            SOL_SOCKET,
            libc::SO_GET_FILTER,
            found.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    found.truncate(length as usize);
    let is_alike = |(ours, other): (&sock_filter, &sock_filter)| {
        (ours.code, ours.jt, ours.jf) == (other.code, other.jt, other.jf)
    };
    let ours = program(0, 0);
    let is_ours = found.len() == ours.len() && ours.iter().zip(&found).all(is_alike);
    Ok(!found.is_empty() && !is_ours)
}

pub(super) const fn jump(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}
