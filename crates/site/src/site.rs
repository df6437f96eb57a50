use std::borrow::Cow;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::{io, mem};

use h1::{Answer, Codings, FilePart, Found, Head, Loaded, Lookup, Method, Now, Shared, Status};
use os::File;
use os::sharing::Dead;

use crate::answers::Answers;
use crate::disk::{Disk, Reached, Unread};
use crate::guard::{Verification, Worth};
use crate::hints::{Hints, Missing};
use crate::homes::Homes;
use crate::hosts;
use crate::plan::{Applied, Plan, Unreached};
use crate::redirect::Redirect;
use crate::refused::{Hint, Refused};
use crate::rules::{Host, Rule};
use crate::ruling::{Outcome, Ruling};
use crate::statistics::Statistics;
use crate::validators::has_name;
use crate::{Error, Settings, judge, path};

/// What is served, and what is remembered of it. Shared by all threads.
pub struct Site {
    /// Nothing: one root, the only ruling's, for all requests.
    plan: Option<Plan>,
    /// [`Lookup::root`] is a place in here.
    rulings: Vec<Ruling>,
    disk: Disk,
    answers: Answers,
}

/// What [`Site::open`] found, on its way to [`Site::keep`].
pub struct Opening {
    lookup: Lookup,
    /// What there is on the disk, or what is said instead.
    outcome: Result<Reached, Status>,
    /// There is no such file, so the outcome is that of another lookup.
    missing: Option<Lookup>,
    hint: Option<Hint>,
}

impl Opening {
    /// The small file whose content is still to be read, for [`Self::read`] or by it.
    #[must_use]
    pub fn unread(&self) -> Option<FilePart<File>> {
        let Ok(Reached::Unread(Unread { file, stat, .. })) = &self.outcome else {
            return None;
        };
        Some(FilePart { file: file.clone(), at: 0, end: stat.size })
    }

    /// What the operator may not know of the outcome.
    #[must_use]
    pub const fn hint(&self) -> Option<&Hint> {
        self.hint.as_ref()
    }

    /// Takes what [`Self::unread`] names, or what has come of it. A file that was changed meanwhile
    /// will be sent from its descriptor.
    pub fn read(&mut self, bytes: io::Result<Shared<[u8]>>) {
        self.read_by(|unread| {
            let size = unread.stat.size;
            let whole = bytes.map(|bytes| (bytes.len() as u64 == size).then_some(bytes));
            unread.with(whole).map(Reached::sent_from_descriptor)
        });
    }

    fn read_by(&mut self, read: impl FnOnce(Unread) -> Result<Reached, Refused>) {
        let outcome = mem::replace(&mut self.outcome, Err(Status::INTERNAL_SERVER_ERROR));
        self.outcome = match outcome {
            Ok(Reached::Unread(unread)) => read(unread).map_err(|Refused { status, hint }| {
                self.hint = hint.or(self.hint.take());
                status
            }),
            outcome => outcome,
        };
    }
}

impl Site {
    /// A site that serves by the rules of its settings; without any, what lies beneath `root`. A
    /// root itself may be a symbolic link, and may be replaced while it is served. Takes no memory
    /// for a cache that is empty.
    ///
    /// # Errors
    /// There is no such directory, or this process may not look into it; a rule cannot be obeyed.
    pub fn new(root: &Path, settings: &Settings) -> Result<Self, Error> {
        let (plan, rulings) = if settings.rules.hosts.is_empty() {
            (None, vec![Ruling::of_root(judge::root(root)?)])
        } else {
            let (plan, rulings) = Plan::new(settings.rules.clone(), &settings.index_files)?;
            (Some(plan), rulings)
        };
        let disk = Disk {
            small_bytes_max: settings.small_bytes_max,
            index_files: settings.index_files.clone(),
            homes: Homes::new(&settings.accounts),
        };
        Ok(Self { plan, rulings, disk, answers: Answers::new(settings) })
    }

