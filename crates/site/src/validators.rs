//! Validators: what tells one version of a file from another (RFC 9110 section 8.8).

use h1::{Coding, Content, Representation};
use os::{File, Stat};

pub(crate) const NS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// Whether what a kept representation says of its file is true of it now. A file that was changed
/// in place would otherwise be sent under the validators of what it was, and a client that asks for
/// the rest of that would put two versions together.
pub(crate) fn is_current(representation: &Representation<File>) -> bool {
    let Content::File { file, .. } = &representation.content else { return true };
    let now = file.stat_cached().map(|stat| etag(&stat, representation.coding));
    now.is_ok_and(|now| representation.words.etag() == Some(now.as_bytes()))
}

/// Whether the file of a kept representation has been neither removed nor replaced, as far as that
/// shows by the file.
pub(crate) fn has_name(representation: &Representation<File>) -> bool {
    let Content::File { file, .. } = &representation.content else { return true };
    file.has_name()
}

/// In seconds since 1970, for `Last-Modified`. Nothing for the first day of 1970 and times before:
/// a build that sets all times to nothing gives two versions of a file the same.
pub(crate) fn modified(stat: &Stat) -> Option<u64> {
    let seconds = u64::try_from(stat.mtime_ns.div_euclid(NS_PER_SECOND)).ok()?;
    (seconds >= SECONDS_PER_DAY).then_some(seconds)
}

/// Strong (RFC 9110 section 8.8.1), and of nothing that differs where the same files are served
/// from several machines: a client's copy is then as good behind a balancer, and a range that was
/// begun at one goes on at another. What that risks: a file that takes another's place with the
/// same size and the very same time, to the nanosecond, is taken for it. Builds that set all times
/// to one second can bring that about. The coding tells siblings' tags from their original's.
pub(crate) fn etag(stat: &Stat, coding: Option<Coding>) -> String {
    let coding = coding.map_or(String::new(), |coding| format!("-{}", coding.token()));
    format!("\"{:x}-{:x}{coding}\"", stat.size, stat.mtime_ns)
}
