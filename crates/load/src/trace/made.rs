//! The targets of a log as files that can be made: each becomes the one that a server of files
//! would take for it.
//!
//! So a query is dropped, escapes are undone, `//` and `.` and `..` are resolved (RFC 3986 section
//! 5.2.4), and a directory is its `index.html`: one that ends with a slash, and one that has files
//! of its own beneath it. What is the same file then is one, as large as the longest of its
//! replies. It is asked for by that name, so that nothing depends on how a server is set up.
//!
//! What cannot be made is left out: files whose size the log does not tell, and what is no name
//! that servers publish (RFC 9110 leaves that to them; those with a leading dot, with control
//! characters or backslashes, that are not UTF-8 or too long).

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use crate::files::{File, FileId, Files, unescaped};

/// What a file system takes for one name.
const NAME_BYTES_MAX: usize = 255;

/// A file system takes 4,095 with the directory that the site is made in.
const PATH_BYTES_MAX: usize = 3_000;

const INDEX: &str = "index.html";

/// The files to be made for those of a log, and which of them each of those is: `None` where it is
/// left out.
pub(crate) fn made(logged: &Files) -> (Files, Vec<Option<FileId>>) {
    let paths: Vec<Option<String>> = logged.iter().map(|(_, file)| path(&file.target)).collect();
    let sized =
        || logged.iter().zip(&paths).filter_map(|((_, file), path)| path.as_ref().zip(file.bytes));
    let directories: HashSet<&str> = sized().flat_map(|(path, _)| above(path)).collect();
    let name = |path: &str| {
        let mut name = path.to_owned();
        // Of a finite tree; each turn goes one deeper.
        while directories.contains(name.as_str()) {
            name = format!("{name}/{INDEX}");
        }
        name
    };
    let (mut all, mut known) = (Vec::<File>::new(), HashMap::new());
    for (path, bytes) in sized() {
        let made = *known.entry(name(path)).or_insert_with_key(|name| {
            all.push(File::sized(target(name), bytes));
            // There are no more of them than of the log.
            FileId(all.len() as u32 - 1)
        });
        let file = &mut all[made.0 as usize];
        if file.bytes < Some(bytes) {
            *file = File::sized(std::mem::take(&mut file.target), bytes);
        }
    }
    let of = paths.iter().map(|path| known.get(&name(path.as_deref()?)).copied());
    (Files::new(all, true), of.collect())
}

/// Beneath the root, without a slash at its beginning or end; `None`: it cannot be made.
fn path(target: &str) -> Option<String> {
    let raw = target.split('?').next()?.strip_prefix('/')?;
    let mut names = Vec::new();
    let mut is_directory = false;
    for raw in raw.split('/') {
        let name = String::from_utf8(unescaped(raw)?).ok()?;
        is_directory = matches!(&*name, "" | "." | "..");
        match &*name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            _ => names.push(name),
        }
    }
    if is_directory {
        names.push(INDEX.into());
    }
    let path = names.join("/");
    (names.iter().all(|name| is_published(name)) && path.len() <= PATH_BYTES_MAX).then_some(path)
}

fn is_published(name: &str) -> bool {
    let is_odd = |letter: char| matches!(letter, '/' | '\\') || letter.is_control();
    !name.starts_with('.') && name.len() <= NAME_BYTES_MAX && !name.contains(is_odd)
}