    /// The first names of the hosts that are counted apart, in written order: at most
    /// [`COUNTED_HOSTS_MAX`], and none that is `*` or [`UNCOUNTED`].
    #[must_use]
    pub fn counted_hosts(&self) -> &[String] {
        self.plan.as_ref().map_or(&[], Plan::counted_hosts)
    }

    /// Under which of [`Self::counted_hosts`] a request is counted, from 1 on; 0: under none.
    #[must_use]
    pub fn host_number(&self, head: &Head<'_>) -> u8 {
        self.plan.as_ref().map_or(0, |plan| plan.host_number(head.host()))
    }

    /// Looks a request up; reads memory only. Of those who ask for an answer that has come of age,
    /// the first is told that it is missing, and is to load it or to [give it up](Self::give_up);
    /// until then the others get the old one. A host that no rule knows is answered with 421
    /// (RFC 9110 section 15.5.20). A rule that leads elsewhere or answers with a status does so
    /// whatever the method is; a file is for GET and HEAD. Whom the rules do not let in by the
    /// address ([`Head::source`]) gets 403 before all that.
    pub fn find(&self, head: &Head<'_>, now: &Now) -> Found<File> {
        if let Some(plan) = &self.plan {
            return self.find_by(plan, head, now);
        }
        if let Some(status) = instead_of_a_file(head.method()) {
            return Found::Status(status);
        }
        match path::translate(head.path()) {
            Ok(path) => self.answers.find(0, &path, || codings(head), now),
            Err(status) => Found::Status(status),
        }
    }

    /// Who is to be verified before that is loaded; nothing: nobody. Whoever was let in is loaded
    /// for without credentials, and others are [turned down](Self::turn_down).
    #[must_use]
    pub fn verification(&self, lookup: &Lookup) -> Option<Verification> {
        let guard = self.ruling(lookup.root).guard.as_ref()?;
        Some(Verification::new(Arc::clone(guard), lookup.credentials.clone()?))
    }

    /// What is answered to whom that does not let in.
    #[must_use]
    pub fn turn_down(&self, lookup: &Lookup) -> Loaded<File> {
        loaded(self.ruling(lookup.root).dressed(Status::UNAUTHORIZED))
    }

    /// What is answered to who cannot be verified at present, and may ask again.
    #[must_use]
    pub fn put_off(&self, lookup: &Lookup, status: Status, retry_after_s: u32) -> Loaded<File> {
        Loaded::Answer(self.ruling(lookup.root).put_off(status, retry_after_s))
    }

    /// Asks the disk what a path leads to, and opens it unless the cache has it as it is; what is
    /// in a small file remains to be read. May block; from the cache it takes only what to compare
    /// with. A lookup with credentials is not let in: see [`Self::verification`].
    #[must_use]
    pub fn open(&self, lookup: &Lookup) -> Opening {
        let ruling = self.ruling(lookup.root);
        let mut opening = Opening {
            lookup: lookup.clone(),
            outcome: Err(Status::UNAUTHORIZED),
            missing: None,
            hint: None,
        };
        if lookup.credentials.is_some() {
            return opening;
        }
        let mut opened = self.open_by(ruling, lookup);
        if let (Err(Refused { status: Status::NOT_FOUND, .. }), Some(instead)) =
            (&opened, ruling.instead(lookup))
        {
            opened = self.open_by(self.ruling(instead.root), &instead);
            opening.missing = Some(mem::replace(&mut opening.lookup, instead));
        }
        (opening.outcome, opening.hint) = match opened {
            Ok((reached, hint)) => (Ok(reached), hint),
            Err(Refused { status, hint }) => (Err(status), hint),
        };
        opening
    }

    /// Reads what [`Opening::unread`] names, and blocks until that is done.
    pub fn read(&self, opening: &mut Opening) {
        opening.read_by(|unread| self.disk.read(unread).map(Reached::End));
    }

