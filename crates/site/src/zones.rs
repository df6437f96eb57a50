//! Which rules a path has.
//!
//! Prefixes that one path has lie within each other, so the longest of them names them all: rules
//! are applied to prefixes once, when the site is made, and not to each path. Where rules ask for
//! endings, they are applied once for each kind of last segment, too.

use std::collections::{BTreeSet, HashMap};

use crate::kinds::{Kind, Kinds, OTHER};
use crate::names::{self, Names};
use crate::rules::{Effect, Rule};

/// The prefixes of a host's rules as a tree of segments; the first zone is that of `/`.
pub(crate) struct Zones {
    zones: Vec<Zone>,
    kinds: Kinds,
    courses: Vec<Course>,
}

/// Paths that have the same prefixes.
#[derive(Default)]
struct Zone {
    /// By the next segment, sorted.
    children: Vec<(Box<[u8]>, usize)>,
    /// The zone around it, and what leads from there to here; the first has none.
    within: Option<(usize, Box<[u8]>)>,
    /// Places of the rules with this very prefix and no ending.
    rules: Vec<usize>,
    /// Places of rules for a file that is shown under this prefix, too.
    implied: Vec<usize>,
    /// One of the siblings of its file has a rule of its own.
    is_alone: bool,
    /// Places of the rules with this very prefix and an ending, with that and then all others that
    /// they hold for.
    by_ending: Vec<(usize, Vec<Vec<u8>>)>,
    /// Endings of names whose siblings have rules of their own.
    alone: Vec<Vec<u8>>,
    /// The place of the course of the path that is this prefix and nothing more.
    itself: usize,
    /// Those of all longer paths, by the kind of their last segment, and by whether their next
    /// segment is a user's.
    beneath: Vec<[usize; 2]>,
}

/// What happens to all paths of a zone that end in a segment of one kind.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Course {
    /// Places of the rules that apply and set something, in written order.
    pub(crate) sets: Vec<usize>,
    /// The place of the rule that answers.
    pub(crate) answers: Option<usize>,
    /// No sibling is shown in a file's place: it may be closed where the file is open.
    pub(crate) is_alone: bool,
}

impl Zones {
    pub(crate) fn new(rules: &[Rule], index_files: &[String]) -> Self {
        let are_clean = rules.iter().any(|rule| rule.effect == Effect::CleanUrls(true));
        let names = Names { index_files, are_clean };
        let mut zones = vec![Zone::default()];
        for (place, rule) in rules.iter().enumerate() {
            match rule.ending() {
                Some(ending) => plant_ending(&mut zones, place, rule, ending.as_bytes()),
                None => plant(&mut zones, place, rule, &names),
            }
        }
        let endings = |zone: &Zone| {
            let held = zone.by_ending.iter().flat_map(|(_, endings)| endings);
            held.chain(&zone.alone).filter(|ending| !ending.is_empty()).cloned().collect::<Vec<_>>()
        };
        let endings: BTreeSet<_> = zones.iter().flat_map(endings).collect();
        let kinds = Kinds::new(endings, &names);
        let mut all = Self { zones, kinds, courses: Vec::new() };
        all.settle(rules);
        all
    }

    /// All courses; what [`Self::of`] returns is a place in here.
    pub(crate) fn courses(&self) -> &[Course] {
        &self.courses
    }

    /// The place of a path's course; `path` as [`crate::path::translate`] gives it.
    pub(crate) fn of(&self, path: &[u8]) -> usize {
        let mut zone = &self.zones[0];
        for segment in path.split(|&byte| byte == b'/').skip(1) {
            match zone.child(segment) {
                Some(child) => zone = &self.zones[child],
                None => return zone.beneath[self.kinds.of(path)][usize::from(is_user(segment))],
            }
        }
        zone.itself
    }

    /// The places of rules that no path has, because another answers all of its paths before; and
    /// the place of that one.
    pub(crate) fn unreached(&self) -> Vec<(usize, usize)> {
        let mut unreached = Vec::new();
        for zone in &self.zones {
            // What is not reached by these is not reached from any zone within, nor by what counts
            // as several kinds: for more rules hold there.
            let by_prefix = zone.rules.iter().map(|rule| (*rule, OTHER));
            let by_ending = zone.by_ending.iter().map(|(rule, of)| (*rule, self.kinds.of(&of[0])));
            for (rule, kind) in by_prefix.chain(by_ending) {
                let [plain, of_user] = zone.beneath[kind].map(|place| &self.courses[place]);
                if !plain.has(rule) && !of_user.has(rule) {
                    let answers = plain.answers.filter(|answers| *answers < rule);
                    let answers = answers.or(of_user.answers);
                    unreached.extend(answers.map(|answers| (rule, answers)));
                }
            }
        }
        unreached.sort_unstable();
        unreached
    }

