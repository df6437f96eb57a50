//! Who may read: names and passwords (RFC 7617).

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use argon2::{Argon2, PasswordVerifier};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use h1::{Credentials, Head, Now, Shared};
use measure::Instant;

/// How long a verdict holds without anything being verified again. A hash is made to take tens of
/// ms; a page has dozens of parts, and who has a wrong password may say it as often.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);
/// Verdicts of one kind remembered at most; beyond that all of the kind are forgotten.
const REMEMBERED_MAX: usize = 4096;
/// See [`cost`]: about three seconds, which bcrypt takes at 16.
const COST_MAX: u64 = 1 << 16;

/// All that must let a client in before a path is looked at.
pub(crate) struct Guard {
    realms: Vec<Realm>,
    keys: [RandomState; 2],
    let_in: Mutex<Verdicts>,
    /// By themselves: who guesses makes nobody's right password be forgotten.
    refused: Mutex<Verdicts>,
}

/// When verdicts of one kind fell.
#[derive(Default)]
struct Verdicts(HashMap<Key, Instant>);

/// Of credentials: two keyed hashes that no client knows, so that none can make one that is here
/// already.
type Key = (u64, u64);

/// One rule that asks for a name and a password.
#[derive(Debug)]
pub(crate) struct Realm {
    name: String,
    /// At least one.
    users: Vec<(String, String)>,
}

/// What a request's credentials are worth, as far as memory knows.
pub(crate) enum Worth {
    /// Verified within the last minute.
    Admitted,
    /// To be verified, which takes long.
    Unverified(Credentials),
    /// There are none, or none that anybody could have sent in earnest, or they were found wrong
    /// within the last minute.
    Refused,
}

/// A name and a password that nobody has verified of late: for whoever may take long.
pub struct Verification {
    guard: Arc<Guard>,
    credentials: Credentials,
    key: Key,
}

impl Verification {
    pub(crate) fn new(guard: Arc<Guard>, credentials: Credentials) -> Self {
        let key = guard.key(&credentials);
        Self { guard, credentials, key }
    }

    /// Whether they let in. Takes tens of ms and up to tens of MiB, also for a name that there is
    /// not.
    #[must_use]
    pub fn verify(&self) -> bool {
        self.guard.verify(&self.credentials)
    }

    /// The verdict, for who says the same within the next minute.
    pub fn remember(&self, lets_in: bool, at: Instant) {
        let verdicts = if lets_in { &self.guard.let_in } else { &self.guard.refused };
        lock(verdicts).add(self.key, at);
    }

    /// The verdict that has fallen meanwhile.
    #[must_use]
    pub fn known(&self, now: Instant) -> Option<bool> {
        self.guard.known(&self.key, now)
    }

    /// Whether the verdict of the other is also that of this one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.guard, &other.guard) && self.key == other.key
    }
}

impl Guard {
    pub(crate) fn new(realms: Vec<Realm>) -> Self {
        let keys = [RandomState::new(), RandomState::new()];
        Self { realms, keys, let_in: Mutex::default(), refused: Mutex::default() }
    }

    /// Reads memory only.
    pub(crate) fn worth(&self, head: &Head<'_>, now: &Now) -> Worth {
        let Some(credentials) = credentials(head) else { return Worth::Refused };
        let key = self.key(&credentials);
        match self.known(&key, now.at) {
            Some(true) => Worth::Admitted,
            Some(false) => Worth::Refused,
            None => Worth::Unverified(credentials),
        }
    }

    fn known(&self, key: &Key, now: Instant) -> Option<bool> {
        let is_in = |verdicts: &Mutex<Verdicts>| lock(verdicts).has(key, now);
        if is_in(&self.let_in) { Some(true) } else { is_in(&self.refused).then_some(false) }
    }

    /// Whether every realm lets these in.
    fn verify(&self, credentials: &Credentials) -> bool {
        let Some(colon) = credentials.0.iter().position(|&byte| byte == b':') else { return false };
        let (name, password) = (&credentials.0[..colon], &credentials.0[colon + 1..]);
        let instead = self.keys[0].hash_one(name) as usize;
        self.realms.iter().fold(true, |all, realm| realm.admits(name, password, instead) & all)
    }

    /// The field that asks for credentials, its CRLF included. The last realm is the innermost.
    pub(crate) fn challenge(&self) -> String {
        let name = self.realms.last().map_or("", |realm| &realm.name);
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        format!("WWW-Authenticate: Basic realm=\"{name}\", charset=\"UTF-8\"\r\n")
    }

    fn key(&self, credentials: &Credentials) -> Key {
        let [one, other] = &self.keys;
        (one.hash_one(&credentials.0), other.hash_one(&credentials.0))
    }
}

impl Verdicts {
    fn has(&self, key: &Key, now: Instant) -> bool {
        self.0.get(key).is_some_and(|fell| now.since(*fell) < REMEMBERED_FOR)
    }

    fn add(&mut self, key: Key, now: Instant) {
        if self.0.len() >= REMEMBERED_MAX {
            self.0.retain(|_, fell| now.since(*fell) < REMEMBERED_FOR);
        }
        if self.0.len() >= REMEMBERED_MAX {
            self.0.clear();
        }
        self.0.insert(key, now);
    }
}