    /// Takes what was opened into the cache, and answers with it. Blocks if it is unread.
    pub fn keep(&self, mut opening: Opening, now: &Now) -> Loaded<File> {
        self.read(&mut opening);
        let Opening { lookup, outcome, missing, .. } = opening;
        if let Some(missing) = missing {
            self.answers.keep_refusal(&missing, Status::NOT_FOUND, now);
        }
        let ruling = self.ruling(lookup.root);
        let loading = outcome.map(|reached| match reached {
            Reached::End(loading) => loading,
            Reached::Unread(_) => unreachable!("it was read"),
        });
        match (loading, &ruling.outcome) {
            (Ok(loading), outcome) => {
                let at = if let Outcome::Files(place) = outcome { &place.at[..] } else { b"" };
                self.answers.keep(at, &lookup, loading, now)
            }
            (Err(status), Outcome::Redirect(redirect)) if status == redirect.status => {
                // The path of such a lookup is where it leads.
                Loaded::Answer(ruling.redirected(status, &lookup.path))
            }
            (Err(status), _) => {
                // Who was not let in has learned nothing about the path, and neither have we.
                if status != Status::UNAUTHORIZED {
                    self.answers.keep_refusal(&lookup, status, now);
                }
                loaded(ruling.dressed(status))
            }
        }
    }

    /// [`Self::open`] and [`Self::keep`] at once, for whoever may block in place.
    pub fn load(&self, lookup: &Lookup, now: &Now) -> Loaded<File> {
        self.keep(self.open(lookup), now)
    }

    /// How many hints lead to no file, and the line of the first of them. Asks the disk `most`
    /// times at most, for one after the other at each root that can have it; says how many it knows
    /// of.
    #[must_use]
    pub fn missing(&self, hints: &Hints, most: usize) -> Missing {
        let mut missing = Missing { looked_up: 0, nowhere: 0, line: None };
        let mut asked = 0;
        for (line, path) in hints.in_order() {
            let is_there = path.is_some_and(|path| {
                let mut lookups = (0..).zip(&self.rulings).filter_map(|(root, ruling)| {
                    let Outcome::Files(place) = &ruling.outcome else { return None };
                    let path = Shared::from(path.strip_prefix(&place.at[..])?);
                    Some(Lookup { root, path, codings: Codings::default(), credentials: None })
                });
                lookups.any(|lookup| {
                    asked += 1;
                    let opening = self.open(&lookup);
                    opening.outcome.is_ok() && opening.missing.is_none()
                })
            });
            missing.looked_up += 1;
            if !is_there {
                missing.nowhere += 1;
                missing.line.get_or_insert(line);
            }
            if asked >= most {
                break;
            }
        }
        missing
    }

    /// What [`Self::load`] would answer, if what is kept under that name is still what the disk
    /// has, and that is known without waiting for it; the answer is then as good as loaded.
    /// Nothing: what is kept has changed or cannot be compared so, or nothing is kept. The lookup
    /// is then still to be loaded, or given up.
    ///
    /// Only the kernel is asked, and of a remote file system it tells what that said last: a change
    /// shows when the file system looks for changes of names by itself.
    pub fn compare(&self, lookup: &Lookup, now: &Now) -> Option<Loaded<File>> {
        let ruling = self.ruling(lookup.root);
        let compared = match (self.compare_one(lookup, now)?, ruling.instead(lookup)) {
            (Loaded::Status(Status::NOT_FOUND), Some(instead)) => {
                self.compare_one(&instead, now)?
            }
            (compared, _) => compared,
        };
        Some(match compared {
            Loaded::Status(status) => loaded(ruling.dressed(status)),
            compared => compared,
        })
    }

    /// The answer that was kept under that name, for a request that does not wait for the disk: if
    /// [`Self::compare`] cannot tell without it whether the answer holds. `None`: there is none, it
    /// is known to have changed, or it was compared longer ago than ten times
    /// [`Settings::answer_age`]. A refusal is none, because what it refuses may be there by now.
    /// The lookup is still to be loaded, or given up.
    pub fn old(&self, lookup: &Lookup, now: &Now) -> Option<Loaded<File>> {
        let Outcome::Files(place) = &self.ruling(lookup.root).outcome else { return None };
        if self.disk.told(place, lookup).is_some() {
            return None;
        }
        self.old_or_changed(lookup, now).filter(|old| match old {
            Loaded::Answer(answer) => has_name(&answer.representation),
            _ => true,
        })
    }

