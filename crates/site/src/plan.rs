//! From the operator's rules to rulings: everything that can be decided before a request comes.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use h1::{Head, Shared, Status};
use os::Directory;

use crate::guard::{Guard, Realm};
use crate::hosts::Hosts;
use crate::judge;
use crate::listing::Format;
use crate::mime::Types;
use crate::path;
use crate::redirect::Redirect;
use crate::rules::{Effect, Host, Rule, Rules};
use crate::ruling::{Files, Outcome, Page, Place, Ruling};
use crate::settings::Error;
use crate::sources::Sources;
use crate::zones::{Course, Zones};

/// Which ruling a request has.
pub(crate) struct Plan {
    rules: Rules,
    hosts: Hosts,
    /// For each host.
    courses: Vec<(Zones, Vec<Variants>)>,
}

/// The rulings of one course: for each origin that the rules tell apart, and within it for each
/// format of a listing.
struct Variants {
    first: u32,
    /// Those that may read replies, if the reply has to name one of them; the first variants are
    /// for all others.
    origins: Vec<String>,
    formats: &'static [Format],
}

/// A rule that no request ever meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreached<'p> {
    /// It.
    pub rule: &'p Rule,
    /// What answers all requests that it was written for.
    pub before: &'p Rule,
}

impl fmt::Display for Unreached<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (origin, before) = (&self.rule.origin, &self.before.origin);
        write!(f, "{origin}: no request meets this rule: ")?;
        write!(f, "that in {before} answers all of its paths before")
    }
}

/// Redirects in a row that browsers follow.
const REDIRECTS_MAX: usize = 20;

/// What a rule did to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It set something.
    Sets,
    /// It answered.
    Answers,
}

impl Plan {
    /// The plan and all its rulings.
    pub(crate) fn new(rules: Rules, index_files: &[String]) -> Result<(Self, Vec<Ruling>), Error> {
        let mut rulings = Vec::new();
        let mut courses = Vec::new();
        for host in &rules.hosts {
            let mut endings = BTreeSet::new();
            for rule in &host.rules {
                endings.extend(rule.ending());
                let judged = judge::rule(rule).and_then(|()| judge::endings(endings.len()));
                let judged = judged.and_then(|()| judge::host_of(rule, host));
                judged.map_err(|what| Error::of_rule(rule, what))?;
            }
            let zones = Zones::new(&host.rules, index_files);
            if let Some(rule) = host.rules.iter().find(|rule| leads_round(host, &zones, rule)) {
                let what = "leads back to itself without end; lead to where another rule answers";
                return Err(Error::of_rule(rule, what.into()));
            }
            let (guards, sources) = (HashMap::new(), HashMap::new());
            let mut drafts = Drafts { host, zones: &zones, guards, sources, rulings: &mut rulings };
            let variants = zones.courses().iter().map(|course| drafts.variants(course));
            let variants = variants.collect::<Result<_, _>>()?;
            courses.push((zones, variants));
        }
        let hosts = Hosts::new(&rules.hosts);
        Ok((Self { rules, hosts, courses }, rulings))
    }

    /// The place of the host that is asked for.
    pub(crate) fn host(&self, asked: &[u8]) -> Option<usize> {
        self.hosts.of(asked)
    }

    pub(crate) fn counted_hosts(&self) -> &[String] {
        self.hosts.counted()
    }

    pub(crate) fn host_number(&self, asked: &[u8]) -> u8 {
        self.hosts.of(asked).map_or(0, |place| self.hosts.number(place))
    }

    /// The place of the ruling for a path as [`path::translate`] gives it.
    pub(crate) fn ruling(&self, host: usize, path: &[u8], head: &Head<'_>) -> u32 {
        let (zones, variants) = &self.courses[host];
        let Variants { first, origins, formats } = &variants[zones.of(path)];
        let mut place = 0;
        if !origins.is_empty() {
            let mut asking = head.values("origin");
            if let (Some(origin), None) = (asking.next(), asking.next()) {
                let known = origins.iter().position(|known| known.as_bytes() == origin);
                place = known.map_or(0, |known| known + 1);
            }
        }
        place *= formats.len();
        if formats.len() > 1 && path.ends_with(b"/") {
            place += Format::preferred(head).place();
        }
        first + place as u32
    }