impl Realm {
    /// # Errors
    /// What the operator has to mend.
    pub(crate) fn new(name: &str, users: &[(String, String)]) -> Result<Self, String> {
        if name.chars().any(char::is_control) {
            return Err("the realm has a control character; leave that out".into());
        }
        if users.is_empty() {
            return Err("nobody may come in; name a user and the hash of a password".into());
        }
        for (name, hash) in users {
            if name.is_empty() || name.contains(|c: char| c == ':' || c.is_control()) {
                return Err(format!("{name:?} is no name of a user: it must not hold a colon"));
            }
            match cost(hash) {
                Some(cost) if cost <= COST_MAX => {}
                Some(_) => {
                    return Err(format!(
                        "the password of {name} would take many seconds to verify, and so would \
                         each guess; make a hash that costs less"
                    ));
                }
                None => {
                    return Err(format!(
                        "what stands for {name} is no hash of a password; make one with \
                         `argon2` ($argon2id$...) or `htpasswd -nB` ($2y$...)"
                    ));
                }
            }
        }
        Ok(Self { name: name.into(), users: users.to_vec() })
    }

    /// For a name that there is not, some user's hash is verified all the same, so that the time
    /// tells nothing: `instead` says whose, for the same name always the same, because hashes of
    /// several kinds take several times.
    fn admits(&self, name: &[u8], password: &[u8], instead: usize) -> bool {
        let mut found = None;
        for (user, hash) in &self.users {
            if is_same(user.as_bytes(), name) {
                found = Some(hash);
            }
        }
        let hash = found.unwrap_or(&self.users[instead % self.users.len()].1);
        is_of(hash, password) & found.is_some()
    }
}

/// The credentials of a request that has exactly one such field of the scheme `Basic`, without
/// control characters (RFC 7617 section 2): to bcrypt a NUL would make one password another.
#[must_use]
pub fn credentials(head: &Head<'_>) -> Option<Credentials> {
    let mut values = head.values("authorization");
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, encoded) = value.split_at_checked(6)?;
    if !scheme.eq_ignore_ascii_case(b"basic ") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim_ascii()).ok()?;
    let is_text = !decoded.iter().any(u8::is_ascii_control);
    (is_text && decoded.contains(&b':')).then(|| Credentials(Shared::from(decoded)))
}

fn is_of(hash: &str, password: &[u8]) -> bool {
    if hash.starts_with(BCRYPT) {
        // Also what is refused for its length takes as long as the others.
        bcrypt::verify(password, hash).unwrap_or(false) && password.len() <= BCRYPT_BYTES_MAX
    } else {
        Argon2::default().verify_password(password, hash).is_ok()
    }
}

/// What all forms of bcrypt's hashes begin with.
const BCRYPT: &str = "$2";

/// It looks at no more of a password, and would take any that begins alike.
const BCRYPT_BYTES_MAX: usize = 72;

/// How long a hash takes to be verified, in steps of about 50 us; nothing: it is none that is known
/// here.
fn cost(hash: &str) -> Option<u64> {
    if hash.starts_with(BCRYPT) {
        let parts: bcrypt::HashParts = hash.parse().ok()?;
        return 1_u64.checked_shl(parts.get_cost());
    }
    let parsed = argon2::PasswordHash::new(hash).ok()?;
    argon2::Algorithm::try_from(parsed.algorithm.as_str()).ok()?;
    let params = argon2::Params::try_from(&parsed).ok()?;
    let is_whole = parsed.salt.is_some() && parsed.hash.is_some();
    // KiB in a pass: some 60 of them in a step.
    let kib = u64::from(params.m_cost()) * u64::from(params.t_cost());
    is_whole.then_some(kib / 60)
}

/// Looks at all bytes whatever the first ones say. Lengths may show: those of names do elsewhere.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |any, (one, other)| any | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As htpasswd(1), argon2(1) and old crypt(3) write them.
    #[test]
    fn hashes_of_others() {
        let rows = [
            ("$2y$04$hu20WBVkT9jG6AItIAcHquC94RQTA6DfsCtkxTtNCrZpcSj1eIMZG", true),
            ("$2y$17$hu20WBVkT9jG6AItIAcHquC94RQTA6DfsCtkxTtNCrZpcSj1eIMZG", false),
            ("$2y$04$tooshort", false),
            (
                "$argon2id$v=19$m=4194304,t=2,p=1$c29tZXNhbHQ$RdescudvJCsgt3ub+b4dWRWJTmaaJObG",
                false,
            ),
            ("$argon2id$v=19$m=16,t=2,p=1$c29tZXNhbHQ$", false),
            ("$argon2id$v=19$m=16,t=2,p=1$c29tZXNhbHQ", false),
            ("$apr1$salt$hash", false),
            ("$5$salt$hash", false),
            ("secret", false),
            ("", false),
        ];
        for (hash, is_one) in rows {
            let realm = Realm::new("r", &[("x".into(), hash.into())]);
            assert_eq!(realm.is_ok(), is_one, "{hash}");
            assert!(!is_one || realm.is_ok_and(|realm| realm.admits(b"x", b"secret", 0)), "{hash}");
        }
    }
}