    /// Says that a miss will not be loaded, because too many loads wait already. The next request
    /// for the path looks in its place; otherwise all would get the old answer for ten times
    /// [`Settings::answer_age`]. Returns the old answer, if there is one that is not older.
    pub fn give_up(&self, lookup: &Lookup, now: &Now) -> Option<Loaded<File>> {
        self.answers.give_up(lookup);
        self.old_or_changed(lookup, now)
    }

    fn old_or_changed(&self, lookup: &Lookup, now: &Now) -> Option<Loaded<File>> {
        let answer = self.answers.old(lookup, now);
        answer.filter(|_| lookup.credentials.is_none()).map(Loaded::Answer)
    }

    /// From now on what is found is kept in memory that the calling process, a keeper, has with so
    /// many others that it starts.
    ///
    /// # Errors
    /// The machine has not so much.
    ///
    /// # Panics
    /// It is kept so already.
    pub fn share(&self, members: u16) -> io::Result<()> {
        self.answers.share(members)
    }

    /// One of these processes has died: what it was sending is not sent any more. Where it was
    /// changing the cache that begins anew; whether it did.
    ///
    /// # Errors
    /// What is left makes no sense: all of them have to end.
    pub fn bury(&self, dead: &Dead<'_>) -> Result<bool, String> {
        self.answers.bury(dead)
    }

    /// Looks whether what these processes share fits together; `false`: one of them is at work on
    /// it, or has died with it and is still to be buried.
    ///
    /// # Errors
    /// It does not: all of them have to end.
    pub fn check(&self) -> Result<bool, String> {
        self.answers.check()
    }

