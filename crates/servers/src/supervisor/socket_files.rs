//! The files of Unix sockets: when who may connect changes, and when they go.

use os::{Address, Listener};

use crate::shared::server::Server;
use crate::supervisor::Supervisor;
use crate::supervisor::voice::Voice;

/// Gives the files of a server's sockets the mode and group of its settings, where an address is
/// another than those known before. Only when that server serves: one that fails to start has
/// changed nothing.
pub(super) fn set_access(server: &Server, known: &[Address], voice: &mut Voice<'_>) {
    for (at, address) in server.settings.listen.iter().enumerate() {
        for listener in server.listeners.at(at) {
            set_access_of(listener, address, known, voice);
        }
    }
}

/// The same of one socket.
pub(super) fn set_access_of(
    listener: &Listener,
    address: &Address,
    known: &[Address],
    voice: &mut Voice<'_>,
) {
    if known.contains(address) {
        return;
    }
    if let Err(e) = listener.set_access(address) {
        voice.warn(&format!("{address}: mode and group stay as they are: {e}; restart"));
    }
}

impl Supervisor<'_> {
    /// Removes all files, where no other program serves: after a start that has failed.
    pub(super) fn remove_files(&self) {
        if self.inheritance.is_some() {
            return;
        }
        let servers = self.generations.iter().map(|generation| &generation.server);
        servers.flat_map(|server| server.listeners.iter()).for_each(|of| of.remove_file());
        self.admin.remove_file();
    }
}
