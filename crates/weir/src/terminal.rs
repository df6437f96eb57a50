//! A line on a terminal that is written over by the next one.

use std::io;

/// Back to the beginning of a line that is empty (ECMA-48: CR, EL).
pub(crate) const CLEARED: &str = "\r\x1b[K";

/// Where nobody says how many there are.
const COLUMNS: u16 = 80;

/// How long a line on standard error may be: one that breaks cannot be written over. Asked each
/// time, as windows change.
pub(crate) fn columns() -> usize {
    let variable = std::env::var("COLUMNS").ok();
    within(os::terminal::columns(io::stderr()), variable.as_deref())
}

/// One less than there are: behind the last one some terminals begin a new line at once.
fn within(asked: Option<u16>, variable: Option<&str>) -> usize {
    let said = || variable?.parse().ok().filter(|columns| *columns > 0);
    let columns = asked.or_else(said).unwrap_or(COLUMNS);
    usize::from(columns).saturating_sub(1).max(1)
}

/// As one line of so many columns at most.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    let mut cut = String::new();
    let (mut used, mut fits) = (0, 0);
    for c in line.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        used += wide(c);
        if used > columns {
            cut.truncate(fits);
            cut.push('…');
            break;
        }
        cut.push(c);
        // With room for the mark.
        if used < columns {
            fits = cut.len();
        }
    }
    cut
}

/// The scripts of East Asia and pictures take two columns; of others that may, none is meant here.
fn wide(c: char) -> usize {
    if matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..) { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_an_end() {
        for (line, expected) in [
            ("", ""),
            ("abcd", "abcd"),
            ("abcde", "abc…"),
            ("µµµµ", "µµµµ"),
            ("a\nb\x1b", "a b "),
            ("水水", "水水"),
            ("水水a", "水…"),
            ("a水水", "a水…"),
            ("水水水", "水…"),
        ] {
            assert_eq!(cut(line, 4), expected, "{line:?}");
        }
        assert_eq!(cut("ab", 1), "…");
    }

    #[test]
    fn a_line_is_shorter_than_its_terminal() {
        let rows = [
            (Some(132), Some("60"), 131),
            (None, Some("60"), 59),
            (None, Some("0"), 79),
            (None, Some("wide"), 79),
            (None, None, 79),
            (Some(1), None, 1),
        ];
        for (asked, variable, expected) in rows {
            assert_eq!(within(asked, variable), expected, "{asked:?} {variable:?}");
        }
    }
}
