//! The page for a forge: the same text and tables, with the figures as links to their files.

use super::{Drawing, agrees, figure, text};
use crate::claim::HOW_SURE;
use crate::page::{Page, Section, Table};

/// `drawings` are [those of the page](super::drawings).
pub fn page(page: &Page, drawings: &[Vec<Drawing>]) -> String {
    let mut blocks = vec![format!("# {}\n", text::markdown(&page.title))];
    blocks.extend(paragraphs(&page.summary));
    for (part, drawings) in page.sections.iter().zip(drawings) {
        section(&mut blocks, part, drawings);
    }
    if !page.facts.is_empty() {
        blocks.push("## How it was measured\n".into());
    }
    for (title, facts) in &page.facts {
        let rows = facts.iter().map(|(name, value)| vec![name.clone(), value.clone()]);
        let head = vec![title.clone(), String::new()];
        blocks.extend(table(&Table { head, rows: rows.collect(), ..Table::default() }));
    }
    blocks.join("\n")
}

fn section(blocks: &mut Vec<String>, section: &Section, drawings: &[Drawing]) {
    blocks.push(format!("## {}\n", text::markdown(&section.title)));
    blocks.extend(paragraphs(&section.question));
    blocks.extend(paragraphs(&section.answer));
    if !section.comparisons.is_empty() {
        blocks.push("### Beside the papers\n".into());
        let head =
            ["The paper's figure", "What the paper reports", "What was measured here", "Agrees"];
        let rows = section.comparisons.iter().map(|of| {
            vec![of.of.clone(), of.paper.clone(), of.here.clone(), agrees(of.agrees).into()]
        });
        let head = head.map(String::from).to_vec();
        let notes = vec![String::from(HOW_SURE)];
        blocks.extend(table(&Table { head, rows: rows.collect(), notes, ..Table::default() }));
    }
    for (figure, drawing) in section.figures.iter().zip(drawings) {
        let told = text::markdown(&figure::alternative(figure));
        blocks.push(text::filled(&format!("![{told}]({}.svg)", drawing.stem), ""));
    }
    for part in &section.tables {
        blocks.extend(table(part));
    }
    if !section.excluded.is_empty() {
        blocks.push("### What does not count\n".into());
        let lines = section.excluded.iter().map(|line| text::filled(&text::markdown(line), "- "));
        blocks.push(lines.collect());
    }
    if !section.commands.is_empty() {
        blocks.push("### To do the same\n".into());
        blocks.push(text::fenced(&section.commands));
    }
}

fn table(table: &Table) -> Vec<String> {
    let title =
        (!table.title.is_empty()).then(|| format!("### {}\n", text::markdown(&table.title)));
    let columns = table.rows.iter().map(Vec::len).chain([table.head.len()]).max().unwrap_or(0);
    let mut lines = String::new();
    if columns > 0 {
        lines += &row(&table.head, columns);
        lines += &format!("|{}\n", "---|".repeat(columns));
        lines.extend(table.rows.iter().map(|cells| row(cells, columns)));
    }
    let lines = (!lines.is_empty()).then_some(lines);
    title.into_iter().chain(lines).chain(paragraphs(&table.notes)).collect()
}

fn row(cells: &[String], columns: usize) -> String {
    let cells = (0..columns).map(|column| cells.get(column).map_or("", |cell| cell));
    let cells = cells.map(|cell| format!(" {} |", text::markdown(cell)));
    format!("|{}\n", cells.collect::<String>())
}

fn paragraphs(paragraphs: &[String]) -> impl Iterator<Item = String> {
    paragraphs.iter().map(|paragraph| text::filled(&text::markdown(paragraph), ""))
}
