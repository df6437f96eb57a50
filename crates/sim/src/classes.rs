//! What a replacement policy is told of each file, where it has to be told something: the directory
//! that it lies in, or whether it is among those that will be asked for most. The server is told
//! the latter by `--cache-hints`; here the workload knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use cache::{Class, PolicyKind};
use load::files::Files;

/// By the numbers of files; nothing: all are alike.
pub type Classes = Arc<[u32]>;

/// Files that are asked for with these shares and weigh so much, where there is room for so many
/// bytes: as many are hinted as fill it, the most likely ones first.
///
/// # Errors
/// Hints, of a workload that does not know how likely its files are: one line.
pub fn classes(
    policy: PolicyKind,
    files: &Files,
    shares: &[f64],
    (weights, room_bytes): (&[u64], u64),
) -> Result<Classes, String> {
    match policy.class() {
        Class::One => Ok(Arc::default()),
        Class::Directory => Ok(directories(files)),
        Class::Hint if shares.is_empty() => Err(format!(
            "{}: this workload does not know which of its files are asked for most",
            policy.name()
        )),
        Class::Hint => Ok(hinted(shares, weights, room_bytes)),
    }
}

/// Files of one directory have one number.
#[must_use]
pub fn directories(files: &Files) -> Classes {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let number = |target| {
        let next = numbers.len() as u32;
        *numbers.entry(target).or_insert(next)
    };
    let targets = files.iter().map(|(_, file)| &*file.target);
    let of = |target: &'_ str| target.rsplit_once('/').map_or(0, |(directory, _)| directory.len());
    targets.map(|target| &target[..of(target)]).map(number).collect()
}

fn hinted(shares: &[f64], weights: &[u64], room_bytes: u64) -> Classes {
    let mut likely: Vec<usize> = (0..weights.len()).collect();
    likely.sort_by(|one, other| shares[*other].total_cmp(&shares[*one]));
    let mut left = room_bytes;
    let mut classes = vec![0; weights.len()];
    for file in likely {
        let Some(less) = left.checked_sub(weights[file]) else { break };
        (left, classes[file]) = (less, 1);
    }
    classes.into()
}

#[cfg(test)]
mod tests {
    use load::files::File;

    use super::*;

    #[test]
    fn files_have_the_class_that_a_policy_asks_for() {
        let files = ["/a/x", "/b/x", "/a/y", "/z"].map(|target| File::sized(target, 10));
        let files = Files::new(files.into(), false);
        let shares = [0.1, 0.4, 0.3, 0.2];
        for (policy, shares, expected) in [
            (PolicyKind::Lru, &shares[..], Ok(&[][..])),
            (PolicyKind::Structured, &[], Ok(&[0, 1, 0, 2])),
            // Two fill it.
            (PolicyKind::Hinted, &shares, Ok(&[0, 1, 1, 0])),
            (PolicyKind::Hinted, &[], Err("hinted: this workload does not know")),
        ] {
            let told = classes(policy, &files, shares, (&[10; 4], 25));
            match expected {
                Ok(expected) => assert_eq!(told.as_deref(), Ok(expected), "{policy:?}"),
                Err(why) => assert!(told.is_err_and(|told| told.starts_with(why)), "{policy:?}"),
            }
        }
    }
}
