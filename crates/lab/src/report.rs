//! A page as files: for a browser, for a forge, and each figure for itself.
//!
//! The same page always makes the same bytes, so that what was published can be compared with what
//! is drawn again.

pub mod figure;
pub mod html;
pub mod markdown;
mod numbers;
mod table;
pub mod terminal;
mod text;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::Failure;
use crate::page::{Agreement, Page};

/// A figure's file name without its ending, and what is in its SVG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// `SECTION-FIGURE`, unlike all others of the page.
    pub stem: String,
    /// The whole document.
    pub svg: String,
}

/// Writes `index.html`, `index.md`, and `SECTION-FIGURE.svg` of each figure into `dir`, which is
/// made where it is missing; a page of an earlier time is overwritten, other files stay.
///
/// # Errors
///
/// [`Failure::Machine`] names the file that could not be written. Files before it are whole. And
/// those of [`check`].
pub fn write(page: &Page, dir: &Path) -> Result<(), Failure> {
    check(dir)?;
    fs::create_dir_all(dir).map_err(|error| Failure::machine(dir.display(), error))?;
    let drawings = drawings(page);
    for drawing in drawings.iter().flatten() {
        file(dir, &format!("{}.svg", drawing.stem), drawing.svg.as_bytes())?;
    }
    // First the one that says whose they are.
    file(dir, INDEX, html::page(page, &drawings).as_bytes())?;
    file(dir, "index.md", markdown::page(page, &drawings).as_bytes())
}

const INDEX: &str = "index.html";

/// Whether a page may be written into `dir`: there is none, or one that a lab has written.
///
/// # Errors
///
/// [`Failure::Operator`]: there is a page of somebody else's. [`Failure::Machine`]: it cannot be
/// read.
pub fn check(dir: &Path) -> Result<(), Failure> {
    let path = dir.join(INDEX);
    // What is no file shows what it is when it is written to.
    if !path.is_file() {
        return Ok(());
    }
    let page = fs::read(&path).map_err(|error| Failure::machine(path.display(), error))?;
    let is_ours = page.is_empty() || String::from_utf8_lossy(&page).contains(html::MARK);
    let refused = || {
        format!(
            "{}: it is no page of a lab and would be lost; take another directory",
            path.display()
        )
    };
    is_ours.then_some(()).ok_or_else(|| Failure::Operator(refused()))
}

fn file(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = dir.join(name);
    fs::write(&path, bytes).map_err(|error| Failure::machine(path.display(), error))
}

/// Of each section, those of its figures.
pub fn drawings(page: &Page) -> Vec<Vec<Drawing>> {
    let mut taken = BTreeSet::new();
    let drawings = page.sections.iter().map(|section| {
        let drawings = section.figures.iter().map(|figure| {
            let name = format!("{}-{}", text::slug(&section.name), text::slug(&figure.name));
            Drawing { stem: free(&mut taken, name), svg: figure::svg(figure) }
        });
        drawings.collect()
    });
    drawings.collect()
}

/// `name`, or the first of `name-2`, `name-3`, ... that nothing else has.
fn free(taken: &mut BTreeSet<String>, name: String) -> String {
    let more = (2_u32..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(more);
    let free = names.find(|name| !taken.contains(name)).unwrap_or(name);
    taken.insert(free.clone());
    free
}

/// In a word.
fn agrees(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Yes => "yes",
        Agreement::No => "no",
        Agreement::Open => "open",
    }
}

#[cfg(test)]
mod tests;
