//! Who verifies passwords: threads of a worker that do nothing else, so that no loop, no helper and
//! no disk waits for a hash.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

use h1::{Lookup, Tag};
use measure::Instant;
use os::Wake;
use site::Verification;

use crate::shared::counters::{Counter, Counters};
use crate::shared::quotas::{Key, Quotas};

/// Each hash may take tens of MiB, and a processor is to be left for who serves.
pub(super) const THREADS_MAX: usize = 2;
/// Verifications that may wait for a thread. The last of them waits for 16 hashes: for 4 s at
/// bcrypt's cost 12 where the processors are idle, and more would outlast a client's patience.
pub(super) const WAITING_MAX: usize = 32;
/// Of these, those that one address asks for: three others find room beside it.
const OF_ADDRESS_MAX: u32 = WAITING_MAX as u32 / 4;
/// By how much they give way: a tenth of what who serves gets, where both want the same processor.
/// Not less: whoever holds a lock for a moment is to let go of it soon, and people log in under
/// overload, too.
const GIVES_WAY_BY: i32 = 10;
/// Stack of a thread: what a hash works on is mostly on the heap.
const STACK_BYTES: usize = 256 << 10;
/// Who has no address is one: a Unix socket tells none, and neither does who has reset its
/// connection, whose guesses would cost nothing. It is nobody's (RFC 1122 section 3.2.1.3).
pub(super) const NO_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Those of a worker, as one of its loops has them.
pub(crate) struct Verifiers {
    office: Arc<Office>,
    /// Where its verdicts lie.
    of_loop: usize,
    askers_max: usize,
    /// After which time an address that has failed too often may fail once more.
    retry_after_s: u32,
}

/// All who may ask: the threads end when the last of them has gone.
struct Office {
    desk: Arc<Desk>,
}

/// Where those who ask and the threads meet.
struct Desk {
    /// Never held while something is hashed: loops take it.
    cases: Mutex<Cases>,
    /// A case has come, or no more will.
    more: Condvar,
    /// That loop has a verdict.
    wakes: Vec<Arc<Wake>>,
    counters: Counters,
}

#[derive(Default)]
struct Cases {
    /// Which wait for a thread, in the order in which they came.
    waiting: VecDeque<Case>,
    /// With a thread each.
    begun: Vec<Case>,
    /// Of all cases.
    askers: usize,
    /// What each loop has not taken.
    verdicts: Vec<Vec<Verdict>>,
    /// Failures, and cases at the same time, of addresses; nothing: nobody counts them.
    addresses: Option<Quotas>,
    threads: usize,
    /// Of these, those that wait for a case.
    idle: usize,
    is_closed: bool,
}

/// A name and a password, and who waits to hear of them.
struct Case {
    of: Arc<Verification>,
    /// Who has asked first: whoever says the same while it is verified guesses nothing more.
    from: Key,
    askers: Vec<Asker>,
}

/// Who waits, and how.
enum Asker {
    /// A connection of that loop, which will take its verdict.
    Loop { of_loop: usize, token: u64, tag: Tag, lookup: Lookup },
    /// A thread, which does nothing else meanwhile.
    Thread(SyncSender<bool>),
}

/// For a connection of a loop.
pub(crate) struct Verdict {
    pub(crate) token: u64,
    pub(crate) tag: Tag,
    pub(crate) lookup: Lookup,
    pub(crate) lets_in: bool,
}

/// Why nothing is verified at present.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The address has failed as often as it may, or has as much on its way; when it may ask again.
    OfAddress { retry_after_s: u32 },
    /// Too many wait.
    Full,
    /// There is no thread, and none can be made.
    NoThread(io::Error),
}

impl Verifiers {
    /// No thread yet. An address may fail so often a minute (0: as often as it likes), and so many
    /// requests may wait for verdicts.
    ///
    /// # Errors
    /// No descriptor is left.
    pub(crate) fn new(
        failures_per_min: u32,
        askers_max: usize,
        counters: &Counters,
    ) -> io::Result<Self> {
        let addresses =
            (failures_per_min > 0).then(|| Quotas::per_minute(OF_ADDRESS_MAX, failures_per_min));
        let loops = 0..counters.loops();
        let verdicts = loops.clone().map(|_| Vec::new()).collect();
        let cases = Mutex::new(Cases { addresses, verdicts, ..Cases::default() });
        let wakes = loops.map(|_| Wake::new().map(Arc::new)).collect::<io::Result<_>>()?;
        let (more, counters) = (Condvar::new(), counters.clone());
        let office = Arc::new(Office { desk: Arc::new(Desk { cases, more, wakes, counters }) });
        let retry_after_s = retry_after_s(failures_per_min);
        Ok(Self { office, of_loop: 0, askers_max, retry_after_s })
    }

