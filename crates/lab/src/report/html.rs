//! The page for a browser: one file that needs no other, no script and no network.

use std::fmt::Write as _;

use super::{Drawing, agrees, table, text};
use crate::claim::HOW_SURE;
use crate::page::{Comparison, Page, Section, Table};

const STYLE: &str = include_str!("page.css");

/// Who wrote it, as such a page says it.
pub(super) const MARK: &str = "<meta name=\"generator\" content=\"weir lab\">";

/// `drawings` are [those of the page](super::drawings).
pub fn page(page: &Page, drawings: &[Vec<Drawing>]) -> String {
    let title = text::escaped(&page.title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{MARK}\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header>\n<h1>{title}</h1>\n"
    );
    paragraphs(&mut html, &page.summary);
    html.push_str("</header>\n");
    let ids = ids(page);
    contents(&mut html, page, &ids);
    for ((part, drawings), id) in page.sections.iter().zip(drawings).zip(&ids) {
        section(&mut html, part, drawings, id);
    }
    if !page.facts.is_empty() {
        html.push_str("<section id=\"facts\">\n<h2>How it was measured</h2>\n");
        for (title, facts) in &page.facts {
            let rows = facts.iter().map(|(name, value)| vec![name.clone(), value.clone()]);
            let (rows, title) = (rows.collect(), title.clone());
            plain_table(&mut html, &Table { title, rows, ..Table::default() }, "facts");
        }
        html.push_str("</section>\n");
    }
    html.push_str("</main>\n</body>\n</html>\n");
    html
}

/// Places in the page, of each section.
fn ids(page: &Page) -> Vec<String> {
    let ids = page.sections.iter().enumerate();
    ids.map(|(at, section)| format!("{}-{}", at + 1, text::slug(&section.name))).collect()
}

fn contents(html: &mut String, page: &Page, ids: &[String]) {
    let titles = page.sections.iter().zip(ids).map(|(section, id)| (&section.title[..], &id[..]));
    let facts = (!page.facts.is_empty()).then_some(("How it was measured", "facts"));
    let entries: Vec<_> = titles.chain(facts).collect();
    if entries.len() < 2 {
        return;
    }
    html.push_str("<nav aria-label=\"Contents\">\n<ol>\n");
    for (title, id) in entries {
        let title = text::escaped(title);
        put(html, format_args!("<li><a href=\"#{id}\">{title}</a></li>\n"));
    }
    html.push_str("</ol>\n</nav>\n");
}

fn section(html: &mut String, section: &Section, drawings: &[Drawing], id: &str) {
    let title = text::escaped(&section.title);
    put(html, format_args!("<section id=\"{id}\">\n<h2>{title}</h2>\n"));
    paragraphs(html, &section.question);
    if !section.answer.is_empty() {
        html.push_str("<div class=\"answer\">\n");
        paragraphs(html, &section.answer);
        html.push_str("</div>\n");
    }
    comparisons(html, &section.comparisons);
    for (figure, drawing) in section.figures.iter().zip(drawings) {
        put(
            html,
            format_args!("<figure id=\"figure-{}\">\n<div class=\"drawing\">\n", drawing.stem),
        );
        // An SVG within HTML needs no name space, and the page then names no other place.
        html.push_str(&drawing.svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1));
        let title = text::escaped(&figure.title);
        put(html, format_args!("</div>\n<figcaption>{title}</figcaption>\n<details>\n"));
        let numbers = table::of(figure);
        let title = text::escaped(&numbers.title);
        put(html, format_args!("<summary>{title}</summary>\n"));
        plain_table(html, &Table { title: String::new(), ..numbers }, "numbers");
        html.push_str("</details>\n</figure>\n");
    }
    for table in &section.tables {
        plain_table(html, table, "numbers");
    }
    if !section.excluded.is_empty() {
        html.push_str("<h3>What does not count</h3>\n<ul>\n");
        for line in &section.excluded {
            put(html, format_args!("<li>{}</li>\n", text::escaped(line)));
        }
        html.push_str("</ul>\n");
    }
    if !section.commands.is_empty() {
        let commands = text::escaped_lines(&section.commands.join("\n"));
        let what = "<h3>To do the same</h3>\n<pre><code>";
        put(html, format_args!("{what}{commands}\n</code></pre>\n"));
    }
    html.push_str("</section>\n");
}

fn comparisons(html: &mut String, comparisons: &[Comparison]) {
    if comparisons.is_empty() {
        return;
    }
    html.push_str(
        "<h3>Beside the papers</h3>\n<div class=\"wide\" tabindex=\"0\">\n\
         <table class=\"words\">\n<thead><tr>\
         <th scope=\"col\">The paper's figure</th><th scope=\"col\">What the paper reports</th>\
         <th scope=\"col\">What was measured here</th><th scope=\"col\">Agrees</th>\
         </tr></thead>\n<tbody>\n",
    );
    for comparison in comparisons {
        let of = text::escaped(&comparison.of);
        let (paper, here) = (text::escaped(&comparison.paper), text::escaped(&comparison.here));
        let agrees = agrees(comparison.agrees);
        put(
            html,
            format_args!(
                "<tr><th scope=\"row\">{of}</th><td>{paper}</td><td>{here}</td>\
                 <td><span class=\"{agrees}\">{agrees}</span></td></tr>\n"
            ),
        );
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
    put(html, format_args!("<p class=\"note\">{}</p>\n", text::escaped(HOW_SURE)));
}

fn plain_table(html: &mut String, table: &Table, class: &str) {
    if !table.title.is_empty() {
        put(html, format_args!("<h3>{}</h3>\n", text::escaped(&table.title)));
    }
    put(html, format_args!("<div class=\"wide\" tabindex=\"0\">\n<table class=\"{class}\">\n"));
    let side = |column| if has_numbers(table, column) { " class=\"n\"" } else { "" };
    if !table.head.is_empty() {
        html.push_str("<thead><tr>");
        for (column, cell) in table.head.iter().enumerate() {
            let (cell, side) = (text::escaped(cell), side(column));
            put(html, format_args!("<th scope=\"col\"{side}>{cell}</th>"));
        }
        html.push_str("</tr></thead>\n");
    }
    html.push_str("<tbody>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let (cell, side) = (text::escaped(cell), side(column));
            match column {
                0 => put(html, format_args!("<th scope=\"row\"{side}>{cell}</th>")),
                _ => put(html, format_args!("<td{side}>{cell}</td>")),
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
    for note in &table.notes {
        put(html, format_args!("<p class=\"note\">{}</p>\n", text::escaped(note)));
    }
}

/// Whether each cell of this column begins like a number: such columns are written to the right.
fn has_numbers(table: &Table, column: usize) -> bool {
    let cells = || table.rows.iter().filter_map(|row| row.get(column));
    let is_number = |cell: &str| {
        let digits = cell.trim_start_matches(['-', '−', '+', '±', '<', '>', '≈', ' ']);
        digits.starts_with(|c: char| c.is_ascii_digit()) || matches!(cell, "" | "–" | "inf")
    };
    let is_list = table.head.is_empty();
    !is_list && cells().any(|cell| !cell.is_empty()) && cells().all(|cell| is_number(cell))
}

fn paragraphs(html: &mut String, paragraphs: &[String]) {
    for paragraph in paragraphs {
        put(html, format_args!("<p>{}</p>\n", text::escaped(paragraph)));
    }
}

fn put(html: &mut String, what: std::fmt::Arguments<'_>) {
    html.write_fmt(what).expect("a string takes all");
}