    /// The host that is asked for.
    pub(crate) fn host_named(&self, asked: &[u8]) -> Option<&Host> {
        Some(&self.rules.hosts[self.host(asked)?])
    }

    /// In written order.
    pub(crate) fn unreached(&self) -> impl Iterator<Item = Unreached<'_>> {
        self.rules.hosts.iter().zip(&self.courses).flat_map(|(host, (zones, _))| {
            let rule = |place: usize| &host.rules[place];
            let unreached = zones.unreached().into_iter();
            unreached.map(move |(it, before)| Unreached { rule: rule(it), before: rule(before) })
        })
    }

    /// The rules that a path has, in written order.
    pub(crate) fn explain(&self, asked: &[u8], path: &[u8]) -> Vec<(&Rule, Applied)> {
        let (Some(host), Ok(path)) = (self.host(asked), path::translate(path)) else {
            return Vec::new();
        };
        let rules = &self.rules.hosts[host].rules;
        let zones = &self.courses[host].0;
        let course = &zones.courses()[zones.of(&path)];
        let sets = course.sets.iter().map(|&place| (&rules[place], Applied::Sets));
        let answers = course.answers.map(|place| (&rules[place], Applied::Answers));
        sets.chain(answers).collect()
    }
}

/// The rulings of one host while they are made.
struct Drafts<'p> {
    host: &'p Host,
    zones: &'p Zones,
    /// By the rules that they are made of: whoever was let in once is let in wherever these hold.
    guards: HashMap<Vec<usize>, Arc<Guard>>,
    /// The same: there may be thousands of networks.
    sources: HashMap<Vec<usize>, Arc<Sources>>,
    rulings: &'p mut Vec<Ruling>,
}

/// What the rules of a course set.
struct Set<'p> {
    lines: String,
    pages: Vec<(Status, Page)>,
    sources: Option<Arc<Sources>>,
    guard: Option<Arc<Guard>>,
    fallback: Option<(Place, Shared<[u8]>)>,
    lists: bool,
    /// Whose pages may read replies; nobody has said: nothing.
    origins: Option<Vec<&'p str>>,
}

impl<'p> Drafts<'p> {
    fn variants(&mut self, course: &Course) -> Result<Variants, Error> {
        let set = self.set(course)?;
        let answers = course.answers.map(|place| &self.host.rules[place]);
        let is_of_files = matches!(
            answers.map(|rule| &rule.effect),
            Some(Effect::Root(_) | Effect::UserDirectories(_))
        );
        let formats: &[Format] = match set.lists && is_of_files {
            true => &Format::ALL,
            false => &[Format::USUAL],
        };
        let (origins, told_apart): (Vec<Option<&str>>, Vec<&str>) = match &set.origins {
            None => (vec![None], Vec::new()),
            Some(origins) if origins.contains(&"*") => (vec![Some("*")], Vec::new()),
            Some(origins) if origins.len() == 1 => (vec![Some(origins[0])], Vec::new()),
            Some(origins) => {
                let each = origins.iter().copied().map(Some);
                (std::iter::once(None).chain(each).collect(), origins.clone())
            }
        };
        let first = self.rulings.len() as u32;
        let count = origins.len() * formats.len();
        let mut fallbacks = Vec::new();
        for &origin in &origins {
            for &format in formats {
                let mut lines = set.lines.clone();
                if !told_apart.is_empty() {
                    lines += "Vary: Origin\r\n";
                }
                if let Some(origin) = origin {
                    lines += &format!("Access-Control-Allow-Origin: {origin}\r\n");
                    // What a reader of parts needs, by name, because the star stands for no field
                    // where credentials are sent (Fetch standard, section 3.3.3).
                    lines += "Access-Control-Expose-Headers: Accept-Ranges, Content-Encoding, \
                              Content-Range, ETag, *\r\n";
                }
                let ruling = |outcome, fallback| Ruling {
                    lines: lines.as_bytes().into(),
                    pages: set.pages.clone(),
                    sources: set.sources.clone(),
                    guard: set.guard.clone(),
                    fallback,
                    is_shared: origin.is_some(),
                    outcome,
                };
                let listing = (formats.len() > 1).then_some(format);
                let fallback =
                    set.fallback.as_ref().filter(|_| is_of_files).map(|(place, path)| {
                        let root = first as usize + count + fallbacks.len();
                        fallbacks.push(ruling(Outcome::Files(place.clone()), None));
                        (root as u32, Shared::clone(path))
                    });
                self.rulings.push(ruling(outcome(self.host, course, listing), fallback));
            }
        }
        self.rulings.append(&mut fallbacks);
        let origins = told_apart.into_iter().map(String::from).collect();
        Ok(Variants { first, origins, formats })
    }

