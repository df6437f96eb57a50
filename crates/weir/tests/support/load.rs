//! A few clients that ask as fast as they are answered, and count how each request ended.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::PATIENCE;
use super::wire::Wire;

/// The pause of clients after each reply, where something else is to happen under load: it leaves
/// the processor to that.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// Clients that run until [`Load::stop`].
pub(crate) struct Load {
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

/// After so long a connection can be closed for another one: if it has sent no head, and if it has
/// sent no further request. A machine that is busy makes clients pause.
pub(crate) const HEAD_MIN: Duration = Duration::from_millis(2);
const IDLE_MIN: Duration = Duration::from_millis(100);

/// How requests ended.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Answered whole.
    pub(crate) answered: AtomicUsize,
    /// The connection ended before the first byte of a reply.
    pub(crate) unanswered: AtomicUsize,
    /// Of these, requests that were sent so late that their connections may have been closed for
    /// others.
    pub(crate) paused: AtomicUsize,
    /// The connection ended within a reply, or the reply was wrong.
    pub(crate) broken: AtomicUsize,
    /// No connection was to be had.
    pub(crate) refused: AtomicUsize,
}

impl Load {
    /// `clients` threads ask for `target` over and over; a new connection for each request, or one
    /// kept for as long as the server keeps it.
    pub(crate) fn start(to: SocketAddr, target: &'static str, clients: usize, keep: bool) -> Self {
        Self::paced(to, target, clients, (keep, Duration::ZERO))
    }

    /// The same with clients that pause after each reply, for a load that lasts.
    pub(crate) fn paced(
        to: SocketAddr,
        target: &'static str,
        clients: usize,
        (keep, pause): (bool, Duration),
    ) -> Self {
        let counts = Arc::new(Counts::default());
        let stop = Arc::new(AtomicBool::new(false));
        let clients = (0..clients)
            .map(|_| {
                let (counts, stop) = (Arc::clone(&counts), Arc::clone(&stop));
                std::thread::spawn(move || ask((to, target), (keep, pause), &counts, &stop))
            })
            .collect();
        Self { counts, stop, clients }
    }

    pub(crate) fn answered(&self) -> usize {
        self.counts.answered.load(Ordering::Relaxed)
    }

    /// Waits until more than `count` requests are answered. False if none is answered within
    /// `PATIENCE`: a slow machine may take as long as it needs for all of them.
    pub(crate) fn await_answered(&self, count: usize) -> bool {
        let (mut known, mut since) = (self.answered(), Instant::now());
        while known <= count {
            let now = self.answered();
            if now > known {
                (known, since) = (now, Instant::now());
            } else if since.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Lets every client finish the request it is at.
    pub(crate) fn stop(self) -> Arc<Counts> {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().expect("a client that does not panic");
        }
        self.counts
    }
}

impl Counts {
    pub(crate) fn of(count: &AtomicUsize) -> usize {
        count.load(Ordering::Relaxed)
    }

    /// Requests that were not answered, other than those whose connections may have been closed
    /// for others.
    pub(crate) fn lost(&self) -> usize {
        let not = [&self.unanswered, &self.broken, &self.refused].map(Self::of);
        not.iter().sum::<usize>() - Self::of(&self.paused)
    }
}

fn ask(
    (to, target): (SocketAddr, &str),
    (keep, pause): (bool, Duration),
    counts: &Counts,
    stop: &AtomicBool,
) {
    let add = |count: &AtomicUsize| {
        count.fetch_add(1, Ordering::Relaxed);
    };
    let fields = if keep { "" } else { "Connection: close\r\n" };
    while !stop.load(Ordering::Relaxed) {
        let (mut since, mut least) = (Instant::now(), HEAD_MIN);
        let Ok(mut wire) = Wire::connect(to, 0) else {
            add(&counts.refused);
            // A server that is gone refuses a million times a second.
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let mut kept = true;
        while kept && !stop.load(Ordering::Relaxed) {
            kept = false;
            let sent = wire.get(target, fields);
            let has_paused = since.elapsed() >= least;
            (since, least) = (Instant::now(), IDLE_MIN);
            let is_unanswered = || {
                add(&counts.unanswered);
                counts.paused.fetch_add(has_paused.into(), Ordering::Relaxed);
            };
            if sent.is_err() {
                is_unanswered();
                continue;
            }
            match wire.head() {
                Err(_) if wire.has_kept() => add(&counts.broken),
                Err(_) => is_unanswered(),
                Ok(head) => match head.length().and_then(|length| wire.bytes(length)) {
                    Ok(_) if head.status == 200 => {
                        add(&counts.answered);
                        kept = !head.closes();
                        std::thread::sleep(pause);
                    }
                    _ => add(&counts.broken),
                },
            }
        }
    }
}
