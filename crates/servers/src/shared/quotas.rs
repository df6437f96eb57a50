//! How much one address may have of the server: connections at once, requests per second, and wrong
//! passwords per minute.

use std::collections::HashMap;
use std::net::IpAddr;

use measure::Instant;

/// What one address may have; 0 is without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Connections at once.
    pub connections_max: u32,
    /// Requests per second, and as many at once.
    pub requests_per_s: u32,
}

/// Addresses that are remembered without a connection: a flood from more of them is no flood from
/// one, and 4 MiB are enough for it.
const IDLE_MAX: usize = 1 << 16;
const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_NS: u64 = 60 * SECOND_NS;

/// What addresses have. In two halves, the younger of which takes whoever is asked about; when it
/// is full the elder is forgotten, but for who is connected. So nobody is searched for.
#[derive(Debug)]
pub struct Quotas {
    /// 0 is without a limit.
    at_once_max: u32,
    rate: Rate,
    half_max: usize,
    young: HashMap<Key, Account>,
    old: HashMap<Key, Account>,
}

/// How often an address may ask.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// What one request costs of the time that is lent; nothing: all are free.
    pub(crate) share_ns: Option<u64>,
    pub(crate) lent_ns: u64,
}

/// An IPv4 address, or the /64 that one client of IPv6 has to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64, bool);

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    connections: u32,
    /// When it will have no debt: each request costs its share of the time that is lent at most
    /// (the generic cell rate algorithm of ITU-T I.371).
    even_at_ns: u64,
}

impl Key {
    /// Whom an address is counted with.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(u64::from(address.to_bits()), true),
            IpAddr::V6(address) => Self((address.to_bits() >> 64) as u64, false),
        }
    }

    /// The same as a word that is not 0. What it adds are /64 of ::/8, of which nobody has one
    /// (RFC 4291 section 2.4).
    pub(crate) const fn word(self) -> u64 {
        const OF_IPV4: u64 = 1 << 32;
        const OF_NONE: u64 = 2 << 32;
        match self {
            Self(address, true) => OF_IPV4 | address,
            Self(0, false) => OF_NONE,
            Self(network, false) => network,
        }
    }
}

impl Rate {
    /// So many a second, a second's worth of them at once; 0 is without a limit.
    #[must_use]
    pub fn per_second(requests: u32) -> Self {
        Self { share_ns: SECOND_NS.checked_div(requests.into()), lent_ns: SECOND_NS }
    }

    /// So many a minute, a minute's worth of them at once; 0 is without a limit.
    #[must_use]
    pub fn per_minute(requests: u32) -> Self {
        Self { share_ns: MINUTE_NS.checked_div(requests.into()), lent_ns: MINUTE_NS }
    }
}

impl Quotas {
    /// Nobody is there.
    #[must_use]
    pub fn new(quota: Quota) -> Self {
        Self::with_idle_max(quota, IDLE_MAX)
    }

    fn with_idle_max(quota: Quota, idle_max: usize) -> Self {
        let Quota { connections_max, requests_per_s } = quota;
        let (rate, half_max) = (Rate::per_second(requests_per_s), idle_max / 2);
        let (young, old) = (HashMap::new(), HashMap::new());
        Self { at_once_max: connections_max, rate, half_max, young, old }
    }

    /// So many at once of what is not for connections and requests, and so many a minute.
    #[must_use]
    pub fn per_minute(at_once_max: u32, per_min: u32) -> Self {
        Self { at_once_max, rate: Rate::per_minute(per_min), ..Self::new(Quota::default()) }
    }

    /// A connection comes; `false`: it has as many as it may.
    pub fn enters(&mut self, key: Key) -> bool {
        let most = self.at_once_max;
        let account = self.account(key);
        let may = most == 0 || account.connections < most;
        account.connections += u32::from(may);
        may
    }

    /// A connection that was let in has gone.
    pub fn leaves(&mut self, key: Key) {
        let account = self.account(key);
        account.connections = account.connections.saturating_sub(1);
    }

    /// A request comes; `false`: it has asked as often as it may.
    pub fn asks(&mut self, key: Key, now: Instant) -> bool {
        let Rate { share_ns: Some(share_ns), lent_ns } = self.rate else { return true };
        let account = self.account(key);
        let even_at_ns = account.even_at_ns.max(now.ns) + share_ns;
        let may = even_at_ns <= now.ns + lent_ns;
        if may {
            account.even_at_ns = even_at_ns;
        }
        may
    }

    /// A request that was let in does not count.
    pub fn gives_back(&mut self, key: Key) {
        let share_ns = self.rate.share_ns.unwrap_or_default();
        let account = self.account(key);
        account.even_at_ns = account.even_at_ns.saturating_sub(share_ns);
    }

    fn account(&mut self, key: Key) -> &mut Account {
        if self.young.len() >= self.half_max && !self.young.contains_key(&key) {
            let forgotten = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            let connected = forgotten.into_iter().filter(|(_, account)| account.connections > 0);
            for (key, account) in connected {
                self.old.entry(key).or_insert(account);
            }
        }
        let known = self.old.remove(&key);
        self.young.entry(key).or_insert_with(|| known.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_connected_is_never_forgotten_and_others_are() {
        let quota = Quota { connections_max: 2, requests_per_s: 4 };
        let mut quotas = Quotas::with_idle_max(quota, 8);
        let one = Key::of([192, 0, 2, 1].into());
        assert!(quotas.enters(one) && quotas.enters(one));
        for n in 0..100_u32 {
            assert!(quotas.asks(Key::of(IpAddr::from(n.to_be_bytes())), Instant::ORIGIN));
            assert!(quotas.young.len() + quotas.old.len() <= 9);
        }
        assert!(!quotas.enters(one));
    }
}