    fn set(&mut self, course: &Course) -> Result<Set<'p>, Error> {
        let mut set = Set {
            lines: String::new(),
            pages: Vec::new(),
            sources: None,
            guard: None,
            fallback: None,
            lists: false,
            origins: None,
        };
        let (mut realms, mut doors) = (Vec::new(), Vec::new());
        for &place in &course.sets {
            let rule = &self.host.rules[place];
            match &rule.effect {
                Effect::Listing(lists) => set.lists = *lists,
                Effect::Fallback(file) => set.fallback = Some(self.file(rule, file)?),
                Effect::ErrorPage { status, file } => {
                    let (place, path) = self.file(rule, file)?;
                    set.pages.push((*status, page(rule, file, &place, &path)?));
                }
                Effect::Field { name, value } => set.lines += &format!("{name}: {value}\r\n"),
                Effect::Cors { origins } => {
                    let all = set.origins.get_or_insert_default();
                    all.extend(origins.iter().map(String::as_str));
                    all.sort_unstable();
                    all.dedup();
                    judge::origins(all.len()).map_err(|what| Error::of_rule(rule, what))?;
                }
                Effect::Auth { .. } => realms.push(place),
                Effect::Allow(_) | Effect::Deny(_) => doors.push(place),
                _ => {}
            }
        }
        set.sources = self.sources(doors)?;
        set.guard = self.guard(realms)?;
        Ok(set)
    }

    fn guard(&mut self, places: Vec<usize>) -> Result<Option<Arc<Guard>>, Error> {
        if let Some(guard) = self.guards.get(&places) {
            return Ok(Some(Arc::clone(guard)));
        }
        let mut realms = Vec::new();
        for &place in &places {
            let rule = &self.host.rules[place];
            if let Effect::Auth { realm, users } = &rule.effect {
                let realm = Realm::new(realm, users).map_err(|what| Error::of_rule(rule, what))?;
                realms.push(realm);
            }
        }
        if realms.is_empty() {
            return Ok(None);
        }
        let guard = Arc::new(Guard::new(realms));
        self.guards.insert(places, Arc::clone(&guard));
        Ok(Some(guard))
    }

    /// Whom all of these rules let in.
    fn sources(&mut self, places: Vec<usize>) -> Result<Option<Arc<Sources>>, Error> {
        if places.is_empty() {
            return Ok(None);
        }
        if let Some(sources) = self.sources.get(&places) {
            return Ok(Some(Arc::clone(sources)));
        }
        let rule = |place: &usize| &self.host.rules[*place];
        let sources = Sources::of(places.iter().map(|place| &rule(place).effect));
        if let (None, Some(last)) = (sources.someone(), places.last()) {
            let told = "lets nobody in, together with the rules before it";
            let told = format!("{told}; {}", judge::INSTEAD_OF_NOBODY);
            return Err(Error::of_rule(rule(last), told));
        }
        let sources = Arc::new(sources);
        self.sources.insert(places, Arc::clone(&sources));
        Ok(Some(sources))
    }

    /// Where a file of this host is. Who may read it does not matter: the operator names it.
    fn file(&self, rule: &Rule, file: &str) -> Result<(Place, Shared<[u8]>), Error> {
        let refused = |what: String| Error::of_rule(rule, what);
        let path = path::translate(file.as_bytes()).map_err(|status| match status {
            Status::NOT_FOUND => {
                refused(format!("{file} is hidden by a dot; give it another name"))
            }
            _ => refused(format!("{file} is no path of a file; begin it with a slash")),
        })?;
        let course = &self.zones.courses()[self.zones.of(&path)];
        match outcome(self.host, course, None) {
            Outcome::Files(place) if matches!(place.files, Files::Beneath(..)) => {
                let beneath = Shared::from(&path[place.at.len()..]);
                Ok((place, beneath))
            }
            _ => Err(refused(format!(
                "{file} is not beneath a root of this host; name a file that is"
            ))),
        }
    }
}