    /// The same as another loop has them.
    pub(crate) fn of_loop(&self, nth: usize) -> Self {
        let Self { askers_max, retry_after_s, .. } = *self;
        Self { office: Arc::clone(&self.office), of_loop: nth, askers_max, retry_after_s }
    }

    /// Becomes readable when the loop has a verdict.
    pub(crate) fn wake(&self) -> &Arc<Wake> {
        &self.office.desk.wakes[self.of_loop]
    }

    /// For a connection of a loop: a verdict will follow.
    ///
    /// # Errors
    /// None will.
    pub(crate) fn ask(
        &self,
        of: Verification,
        from: Option<IpAddr>,
        at: Instant,
        (token, tag, lookup): (u64, Tag, Lookup),
    ) -> Result<(), Refusal> {
        self.queue(of, from, at, Asker::Loop { of_loop: self.of_loop, token, tag, lookup })
    }

    /// For a thread: waits for the verdict.
    ///
    /// # Errors
    /// None will come.
    pub(crate) fn wait(
        &self,
        of: Verification,
        from: Option<IpAddr>,
        at: Instant,
    ) -> Result<bool, Refusal> {
        let (sender, verdict) = sync_channel(1);
        self.queue(of, from, at, Asker::Thread(sender))?;
        verdict.recv().map_err(|_| Refusal::Full)
    }

    /// What has fallen for connections of the loop.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        // First, so that what comes in between is told of again.
        self.wake().clear();
        mem::take(&mut self.office.desk.locked().verdicts[self.of_loop])
    }

    fn queue(
        &self,
        of: Verification,
        from: Option<IpAddr>,
        at: Instant,
        asker: Asker,
    ) -> Result<(), Refusal> {
        let desk = &self.office.desk;
        let mut cases = desk.locked();
        let is_new = cases.same(&of).is_none();
        if is_new && let Some(lets_in) = of.known(at) {
            // It fell after this one was looked up, and before the cases were locked.
            desk.tell(&mut cases, asker, lets_in);
            return Ok(());
        }
        if cases.askers >= self.askers_max || (is_new && cases.waiting.len() >= WAITING_MAX) {
            return Err(Refusal::Full);
        }
        if let Some(case) = cases.same(&of) {
            case.askers.push(asker);
        } else {
            let from = Key::of(from.unwrap_or(NO_ADDRESS));
            self.see_to_threads(&mut cases).map_err(Refusal::NoThread)?;
            self.admit(&mut cases, from, at)?;
            cases.waiting.push_back(Case { of: Arc::new(of), from, askers: vec![asker] });
            desk.more.notify_one();
        }
        cases.askers += 1;
        Ok(())
    }

    /// Whoever asks is taken to fail until the verdict says otherwise: otherwise many guesses at
    /// once would be as cheap as one.
    fn admit(&self, cases: &mut Cases, from: Key, at: Instant) -> Result<(), Refusal> {
        let Some(addresses) = &mut cases.addresses else { return Ok(()) };
        if !addresses.enters(from) {
            return Err(Refusal::OfAddress { retry_after_s: 1 });
        }
        if addresses.asks(from, at) {
            return Ok(());
        }
        addresses.leaves(from);
        Err(Refusal::OfAddress { retry_after_s: self.retry_after_s })
    }

    /// Makes another thread for a case that is to come, if all are busy and there may be more.
    fn see_to_threads(&self, cases: &mut Cases) -> io::Result<()> {
        if cases.idle > cases.waiting.len() || cases.threads >= THREADS_MAX {
            return Ok(());
        }
        let desk = Arc::clone(&self.office.desk);
        let thread = Builder::new().name(String::from("weir-verifier")).stack_size(STACK_BYTES);
        match thread.spawn(move || desk.verify_all()) {
            Ok(_) => cases.threads += 1,
            Err(e) if cases.threads == 0 => return Err(e),
            // What there is goes on.
            Err(_) => {}
        }
        Ok(())
    }
}

/// After which time an address that has failed too often may fail once more.
pub(super) fn retry_after_s(failures_per_min: u32) -> u32 {
    60_u32.div_ceil(failures_per_min.max(1))
}