    /// Finds the courses of all zones.
    fn settle(&mut self, rules: &[Rule]) {
        let mut known = HashMap::new();
        for zone in 0..self.zones.len() {
            let mut place = |kind: &Kind, next| {
                let course = self.course(rules, zone, kind, next);
                let new = known.len();
                *known.entry(course).or_insert(new)
            };
            let kinds = self.kinds.all();
            let name = self.zones[zone].within.as_ref().map_or(&b""[..], |(_, name)| name);
            let itself = place(&kinds[self.kinds.of(name)], None);
            let beneath =
                kinds.iter().map(|kind| [false, true].map(|user| place(kind, Some(user))));
            let beneath = beneath.collect();
            (self.zones[zone].itself, self.zones[zone].beneath) = (itself, beneath);
        }
        let mut courses: Vec<_> = known.into_iter().collect();
        courses.sort_unstable_by_key(|(_, place)| *place);
        self.courses = courses.into_iter().map(|(course, _)| course).collect();
    }

    /// The course of paths of a zone that end in a segment of that kind. `next`: whether the
    /// segment behind its prefix is a user's; nothing: there is none.
    fn course(&self, rules: &[Rule], zone: usize, kind: &Kind, next: Option<bool>) -> Course {
        let mut candidates = Vec::new();
        let mut is_alone = self.zones[zone].is_alone;
        let (mut at, mut next) = (zone, next);
        loop {
            let zone = &self.zones[at];
            let mut hold: Vec<_> = zone.rules.iter().chain(&zone.implied).copied().collect();
            if next.is_some() {
                let has = |endings: &[Vec<u8>]| endings.iter().any(|ending| kind.has(ending));
                let by_ending = zone.by_ending.iter().filter(|(_, endings)| has(endings));
                hold.extend(by_ending.map(|(rule, _)| *rule));
                is_alone |= has(&zone.alone);
            }
            candidates.extend(hold.into_iter().map(|rule| (rule, next == Some(true))));
            let Some((around, segment)) = &zone.within else { break };
            next = Some(is_user(segment));
            at = *around;
        }
        candidates.sort_unstable();
        candidates.dedup();
        Course::new(rules, &candidates, is_alone)
    }
}

/// Puts a rule with a prefix where it holds.
fn plant(zones: &mut Vec<Zone>, place: usize, rule: &Rule, names: &Names<'_>) {
    let mut around: Vec<_> = segments(rule.prefix().as_bytes()).map(<[u8]>::to_vec).collect();
    let zone = grow(zones, &around);
    zones[zone].rules.push(place);
    let Some(name) = around.pop().filter(|_| rule.effect.closes()) else { return };
    for other in names.showing(&name) {
        let zone = grow(zones, &[&around[..], &[other]].concat());
        zones[zone].implied.push(place);
    }
    for original in names.replaced_by(&name) {
        let zone = grow(zones, &[&around[..], &[original]].concat());
        zones[zone].is_alone = true;
    }
}

/// Puts a rule with an ending where it holds.
fn plant_ending(zones: &mut Vec<Zone>, place: usize, rule: &Rule, ending: &[u8]) {
    let prefix: Vec<_> = segments(rule.prefix().as_bytes()).map(<[u8]>::to_vec).collect();
    let zone = grow(zones, &prefix);
    let mut endings = vec![ending.to_vec()];
    if rule.effect.closes() {
        endings.extend(names::siblings(ending));
        zones[zone].alone.extend(names::originals(ending));
    }
    zones[zone].by_ending.push((place, endings));
}

/// The zone of a prefix.
fn grow(zones: &mut Vec<Zone>, segments: &[Vec<u8>]) -> usize {
    let mut at = 0;
    for segment in segments {
        at = match zones[at].children.binary_search_by(|(name, _)| (**name).cmp(segment)) {
            Ok(place) => zones[at].children[place].1,
            Err(place) => {
                let new = zones.len();
                let segment: Box<[u8]> = segment.as_slice().into();
                let within = Some((at, segment.clone()));
                zones.push(Zone { within, ..Zone::default() });
                zones[at].children.insert(place, (segment, new));
                new
            }
        };
    }
    at
}

impl Zone {
    fn child(&self, segment: &[u8]) -> Option<usize> {
        let place = self.children.binary_search_by(|(name, _)| (**name).cmp(segment)).ok()?;
        Some(self.children[place].1)
    }
}

impl Course {
    fn new(rules: &[Rule], candidates: &[(usize, bool)], is_alone: bool) -> Self {
        let mut course = Self { sets: Vec::new(), answers: None, is_alone };
        for &(place, is_before_user) in candidates {
            let answers = match rules[place].effect {
                Effect::Root(_) | Effect::Redirect { .. } | Effect::Answer(_) => true,
                Effect::UserDirectories(_) if is_before_user => true,
                Effect::UserDirectories(_) => continue,
                _ => false,
            };
            if answers {
                course.answers = Some(place);
                break;
            }
            course.sets.push(place);
        }
        course
    }

    fn has(&self, rule: usize) -> bool {
        self.answers == Some(rule) || self.sets.binary_search(&rule).is_ok()
    }
}

/// The segments of a prefix; empty ones say nothing.
pub(crate) fn segments(prefix: &[u8]) -> impl Iterator<Item = &[u8]> {
    prefix.split(|&byte| byte == b'/').filter(|segment| !segment.is_empty())
}

/// Whether a segment is `~name`.
fn is_user(segment: &[u8]) -> bool {
    matches!(segment, [b'~', _, ..])
}
