//! Which rules a path has.
//!
//! Prefixes that one path has lie within each other, so the longest of them names them all: rules
//! are applied to prefixes once, when the site is made, and not to each path.

use std::collections::HashMap;

use crate::disk::CODINGS;
use crate::rules::{Effect, Rule};

/// The prefixes of a host's rules as a tree of segments; the first zone is that of `/`.
pub(crate) struct Zones {
    zones: Vec<Zone>,
    courses: Vec<Course>,
}

/// Paths that have the same prefixes.
struct Zone {
    /// By the next segment, sorted.
    children: Vec<(Box<[u8]>, usize)>,
    /// The zone around it, and what leads from there to here; the first has none.
    within: Option<(usize, Box<[u8]>)>,
    /// Places of the rules with this very prefix.
    rules: Vec<usize>,
    /// Places of rules for a file that is shown under this prefix, too.
    implied: Vec<usize>,
    /// One of the siblings of its file has a rule of its own.
    is_alone: bool,
    /// Places of courses.
    plain: usize,
    /// For paths whose next segment is a user's.
    of_user: usize,
}

/// What happens to all paths of a zone.
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
        let mut all = Self { zones: vec![Zone::new(None)], courses: Vec::new() };
        for (place, rule) in rules.iter().enumerate() {
            let zone = all.grow(segments(rule.at.as_bytes()));
            all.zones[zone].rules.push(place);
            if let Effect::Auth { .. } | Effect::Answer(_) = rule.effect {
                for other in shown_as(rule, index_files) {
                    let zone = all.grow(other.iter().map(|segment| &**segment));
                    all.zones[zone].implied.push(place);
                }
                for original in shows(rule, index_files) {
                    let zone = all.grow(original.iter().map(|segment| &**segment));
                    all.zones[zone].is_alone = true;
                }
            }
        }
        let mut known = HashMap::new();
        for zone in 0..all.zones.len() {
            let mut place = |of_user| {
                let is_alone = all.zones[zone].is_alone;
                let course = Course::new(rules, &all.candidates(zone, of_user), is_alone);
                let next = known.len();
                *known.entry(course).or_insert(next)
            };
            (all.zones[zone].plain, all.zones[zone].of_user) = (place(false), place(true));
        }
        let mut courses: Vec<_> = known.into_iter().collect();
        courses.sort_unstable_by_key(|(_, place)| *place);
        all.courses = courses.into_iter().map(|(course, _)| course).collect();
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
                None if is_user(segment) => return zone.of_user,
                None => return zone.plain,
            }
        }
        zone.plain
    }

    /// The places of rules that no path has, because another answers all of its paths before; and
    /// the place of that one.
    pub(crate) fn unreached(&self) -> Vec<(usize, usize)> {
        let mut unreached = Vec::new();
        for zone in &self.zones {
            // What is not reached by these is not reached from any zone within.
            let [plain, of_user] = [zone.plain, zone.of_user].map(|place| &self.courses[place]);
            for &rule in zone.rules.iter().filter(|rule| !plain.has(**rule) && !of_user.has(**rule))
            {
                let answers = plain.answers.filter(|answers| *answers < rule).or(of_user.answers);
                unreached.extend(answers.map(|answers| (rule, answers)));
            }
        }
        unreached.sort_unstable();
        unreached
    }

    /// The zone of a prefix.
    fn grow<'r>(&mut self, segments: impl Iterator<Item = &'r [u8]>) -> usize {
        let mut at = 0;
        for segment in segments {
            at = match self.zones[at].children.binary_search_by(|(name, _)| (**name).cmp(segment)) {
                Ok(place) => self.zones[at].children[place].1,
                Err(place) => {
                    let new = self.zones.len();
                    self.zones.push(Zone::new(Some((at, segment.into()))));
                    self.zones[at].children.insert(place, (segment.into(), new));
                    new
                }
            };
        }
        at
    }

    /// The rules whose prefixes the paths of a zone have, in written order, each with whether a
    /// user's segment follows its prefix.
    fn candidates(&self, mut zone: usize, of_user: bool) -> Vec<(usize, bool)> {
        let mut candidates = Vec::new();
        let mut follows = of_user;
        loop {
            let Zone { rules, implied, within, .. } = &self.zones[zone];
            candidates.extend(rules.iter().chain(implied).map(|rule| (*rule, follows)));
            let Some((around, segment)) = within else { break };
            follows = is_user(segment);
            zone = *around;
        }
        candidates.sort_unstable();
        candidates
    }
}

impl Zone {
    fn new(within: Option<(usize, Box<[u8]>)>) -> Self {
        let (children, rules, implied) = (Vec::new(), Vec::new(), Vec::new());
        Self { children, within, rules, implied, is_alone: false, plain: 0, of_user: 0 }
    }

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

/// Under which other names the file shows that a rule's prefix may name, in segments: those of its
/// siblings, which hold the same, and its directory's, if it is an index file. Whoever may not see
/// the one must not see the others. Which index file there is only the disk knows, so the directory
/// is kept from others also where another comes first.
fn shown_as(rule: &Rule, index_files: &[String]) -> Vec<Vec<Vec<u8>>> {
    let Some((around, name)) = parted(rule) else { return Vec::new() };
    let siblings = CODINGS.map(|coding| [&name, coding.suffix().as_bytes()].concat());
    let directory = directory_of(&name, index_files);
    siblings.into_iter().chain(directory).map(|name| [&around[..], &[name]].concat()).collect()
}

/// In whose place the file would be shown that a rule's prefix may name, if it is a sibling.
fn shows(rule: &Rule, index_files: &[String]) -> Vec<Vec<Vec<u8>>> {
    let Some((around, name)) = parted(rule) else { return Vec::new() };
    let originals =
        CODINGS.iter().filter_map(|coding| name.strip_suffix(coding.suffix().as_bytes()));
    let names = originals.flat_map(|original| {
        std::iter::once(original.to_vec()).chain(directory_of(original, index_files))
    });
    names.map(|name| [&around[..], &[name]].concat()).collect()
}

/// The segments of a rule's prefix, the last by itself; `/` has none.
fn parted(rule: &Rule) -> Option<(Vec<Vec<u8>>, Vec<u8>)> {
    let mut segments: Vec<_> = segments(rule.at.as_bytes()).map(<[u8]>::to_vec).collect();
    let name = segments.pop()?;
    Some((segments, name))
}

/// The last segment of the directory's path that an index file is shown under: an empty one.
fn directory_of(name: &[u8], index_files: &[String]) -> Option<Vec<u8>> {
    index_files.iter().any(|index| index.as_bytes() == name).then(Vec::new)
}

/// The segments of a prefix; empty ones say nothing.
pub(crate) fn segments(prefix: &[u8]) -> impl Iterator<Item = &[u8]> {
    prefix.split(|&byte| byte == b'/').filter(|segment| !segment.is_empty())
}

/// Whether a segment is `~name`.
fn is_user(segment: &[u8]) -> bool {
    matches!(segment, [b'~', _, ..])
}