/// The directories that a path lies in.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// What asks for a path.
fn target(path: &str) -> String {
    let mut target = String::with_capacity(path.len() + 1);
    target.push('/');
    for byte in path.bytes() {
        // The pchar of RFC 3986 section 3.3, and the slash.
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte) {
            target.push(char::from(byte));
        } else {
            write!(target, "%{byte:02X}").expect("a string takes all");
        }
    }
    target
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Targets and sizes of a log, and the targets and sizes that are made of each.
    #[test]
    fn targets_become_the_files_that_a_server_takes_for_them() {
        type Row<'r> = (&'r [(&'r str, u64)], &'r [Option<(&'r str, u64)>]);
        let long = format!("/{}", "a".repeat(NAME_BYTES_MAX + 1));
        let deep = format!("/{}a", "a/".repeat(PATH_BYTES_MAX / 2));
        let rows: [Row<'_>; 12] = [
            (&[("/a/b.html", 1), ("/c", 0)], &[Some(("/a/b.html", 1)), Some(("/c", 0))]),
            // Directories are their index.
            (&[("/", 7)], &[Some(("/index.html", 7))]),
            (
                &[("/a/", 1), ("/a/index.html", 3), ("/a", 2), ("/a/b", 4)],
                &[
                    Some(("/a/index.html", 3)),
                    Some(("/a/index.html", 3)),
                    Some(("/a/index.html", 3)),
                    Some(("/a/b", 4)),
                ],
            ),
            (
                &[("/a/index.html/x", 1), ("/a", 2)],
                &[Some(("/a/index.html/x", 1)), Some(("/a/index.html/index.html", 2))],
            ),
            // What is left out makes no directory of another.
            (&[("/a/.b", 1), ("/a", 2)], &[None, Some(("/a", 2))]),
            // A query is the script's that is no script here.
            (
                &[("/a?b=/../c", 5), ("/a", 3), ("/?x", 1)],
                &[Some(("/a", 5)), Some(("/a", 5)), Some(("/index.html", 1))],
            ),
            (
                &[("/%7Ea/%c3%a9%20x", 1), ("/~a", 2)],
                &[Some(("/~a/%C3%A9%20x", 1)), Some(("/~a/index.html", 2))],
            ),
            (&[("/a%3Fb[1]", 1)], &[Some(("/a%3Fb%5B1%5D", 1))]),
            (
                &[("//a//b", 1), ("/./c/../a/b", 2), ("/a/..", 3)],
                &[Some(("/a/b", 2)), Some(("/a/b", 2)), Some(("/index.html", 3))],
            ),
            (
                &[("/../a", 1), ("/%2e%2e/a", 1), ("/a%2fb", 1), ("/a%", 1), ("/%zz", 1)],
                &[None, None, None, None, None],
            ),
            (
                &[("/.htaccess", 1), ("/a/.b/c", 1), ("/a%00", 1), ("/a%5Cb", 1), ("/%FF", 1)],
                &[None, None, None, None, None],
            ),
            (&[(&long, 1), (&deep, 1)], &[None, None]),
        ];
        for (logged, expected) in rows {
            let logged = logged.iter().map(|(target, bytes)| File::sized(*target, *bytes));
            let logged = Files::new(logged.collect(), false);
            let (files, of) = made(&logged);
            assert!(files.is_made);
            let seen: Vec<_> = of
                .iter()
                .map(|id| id.map(|id| files.file(id)))
                .map(|file| file.map(|file| (&*file.target, file.bytes.expect("it is known"))))
                .collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn what_has_no_size_is_left_out() {
        let logged = vec![
            File::unknown("/a"),
            File::unknown("/b/c"),
            File::sized("/b", 1),
            File::unknown("/b?"),
        ];
        let (files, of) = made(&Files::new(logged, false));
        assert_eq!(files, Files::new(vec![File::sized("/b", 1)], true));
        assert_eq!(of, [None, None, Some(FileId(0)), Some(FileId(0))], "but what another tells of");
    }

    /// A made site is its own log.
    #[test]
    fn what_is_made_is_made_as_it_is() {
        let targets = ["/index.html", "/a/b", "/~a/%C3%A9%20x", "/a%3Fb%5B1%5D", "/a%25"];
        let files = Files::new(targets.map(|target| File::sized(target, 9)).into(), true);
        let (again, of) = made(&files);
        assert_eq!(again, files);
        assert_eq!(of, (0..5).map(|id| Some(FileId(id))).collect::<Vec<_>>());
    }
}
