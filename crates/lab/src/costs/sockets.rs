//! Connections over loopback, of which both ends are this process's.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::str::FromStr;

use os::{Address, Blocking, Listener, Socket};

use super::{Place, timed};

/// Connections of a batch, and calls on each connection of it.
const MANY: usize = 64;
const REQUEST: [u8; 100] = [b'x'; 100];
const REPLY: [u8; 300] = [b'x'; 300];

/// Somebody who listens, and where.
struct Host(Listener, SocketAddr);

/// Both ends.
struct Pair {
    server: Socket,
    client: TcpStream,
}

impl Host {
    fn new() -> io::Result<Self> {
        let any = Address::Inet(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let listener = Listener::bind(&any, MANY as u32)?;
        let address = SocketAddr::from_str(&listener.local_address()?);
        Ok(Self(listener, address.map_err(io::Error::other)?))
    }

    fn clients(&self) -> io::Result<Vec<TcpStream>> {
        (0..MANY).map(|_| TcpStream::connect(self.1)).collect()
    }

    fn accept(&self) -> io::Result<Socket> {
        self.0.accept(Blocking::No)
    }

    fn pairs(&self) -> io::Result<Vec<Pair>> {
        let clients = self.clients()?.into_iter();
        clients.map(|client| Ok(Pair { server: self.accept()?, client })).collect()
    }
}

pub(super) fn accept(_: &Place) -> io::Result<f64> {
    let host = Host::new()?;
    let accepted = |clients: Vec<TcpStream>| {
        let servers: Vec<Socket> =
            clients.iter().map(|_| host.accept()).collect::<io::Result<_>>()?;
        Ok((servers, clients))
    };
    timed(MANY, || host.clients(), accepted)
}

pub(super) fn accept_empty(_: &Place) -> io::Result<f64> {
    let host = Host::new()?;
    timed(MANY, || Ok(()), |()| (0..MANY).try_for_each(|_| blocked(host.accept().map(|_| ()))))
}

pub(super) fn receive(_: &Place) -> io::Result<f64> {
    let pairs = Host::new()?.pairs()?;
    let ask = || pairs.iter().try_for_each(|Pair { client, .. }| (&*client).write_all(&REQUEST));
    timed(MANY, ask, |()| {
        let mut buffer = [0; 4096];
        pairs.iter().try_for_each(|pair| pair.server.recv(&mut buffer).map(|_| ()))
    })
}

pub(super) fn receive_empty(_: &Place) -> io::Result<f64> {
    let pairs = Host::new()?.pairs()?;
    timed(
        MANY,
        || Ok(()),
        |()| {
            let mut buffer = [0; 4096];
            pairs.iter().try_for_each(|pair| blocked(pair.server.recv(&mut buffer).map(|_| ())))
        },
    )
}

/// On each connection, of which the last reply was read by its client.
pub(super) fn send(_: &Place) -> io::Result<f64> {
    let pairs = Host::new()?.pairs()?;
    let mut sent = 0;
    let read = || {
        sent += 1;
        if sent == 1 {
            return Ok(());
        }
        let mut buffer = [0; REPLY.len()];
        pairs.iter().try_for_each(|Pair { client, .. }| (&*client).read_exact(&mut buffer))
    };
    timed(MANY, read, |()| {
        pairs.iter().try_for_each(|pair| pair.server.send(&REPLY, false).map(|_| ()))
    })
}

pub(super) fn close(_: &Place) -> io::Result<f64> {
    let host = Host::new()?;
    let left = || Ok(host.pairs()?.into_iter().map(|pair| pair.server).collect::<Vec<_>>());
    timed(MANY, left, |servers| {
        drop(servers);
        Ok(())
    })
}

/// What is to find nothing.
fn blocked(of: io::Result<()>) -> io::Result<()> {
    match of {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(e) => Err(e),
        Ok(()) => Err(io::Error::other("something was there")),
    }
}