/// Whether who asks for a rule's prefix is led on and on within this host.
fn leads_round(host: &Host, zones: &Zones, rule: &Rule) -> bool {
    let mut path = rule.at.as_bytes().to_vec();
    let course = |path: &[u8]| &zones.courses()[zones.of(path)];
    let answers = course(&path).answers.map(|place| &host.rules[place]);
    if !matches!(rule.effect, Effect::Redirect { .. }) || answers != Some(rule) {
        return false;
    }
    for _ in 0..REDIRECTS_MAX {
        let Outcome::Redirect(redirect) = outcome(host, course(&path), None) else { return false };
        let location = redirect.location(b"host", &path);
        // Two slashes name another host.
        let is_here = location.starts_with(b"/") && !location.starts_with(b"//");
        let end = location.iter().position(|byte| b"?#".contains(byte)).unwrap_or(location.len());
        match path::translate(&location[..end]) {
            Ok(next) if is_here => path = next.into_owned(),
            _ => return false,
        }
    }
    true
}

fn outcome(host: &Host, course: &Course, listing: Option<Format>) -> Outcome {
    let Some(place) = course.answers else { return Outcome::default() };
    let rule = &host.rules[place];
    let mut at = Vec::new();
    for segment in crate::zones::segments(rule.at.as_bytes()) {
        at.push(b'/');
        at.extend_from_slice(segment);
    }
    let files = match &rule.effect {
        Effect::Root(root) => Files::Beneath(absolute(root), follows(host, course)),
        Effect::UserDirectories(name) => Files::OfUsers(name.clone()),
        Effect::Redirect { to, status } => {
            let redirect = Redirect::new(at.len(), to, *status);
            return redirect.map_or_else(|_| Outcome::default(), Outcome::Redirect);
        }
        Effect::Answer(status) => return Outcome::Answer(*status),
        _ => return Outcome::default(),
    };
    let clean_urls = course.sets.iter().rev().find_map(|&place| match host.rules[place].effect {
        Effect::CleanUrls(are_clean) => Some(are_clean),
        _ => None,
    });
    let clean_urls = clean_urls.unwrap_or(false);
    let types = course.sets.iter().filter_map(|&place| match &host.rules[place].effect {
        Effect::Types(types) => Some(&types[..]),
        _ => None,
    });
    let (siblings, types) = (!course.is_alone, Types::new(types));
    Outcome::Files(Place { at, files, listing, siblings, clean_urls, types })
}

/// Where links may lead: the last rule that says so holds.
fn follows(host: &Host, course: &Course) -> Arc<[PathBuf]> {
    let said = course.sets.iter().rev().find_map(|&place| match &host.rules[place].effect {
        Effect::FollowLinks(places) => Some(places),
        _ => None,
    });
    said.into_iter().flatten().map(|place| absolute(place)).collect()
}

/// A process may change its directory later.
fn absolute(root: &Path) -> PathBuf {
    std::path::absolute(root).unwrap_or_else(|_| root.to_path_buf())
}

/// Reads the content of an error; a later change shows with the next reload.
fn page(rule: &Rule, file: &str, place: &Place, path: &[u8]) -> Result<Page, Error> {
    let Files::Beneath(root, follows) = &place.files else {
        unreachable!("a file is beneath a root")
    };
    let name = path.strip_prefix(b"/").unwrap_or(path);
    let opened = Directory::open(root).and_then(|root| root.following(follows).open_beneath(name));
    judge::page(opened, file)
        .map_err(|what| Error::of_rule(rule, what))
        .map(|content| Page { media_type: place.types.of(path).text, content })
}
