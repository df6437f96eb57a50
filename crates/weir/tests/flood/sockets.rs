//! Each listening socket has an admission of its own, and some are somebody else's.

use std::os::fd::AsRawFd;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::server::Server;
use crate::{Crowd, admits_all, await_flood, flags, on_each_architecture};

/// A socket that was lent outlives the server, and so would what was set for it.
#[test]
fn a_lent_socket_is_given_back_as_it_was() {
    let site = Fixture::new();
    on_each_architecture(|combination| {
        let lent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = lent.local_addr().expect("an address");
        rustix::io::fcntl_setfd(&lent, rustix::io::FdFlags::empty()).expect("set");
        let root = site.root();
        let arguments = combination.arguments(&root, &flags(combination));
        let listen = format!("fd:{}", lent.as_raw_fd());
        let is_port = |argument: &String| argument == "127.0.0.1:0";
        let at = arguments.iter().position(is_port).expect("--listen");
        let mut command = Command::new(combination.program.path());
        command.args(&arguments[..at]).arg(listen).args(&arguments[at + 1..]);
        let mut server = Server::start(command, 0);
        let admin = server.await_admin();
        let crowd = Crowd::new(address);
        await_flood(combination, admin);
        drop(crowd);
        server.stop();
        assert!(admits_all(address), "{combination}: some are refused");
    });
}
