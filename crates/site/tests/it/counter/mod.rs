//! A site with rules, asked over a connection: replies as clients get them.
#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use h1::{Connection, Date, Found, Loaded, Lookup, Miss, Now, Shared, Want};
use measure::Instant;
use site::rules::{Effect, Host, Origin, Place, Rule, Rules};
use site::{Error, Settings, Site};
use tempfile::TempDir;

pub struct Counter {
    pub site: Site,
    pub place: TempDir,
    pub now: Now,
    /// Passwords that were verified.
    pub verified: AtomicU32,
}

/// A day from now, so that files are long settled.
const A_DAY: u64 = 86_400;

impl Counter {
    /// `files` lie in one directory; `hosts` says what is made of it.
    pub fn new(files: &[(&str, &str)], hosts: impl FnOnce(&Path) -> Vec<Host>) -> Self {
        Self::with(files, hosts).unwrap()
    }

    /// The same, if it can be.
    pub fn with(
        files: &[(&str, &str)],
        hosts: impl FnOnce(&Path) -> Vec<Host>,
    ) -> Result<Self, Error> {
        let place = TempDir::new().unwrap();
        for (name, text) in files {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let settings = Settings {
            rules: Rules { hosts: hosts(place.path()) },
            accounts: place.path().join("passwd"),
            ..Settings::default()
        };
        let site = Site::new(Path::new("/no such root"), &settings)?;
        let date = Date::new(os::clock::wall_seconds() + A_DAY);
        let now = Now { at: Instant::from_ms(1), date };
        Ok(Self { site, place, now, verified: AtomicU32::default() })
    }

    /// Later by so much.
    pub fn wait_ms(&mut self, ms: u64) {
        self.now.at = self.now.at + measure::Duration::from_millis(ms);
    }

    /// The reply to a request, written with LF and without its end; lines of the reply end with LF,
    /// too. Dates and tags are left out.
    pub fn ask(&self, request: &str) -> String {
        self.ask_from(None, request)
    }

    /// The same from an address.
    pub fn ask_from(&self, source: Option<IpAddr>, request: &str) -> String {
        let mut connection = Connection::<os::File>::new(Shared::default(), self.now.at);
        let request = format!("{request}\n\n").replace('\n', "\r\n");
        connection.received(request.as_bytes(), &self.now);
        let mut reply = Vec::new();
        loop {
            match connection.want() {
                Want::Find(_, head) => {
                    let found = self.site.find(&head.sent_by(source), &self.now);
                    connection.found(found, &self.now);
                }
                Want::Load(_, Miss::Path(lookup)) => {
                    connection.loaded(self.load(lookup), &self.now);
                }
                Want::Load(..) => connection.loaded(Loaded::Pages, &self.now),
                Want::Send(chunk, part) => {
                    reply.extend_from_slice(chunk.bytes());
                    let mut sent = chunk.bytes().len() as u64;
                    if let Some(part) = part {
                        let mut bytes = vec![0; part.len() as usize];
                        assert_eq!(part.file.read_at(&mut bytes, part.at).unwrap(), bytes.len());
                        reply.extend(bytes);
                        sent += part.len();
                    }
                    connection.sent(sent, &self.now);
                }
                _ => break,
            }
        }
        let reply = String::from_utf8(reply).unwrap().replace("\r\n", "\n");
        let (head, content) = reply.split_once("\n\n").expect("a whole head");
        let dull = ["Date:", "Server:", "ETag:", "Last-Modified:", "Accept-Ranges:"];
        let told: Vec<_> =
            head.lines().filter(|line| !dull.iter().any(|name| line.starts_with(name))).collect();
        format!("{}\n\n{content}", told.join("\n"))
    }

    /// Lets in, or not, and loads.
    fn load(&self, lookup: Lookup) -> Loaded<os::File> {
        if let Some(verification) = self.site.verification(&lookup) {
            self.verified.fetch_add(1, Relaxed);
            let lets_in = verification.verify();
            verification.remember(lets_in, self.now.at);
            if !lets_in {
                return self.site.turn_down(&lookup);
            }
        }
        self.site.load(&Lookup { credentials: None, ..lookup }, &self.now)
    }

    /// The reply to a plain GET, which is the same a second time, from memory.
    pub fn get(&self, host: &str, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\nHost: {host}");
        let reply = self.ask(&request);
        assert_eq!(self.ask(&request), reply, "{host}{path} a second time");
        reply
    }

    /// Whether a request is answered from memory.
    pub fn is_hit(&self, request: &str) -> bool {
        !matches!(self.find(request), Found::Miss(_))
    }

    /// What memory has for a request.
    pub fn find(&self, request: &str) -> Found<os::File> {
        let mut connection = Connection::<os::File>::new(Shared::default(), self.now.at);
        let request = format!("{request}\n\n").replace('\n', "\r\n");
        connection.received(request.as_bytes(), &self.now);
        let Want::Find(_, head) = connection.want() else { panic!("{request} is not looked for") };
        self.site.find(&head, &self.now)
    }
}

/// A host and its rules, each with the number of its place as its line.
pub fn host(names: &[&str], rules: Vec<(&str, Effect)>) -> Host {
    let rule = |(n, (at, effect)): (usize, (&str, Effect))| {
        let origin = Origin {
            place: Some(Place { line: n as u32 + 1, column: 1 }),
            ..Origin::flag("weir.toml")
        };
        Rule { at: at.into(), effect, origin }
    };
    Host {
        names: names.iter().map(|&name| name.into()).collect(),
        rules: rules.into_iter().enumerate().map(rule).collect(),
    }
}

pub fn field(name: &str, value: &str) -> Effect {
    Effect::Field { name: name.into(), value: value.into() }
}

pub fn redirect(to: &str, status: u16) -> Effect {
    Effect::Redirect { to: to.into(), status: h1::Status(status) }
}

pub fn cors(origins: &[&str]) -> Effect {
    Effect::Cors { origins: origins.iter().map(|&origin| origin.into()).collect() }
}

pub fn types(types: &[(&str, &str)]) -> Effect {
    Effect::Types(types.iter().map(|&(ending, kind)| (ending.into(), kind.into())).collect())
}

pub fn error_page(status: u16, file: &str) -> Effect {
    Effect::ErrorPage { status: h1::Status(status), file: file.into() }
}

pub fn auth(realm: &str, users: &[(&str, &str)]) -> Effect {
    let users = users.iter().map(|&(name, hash)| (name.into(), hash.into())).collect();
    Effect::Auth { realm: realm.into(), users }
}

pub fn allow(networks: &[&str]) -> Effect {
    Effect::Allow(networks.iter().map(|network| network.parse().unwrap()).collect())
}

pub fn deny(networks: &[&str]) -> Effect {
    Effect::Deny(networks.iter().map(|network| network.parse().unwrap()).collect())
}
