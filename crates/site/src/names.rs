//! Under which names the same is shown: whoever may not see it under the one must not see it under
//! the others.

use h1::Coding;

/// Every coding that a sibling can have; `coding as usize` is its place.
pub(crate) const CODINGS: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

/// What stands behind the name of a page, and not in a clean URL.
pub(crate) const PAGE: &[u8] = b".html";

/// What the names of a host show, as far as it can be told without the disk.
pub(crate) struct Names<'n> {
    pub(crate) index_files: &'n [String],
    /// Whether URLs of pages may be clean.
    pub(crate) are_clean: bool,
}

impl Names<'_> {
    /// The last segments under which a file shows that may have this name: those of its siblings,
    /// which hold the same, that of its clean URL or of the page that its URL may mean, and its
    /// directory's, if it is an index file. Which index file there is only the disk knows, so the
    /// directory is among them also where another comes first.
    pub(crate) fn showing(&self, name: &[u8]) -> Vec<Vec<u8>> {
        let mut all = self.alike(name);
        for page in self.pages(name) {
            all.extend(siblings(&page));
        }
        all
    }

    /// The last segments in whose place a file would be shown that may have this name, if it is a
    /// sibling.
    pub(crate) fn replaced_by(&self, name: &[u8]) -> Vec<Vec<u8>> {
        originals(name).flat_map(|original| self.alike(&original)).collect()
    }

    /// The names that may be shown for a path that ends with a slash.
    pub(crate) fn of_directory(&self) -> Vec<Vec<u8>> {
        self.index_files.iter().flat_map(|index| self.pages(index.as_bytes())).collect()
    }

    /// The name that may be shown for one without a dot, if not that itself.
    pub(crate) fn of_bare(&self) -> Option<Vec<u8>> {
        self.are_clean.then(|| PAGE.to_vec())
    }

    /// A name, and all but its siblings' under which the same shows.
    fn alike(&self, name: &[u8]) -> Vec<Vec<u8>> {
        let mut all = self.pages(name);
        let directory = all.iter().find_map(|page| self.directory_of(page));
        all.extend(directory);
        all
    }

    /// A name, and the same page's with or without its ending.
    fn pages(&self, name: &[u8]) -> Vec<Vec<u8>> {
        let mut all = vec![name.to_vec()];
        match name.strip_suffix(PAGE) {
            _ if !self.are_clean => {}
            Some(bare) if is_bare(bare) => all.push(bare.to_vec()),
            None if is_bare(name) => all.push([name, PAGE].concat()),
            _ => {}
        }
        all
    }

    /// The last segment of the directory's path that an index file is shown under: an empty one.
    fn directory_of(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.index_files.iter().any(|index| index.as_bytes() == name).then(Vec::new)
    }
}

/// The last segment of a path; empty behind a slash.
pub(crate) fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

/// Whether the name of a page may be this with its ending.
pub(crate) fn is_bare(name: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&b'.')
}

/// The names that siblings of a file have, or their endings.
pub(crate) fn siblings(of: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    CODINGS.into_iter().map(move |coding| [of, coding.suffix().as_bytes()].concat())
}

/// The names of files that a sibling may have, or their endings; an empty ending is that of all.
pub(crate) fn originals(of: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let originals = CODINGS.into_iter().map(|coding| of.strip_suffix(coding.suffix().as_bytes()));
    originals.flatten().map(<[u8]>::to_vec)
}