impl Desk {
    /// A thread's life.
    fn verify_all(&self) {
        // Without that it is a thread like others.
        let _ = os::thread::give_way(GIVES_WAY_BY);
        while let Some(of) = self.begin() {
            let lets_in = of.verify();
            of.remember(lets_in, os::clock::monotonic());
            self.counters.count(Counter::Verifications);
            self.end(&of, lets_in);
        }
    }

    /// Waits for a case; nothing: no more will come.
    fn begin(&self) -> Option<Arc<Verification>> {
        let mut cases = self.locked();
        cases.idle += 1;
        let is_empty = |cases: &mut Cases| cases.waiting.is_empty() && !cases.is_closed;
        let waited = self.more.wait_while(cases, is_empty);
        cases = waited.unwrap_or_else(PoisonError::into_inner);
        cases.idle -= 1;
        let case = cases.waiting.pop_front()?;
        let of = Arc::clone(&case.of);
        cases.begun.push(case);
        Some(of)
    }

    /// Tells all who wait for a verdict.
    fn end(&self, of: &Arc<Verification>, lets_in: bool) {
        let mut cases = self.locked();
        let at = cases.begun.iter().position(|case| Arc::ptr_eq(&case.of, of));
        let case = cases.begun.swap_remove(at.expect("it was begun"));
        cases.askers -= case.askers.len();
        if let Some(addresses) = &mut cases.addresses {
            addresses.leaves(case.from);
            if lets_in {
                addresses.gives_back(case.from);
            }
        }
        case.askers.into_iter().for_each(|asker| self.tell(&mut cases, asker, lets_in));
    }

    fn tell(&self, cases: &mut Cases, asker: Asker, lets_in: bool) {
        match asker {
            Asker::Loop { of_loop, token, tag, lookup } => {
                let verdicts = &mut cases.verdicts[of_loop];
                verdicts.push(Verdict { token, tag, lookup, lets_in });
                if let [_] = verdicts[..] {
                    self.wakes[of_loop].wake();
                }
            }
            // It has room for one, and waits.
            Asker::Thread(sender) => drop(sender.try_send(lets_in)),
        }
    }

    // A thread that panicked has not left these half changed.
    fn locked(&self) -> MutexGuard<'_, Cases> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cases {
    /// That in which the same is verified already.
    fn same(&mut self, of: &Verification) -> Option<&mut Case> {
        let mut all = self.begun.iter_mut().chain(&mut self.waiting);
        all.find(|case| case.of.is_same(of))
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        self.desk.locked().is_closed = true;
        self.desk.more.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use h1::{Codings, Credentials, Shared, Status};
    use site::rules::{Effect, Host, Origin, Rule};
    use site::{Rules, Settings, Site};

    /// Of `secret`.
    const HASH: &str = "$2y$04$juphMykJHYIGv88W4iE/eOPYdm0q1k.fQ.rkp6yhkh9L4mbk1qBOi";

    fn site() -> Site {
        let users = vec![("x".into(), HASH.into())];
        let origin = Origin::flag("weir.toml");
        let rule = |effect| Rule { at: "/".into(), effect, origin: origin.clone() };
        let auth = rule(Effect::Auth { realm: "r".into(), users });
        let rules = vec![auth, rule(Effect::Answer(Status::GONE))];
        let rules = Rules { hosts: vec![Host { names: vec!["*".into()], rules }] };
        let settings = Settings { rules, ..Settings::default() };
        Site::new("/".as_ref(), &settings).expect("a site")
    }

    fn lookup(password: &str) -> Lookup {
        let said = Shared::from(format!("x:{password}").into_bytes());
        let (path, codings) = (Shared::from(*b"/"), Codings::default());
        Lookup { root: 0, path, codings, credentials: Some(Credentials(said)) }
    }

    /// Nobody takes a case but the test.
    fn verifiers(failures: u32, askers_max: usize) -> Verifiers {
        let counters = Counters::new(1).expect("memory");
        let verifiers = Verifiers::new(failures, askers_max, &counters).expect("a wake");
        verifiers.office.desk.locked().threads = THREADS_MAX;
        verifiers
    }

    /// Who asks, where, and what becomes of it: nothing if there will be a verdict.
    fn ask(verifiers: &Verifiers, site: &Site, from: u8, password: &str) -> Option<&'static str> {
        let lookup = lookup(password);
        let of = site.verification(&lookup).expect("it is to be verified");
        let from = (from > 0).then(|| IpAddr::from([192, 0, 2, from]));
        let asked = verifiers.ask(of, from, Instant::ORIGIN, (7, Tag(0), lookup));
        asked.err().map(|refusal| match refusal {
            Refusal::OfAddress { retry_after_s: 1 } => "wait",
            Refusal::OfAddress { .. } => "later",
            Refusal::Full => "full",
            Refusal::NoThread(_) => "no thread",
        })
    }

