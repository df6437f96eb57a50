use std::path::{Path, PathBuf};

/// The directory within which a deploy swaps a link: that of a link on the way to `root` which
/// leads to a place beside it, if it is not the top of all.
#[must_use]
pub fn releases(root: &Path) -> Option<PathBuf> {
    root.ancestors().filter(|place| place.is_symlink()).find_map(|link| {
        let beside = link.parent()?.canonicalize().ok()?;
        let leads_there = link.canonicalize().ok()?.starts_with(&beside);
        (leads_there && beside.parent().is_some()).then_some(beside)
    })
}
