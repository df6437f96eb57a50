//! The listening sockets: at which address each listens, who accepts from it, and why nobody is
//! left waiting there.
//!
//! Where all workers accept from one socket the kernel wakes one of them for each connection that
//! comes: one of those that wait by epoll (EPOLLEXCLUSIVE), or have an accept in a ring. Nobody is
//! left waiting, because of the one that was woken one of these is true:
//!
//! - It accepts until nobody waits, or is told again in its next round, as long as somebody does
//!   and it looks at the socket.
//! - It ceases to look: it is full, the machine refuses it a connection, it is to end, its accepts
//!   are cancelled. It ceases first, so that from then on another is woken for who comes. Then it
//!   looks whether somebody waits, and if so it rings the [bell](Listening::bell).
//! - It dies. The supervisor, who buries it, rings the bell.
//!
//! The bell wakes one of those that look, in the same way as a connection does. That one silences
//! it and looks at the sockets anew, by which the first case or the second is true of it. While
//! nobody looks the bell goes on, and who begins to look hears it; the sockets tell him, too, who
//! waits there. What stands still does not wait, so that the kernel wakes another: a worker that
//! a signal has stopped, or that waits for a disk. With select and poll all are woken for each. All
//! generations of a program have one bell. Where another program has taken over, its workers do not
//! hear it: who is left waiting by the death of a worker that retires waits for the next who comes.
//!
//! A socket that is a worker's own (`--listener-queues own`) has no one else who could be woken:
//! whoever waits there waits for that worker, or for the one that is started in its place.

use std::ops::Index;
use std::sync::Arc;

use measure::Duration;
use os::{Listener, Wake};

use crate::shared::settings::Queues;

/// Those of a server, by their places.
pub struct Listening {
    sockets: Vec<Arc<Listener>>,
    /// Of each.
    places: Vec<Place>,
    bell: Arc<Wake>,
    /// Whether there may be several workers.
    are_several: bool,
}

/// Where a socket belongs.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// At which address of the settings it listens.
    address: usize,
    /// The one worker that accepts from it; none: all do.
    owner: Option<usize>,
}

impl Listening {
    /// Those of each address, in the order in which they began to listen, for so many workers. With
    /// queues of their own each worker has one at each address where that can be; what is left
    /// over, of a server before this one, is everybody's. With the bell of that server.
    pub(crate) fn new(
        addresses: Vec<Vec<Arc<Listener>>>,
        queues: Queues,
        workers: usize,
        bell: Arc<Wake>,
    ) -> Self {
        let (mut sockets, mut places) = (Vec::new(), Vec::new());
        for (address, all) in addresses.into_iter().enumerate() {
            let are_owned = queues == Queues::Own && workers > 1 && all.len() >= workers;
            for (n, listener) in all.into_iter().enumerate() {
                let owner = Some(n).filter(|n| are_owned && *n < workers);
                places.push(Place { address, owner });
                sockets.push(listener);
            }
        }
        Self { sockets, places, bell, are_several: workers > 1 }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// All of them, by their places.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Listener>> {
        self.sockets.iter()
    }

    /// The first of each address.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = &Arc<Listener>> {
        let address = |at: usize| self.places[at].address;
        let is_first = move |at: &usize| *at == 0 || address(at - 1) != address(*at);
        (0..self.len()).filter(is_first).map(|at| &self.sockets[at])
    }

    /// Those of one address, in the order in which they began to listen.
    pub(crate) fn at(&self, address: usize) -> impl Iterator<Item = &Arc<Listener>> {
        let all = self.sockets.iter().zip(&self.places);
        all.filter(move |(_, place)| place.address == address).map(|(listener, _)| listener)
    }

    /// The worker whose own a socket is.
    pub(crate) fn owner(&self, place: usize) -> Option<usize> {
        self.places[place].owner
    }

    /// The places of those that a worker accepts from.
    pub(crate) fn places_of(&self, worker: usize) -> impl Iterator<Item = usize> {
        let accepts = move |place: &Place| place.owner.is_none_or(|owner| owner == worker);
        (0..self.len()).filter(move |at| accepts(&self.places[*at]))
    }

    /// The places of a worker's own.
    pub(crate) fn own_places(&self, worker: usize) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |at| self.places[*at].owner == Some(worker))
    }

    /// Whether somebody may come to a worker's own.
    pub(crate) fn has_own(&self, worker: usize) -> bool {
        self.own_places(worker).any(|place| self.sockets[place].listens())
    }

    /// Whether there are sockets of a server before this one beside those of the workers.
    pub(crate) fn has_left_over(&self) -> bool {
        let are_owned = |address| {
            let mut all = self.places.iter().filter(move |place| place.address == address);
            all.clone().any(|place| place.owner.is_some()) && all.any(|place| place.owner.is_none())
        };
        self.places.iter().any(|place| are_owned(place.address))
    }

    /// Whether several workers accept from a socket.
    pub(crate) fn is_shared(&self, place: usize) -> bool {
        self.are_several && self.places[place].owner.is_none()
    }

    /// Rung where somebody waits of whom whoever was woken takes no notice; there where a worker
    /// accepts from a socket that others accept from, too.
    pub(crate) fn bell(&self, worker: usize) -> Option<&Arc<Wake>> {
        self.places_of(worker).any(|place| self.is_shared(place)).then_some(&self.bell)
    }

    /// That of all workers.
    pub(crate) const fn common_bell(&self) -> &Arc<Wake> {
        &self.bell
    }

    /// See the head of this file.
    pub(crate) fn ring(&self) {
        self.bell.wake();
    }

    /// A worker that looks no more leaves who waits to the others.
    pub(crate) fn leave_to_others(&self, worker: usize) {
        let shared = self.places_of(worker).filter(|place| self.is_shared(*place));
        let shared: Vec<_> = shared.map(|place| self.sockets[place].as_fd_ref()).collect();
        // Where it cannot be known somebody may wait.
        let waits = os::wait_readable(shared, Some(Duration::ZERO));
        if waits.is_ok_and(|waits| !waits.contains(&true)) {
            return;
        }
        self.ring();
    }

    /// Of the workers' own only those of the first so many get newcomers.
    pub(crate) fn share_out(&self, among: usize) {
        let others_listen = (0..self.len()).any(|place| {
            self.places[place].owner.is_some_and(|owner| owner >= among)
                && self.sockets[place].listens()
        });
        for (at, first) in self.sockets.iter().enumerate() {
            if self.places[at].owner != Some(0) {
                continue;
            }
            // Of what could not be told the kernel goes on to share out among all that listen.
            let _ = match others_listen {
                true => first.leave_out_from(among as u32),
                false => first.leave_out_none(),
            };
        }
    }
}

impl Index<usize> for Listening {
    type Output = Arc<Listener>;

    fn index(&self, place: usize) -> &Arc<Listener> {
        &self.sockets[place]
    }
}
