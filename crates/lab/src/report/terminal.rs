//! The answer for a terminal: what came out, in a few lines. The page has the rest.

use super::text;
use crate::page::Page;

/// Of a long answer, its begin and its end, where a page says what does not count.
const FIRST: usize = 10;
const LAST: usize = 6;

/// As it is printed.
#[must_use]
pub fn page(page: &Page) -> String {
    let mut lines = Vec::new();
    if let several @ [_, _, ..] = page.sections.as_slice() {
        for section in several.iter().filter(|section| !section.answer.is_empty()) {
            lines.push(format!("{}:", section.title));
            few(&mut lines, &section.answer);
            lines.push(String::new());
        }
    }
    few(&mut lines, &page.summary);
    lines.iter().map(|line| text::filled(&text::clean(line), "")).collect()
}

fn few(lines: &mut Vec<String>, all: &[String]) {
    if all.len() <= FIRST + LAST + 1 {
        return lines.extend_from_slice(all);
    }
    let (first, rest) = all.split_at(FIRST);
    let (left_out, last) = rest.split_at(rest.len() - LAST);
    lines.extend_from_slice(first);
    lines.push(format!("({} lines more on the page)", left_out.len()));
    lines.extend_from_slice(last);
}
