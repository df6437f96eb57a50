//! Which rules a path has.
//!
//! Prefixes that one path has lie within each other, so the longest of them names them all: rules
//! are applied to prefixes once, when the site is made, and not to each path.

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
    segments: Vec<Box<[u8]>>,
    /// Places of courses.
    plain: usize,
    /// For paths whose next segment is a user's.
    of_user: usize,
}

/// What happens to all paths of a zone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Course {
    /// Places of the rules that apply and set something, in written order.
    pub(crate) sets: Vec<usize>,
    /// The place of the rule that answers.
    pub(crate) answers: Option<usize>,
}

impl Zones {
    pub(crate) fn new(rules: &[Rule]) -> Self {
        let mut all = Self { zones: vec![Zone::new(Vec::new())], courses: Vec::new() };
        for rule in rules {
            all.grow(segments(rule.at.as_bytes()));
        }
        for zone in &mut all.zones {
            let mut place = |of_user| {
                let course = Course::new(rules, &zone.segments, of_user);
                let same = all.courses.iter().position(|other| *other == course);
                same.unwrap_or_else(|| {
                    all.courses.push(course);
                    all.courses.len() - 1
                })
            };
            (zone.plain, zone.of_user) = (place(false), place(true));
        }
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

    fn grow<'r>(&mut self, segments: impl Iterator<Item = &'r [u8]>) {
        let mut at = 0;
        for segment in segments {
            at = match self.zones[at].children.binary_search_by(|(name, _)| (**name).cmp(segment)) {
                Ok(place) => self.zones[at].children[place].1,
                Err(place) => {
                    let new = self.zones.len();
                    let segments = [&self.zones[at].segments[..], &[segment.into()]].concat();
                    self.zones.push(Zone::new(segments));
                    self.zones[at].children.insert(place, (segment.into(), new));
                    new
                }
            };
        }
    }
}

impl Zone {
    fn new(segments: Vec<Box<[u8]>>) -> Self {
        Self { children: Vec::new(), segments, plain: 0, of_user: 0 }
    }

    fn child(&self, segment: &[u8]) -> Option<usize> {
        let place = self.children.binary_search_by(|(name, _)| (**name).cmp(segment)).ok()?;
        Some(self.children[place].1)
    }
}

impl Course {
    fn new(rules: &[Rule], zone: &[Box<[u8]>], of_user: bool) -> Self {
        let mut course = Self { sets: Vec::new(), answers: None };
        for (place, rule) in rules.iter().enumerate() {
            let mut rest = zone.iter();
            if !segments(rule.at.as_bytes())
                .all(|segment| rest.next().is_some_and(|s| **s == *segment))
            {
                continue;
            }
            let answers = match rule.effect {
                Effect::Root(_) | Effect::Redirect { .. } | Effect::Answer(_) => true,
                Effect::UserDirectories(_) => rest.next().map_or(of_user, |next| is_user(next)),
                _ => {
                    course.sets.push(place);
                    false
                }
            };
            if answers {
                course.answers = Some(place);
                break;
            }
        }
        course
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