    fn verify(verifiers: &Verifiers) -> Vec<Verdict> {
        let of = verifiers.office.desk.begin().expect("a case");
        verifiers.office.desk.end(&of, of.verify());
        verifiers.verdicts()
    }

    #[test]
    fn an_address_has_a_quarter_of_the_places() {
        let (site, verifiers) = (site(), verifiers(30, 1000));
        for from in 1..=5 {
            for n in 0..9 {
                let expected = match (from, n) {
                    (5, _) | (4, 8) => Some("full"),
                    (_, 8) => Some("wait"),
                    _ => None,
                };
                let told = ask(&verifiers, &site, from, &format!("{from} {n}"));
                assert_eq!(told, expected, "{from} {n}");
            }
        }
        // Whoever says what is verified already takes no place.
        assert_eq!(ask(&verifiers, &site, 5, "1 0"), None);
        // Its first case is over, and there is one place.
        assert_eq!(verify(&verifiers).len(), 2);
        assert_eq!(ask(&verifiers, &site, 1, "again"), None);
        assert_eq!(ask(&verifiers, &site, 5, "again and again"), Some("full"));
    }

    #[test]
    fn only_wrong_passwords_count() {
        let (site, verifiers) = (site(), verifiers(2, 1000));
        let passwords = [("secret", true), ("a", false), ("secret", true), ("b", false)];
        for (password, lets_in) in passwords {
            assert_eq!(ask(&verifiers, &site, 1, password), None, "{password}");
            let verdict = verify(&verifiers).pop().expect("a verdict");
            assert_eq!((verdict.token, verdict.lets_in), (7, lets_in), "{password}");
        }
        assert_eq!(ask(&verifiers, &site, 1, "secret"), Some("later"));
        // They count from the moment when they are said, and once while they are verified.
        let asks = [("a", None), ("a", None), ("a", None), ("b", None), ("c", Some("later"))];
        for (password, expected) in asks {
            assert_eq!(ask(&verifiers, &site, 2, password), expected, "{password}");
        }
        verify(&verifiers);
        verify(&verifiers);
        // Of many who say the right one at once none is put off, and nothing is left of it.
        for _ in 0..3 {
            for _ in 0..9 {
                assert_eq!(ask(&verifiers, &site, 3, "secret"), None);
            }
            assert_eq!(verify(&verifiers).len(), 9);
        }
        // Without an address they are all one.
        for (password, expected) in [("c", None), ("d", None), ("e", Some("later"))] {
            assert_eq!(ask(&verifiers, &site, 0, password), expected, "{password}");
        }
    }

    /// Between the look into memory and the question others may have had their verdict.
    #[test]
    fn what_has_fallen_meanwhile_is_not_verified_again() {
        let (site, verifiers) = (site(), verifiers(1, 1000));
        let lets_in = [("secret", true), ("a", false)];
        for (password, lets_in) in lets_in {
            let of = site.verification(&lookup(password)).expect("it is to be verified");
            of.remember(lets_in, Instant::ORIGIN);
        }
        for (password, lets_in) in lets_in.into_iter().cycle().take(6) {
            assert_eq!(ask(&verifiers, &site, 1, password), None, "{password}");
            let verdicts = verifiers.verdicts();
            let told: Vec<_> = verdicts.iter().map(|verdict| verdict.lets_in).collect();
            assert_eq!(told, [lets_in], "{password}");
        }
        assert_eq!(verifiers.office.desk.locked().waiting.len(), 0);
    }

    #[test]
    fn no_more_wait_than_may() {
        let (site, verifiers) = (site(), verifiers(0, 3));
        let asks = [("a", None), ("a", None), ("b", None), ("a", Some("full"))];
        for (password, expected) in asks {
            assert_eq!(ask(&verifiers, &site, 1, password), expected, "{password}");
        }
        assert_eq!(verify(&verifiers).len(), 2);
        assert_eq!(ask(&verifiers, &site, 1, "b"), None);
    }
}