    /// What the cache did and holds, of all shards.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.answers.statistics()
    }

    /// The host that a name in a request's `Host` leads to; nothing where there are no rules, or
    /// none for it.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<&Host> {
        self.plan.as_ref()?.host_named(name.as_bytes())
    }

    /// The rules that apply to a path of that host, in written order, and what each does; the path
    /// as in a request, without query. Nothing for a host that there is not, and for a path that is
    /// refused before any rule is looked at.
    #[must_use]
    pub fn explain(&self, host: &str, path: &str) -> Vec<(&Rule, Applied)> {
        let plan = self.plan.as_ref();
        plan.map_or_else(Vec::new, |plan| plan.explain(host.as_bytes(), path.as_bytes()))
    }

    /// The rules that no request ever meets. Each is good by itself, and some may be meant so: a
    /// rule that answers everything for an hour stands before all others.
    pub fn unreached(&self) -> impl Iterator<Item = Unreached<'_>> {
        self.plan.iter().flat_map(Plan::unreached)
    }

    /// The address of somebody whom the rules of a request let in; nothing: they let all in.
    pub(crate) fn someone(&self, head: &Head<'_>) -> Option<IpAddr> {
        let plan = self.plan.as_ref()?;
        let path = path::translate(head.path()).ok()?;
        let place = plan.ruling(plan.host(head.host())?, &path, head);
        self.ruling(place).sources.as_ref()?.someone()
    }

    fn find_by(&self, plan: &Plan, head: &Head<'_>, now: &Now) -> Found<File> {
        let is_options = head.method() == Method::Options;
        let Some(host) = plan.host(head.host()) else {
            // Balancers ask so for the health of a server, and name no host.
            let status = if is_options { Status::NO_CONTENT } else { Status::MISDIRECTED_REQUEST };
            return Found::Status(status);
        };
        let path = match path::translate(head.path()) {
            Ok(path) => path,
            Err(status) => {
                return found(self.ruling(plan.ruling(host, b"/", head)).dressed(status));
            }
        };
        let root = plan.ruling(host, &path, head);
        let ruling = self.ruling(root);
        if ruling.sources.as_ref().is_some_and(|sources| !sources.admit(head.source())) {
            return found(ruling.dressed(Status::FORBIDDEN));
        }
        if is_options {
            return found(ruling.preflight());
        }
        if let (Outcome::Files(_), Some(status)) =
            (&ruling.outcome, instead_of_a_file(head.method()))
        {
            return found(ruling.dressed(status));
        }
        let credentials = match ruling.guard.as_ref().map(|guard| guard.worth(head, now)) {
            None | Some(Worth::Admitted) => None,
            Some(Worth::Unverified(credentials)) => Some(credentials),
            Some(Worth::Refused) => return found(ruling.dressed(Status::UNAUTHORIZED)),
        };
        let wanted = match &ruling.outcome {
            Outcome::Files(place) => Cow::Borrowed(&path[place.at.len()..]),
            Outcome::Redirect(redirect) => {
                let host = match redirect.names_host() {
                    true => hosts::plain_name(head.host()),
                    false => Some(Vec::new()),
                };
                let Some(host) = host else {
                    return found(ruling.dressed(Status::BAD_REQUEST));
                };
                Cow::Owned(redirect.location(&host, &path))
            }
            Outcome::Answer(_) => Cow::Borrowed(&b""[..]),
        };
        if credentials.is_some() {
            let codings = codings(head);
            return Found::Miss(Lookup { root, path: (*wanted).into(), codings, credentials });
        }
        match &ruling.outcome {
            Outcome::Files(_) => self.find_file(root, &wanted, head, now),
            Outcome::Redirect(redirect) => {
                Found::Answer(ruling.redirected(redirect.status, &wanted))
            }
            Outcome::Answer(status) => found(ruling.dressed(*status)),
        }
    }

    fn find_file(&self, root: u32, path: &[u8], head: &Head<'_>, now: &Now) -> Found<File> {
        let ruling = self.ruling(root);
        let look = |root, path| self.answers.find(root, path, || codings(head), now);
        let looked = match (look(root, path), &ruling.fallback) {
            (Found::Status(Status::NOT_FOUND), Some((root, path))) => look(*root, path),
            (looked, _) => looked,
        };
        match looked {
            Found::Status(status) => found(ruling.dressed(status)),
            looked => looked,
        }
    }

    fn compare_one(&self, lookup: &Lookup, now: &Now) -> Option<Loaded<File>> {
        let Outcome::Files(place) = &self.ruling(lookup.root).outcome else { return None };
        if lookup.credentials.is_some() || !self.answers.can_hold(lookup) {
            return None;
        }
        let told = self.disk.told(place, lookup)?;
        self.answers.hold(lookup, told, now)
    }

    /// What a ruling leads to on the disk, or the status of what it says without it.
    fn open_by(
        &self,
        ruling: &Ruling,
        lookup: &Lookup,
    ) -> Result<(Reached, Option<Hint>), Refused> {
        match &ruling.outcome {
            Outcome::Files(place) => {
                let known = self.answers.known(lookup);
                self.disk.open(place, &ruling.lines, lookup, known)
            }
            Outcome::Redirect(Redirect { status, .. }) | Outcome::Answer(status) => {
                Err((*status).into())
            }
        }
    }

    fn ruling(&self, root: u32) -> &Ruling {
        &self.rulings[root as usize]
    }
}

/// What answers methods that no file is for.
const fn instead_of_a_file(method: Method) -> Option<Status> {
    match method {
        Method::Get | Method::Head => None,
        Method::Options => Some(Status::NO_CONTENT),
        Method::Post | Method::Known => Some(Status::METHOD_NOT_ALLOWED),
        Method::Unknown => Some(Status::NOT_IMPLEMENTED),
    }
}

fn codings(head: &Head<'_>) -> Codings {
    Codings::parse(head.values("accept-encoding"))
}

fn loaded(dressed: Result<Answer<File>, Status>) -> Loaded<File> {
    dressed.map_or_else(Loaded::Status, Loaded::Answer)
}

fn found(dressed: Result<Answer<File>, Status>) -> Found<File> {
    dressed.map_or_else(Found::Status, Found::Answer)
}
