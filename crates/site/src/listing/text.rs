//! Names in a page, so that they look like what they are.

/// Adds text to an element or an attribute. What [hides](hides) and a backslash are written as in
/// Rust, `\u{202E}` and `\\`.
pub(super) fn add_html(page: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => *page += "&amp;",
            '<' => *page += "&lt;",
            '>' => *page += "&gt;",
            '"' => *page += "&quot;",
            '\'' => *page += "&#39;",
            '\\' => *page += "\\\\",
            c if hides(c) => *page += &format!("\\u{{{:X}}}", u32::from(c)),
            c => page.push(c),
        }
    }
}

/// Adds text as a string (RFC 8259 section 7).
pub(super) fn add_json(page: &mut String, text: &str) {
    page.push('"');
    for c in text.chars() {
        match c {
            '"' => *page += "\\\"",
            '\\' => *page += "\\\\",
            c if hides(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    *page += &format!("\\u{unit:04x}");
                }
            }
            c => page.push(c),
        }
    }
    page.push('"');
}

/// Whether it is a control character, or is not seen itself and may have others seen in another
/// order: `evil\u{202E}gpj.exe` would look like `evilexe.jpg`. Those two that join letters and
/// emoji are what they seem, U+200C and U+200D.
fn hides(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{AD}'
                | '\u{61C}'
                | '\u{180E}'
                | '\u{200B}'
                | '\u{200E}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{FEFF}'
                | '\u{FFF9}'..='\u{FFFB}'
                | '\u{E0000}'..='\u{E007F}'
        )
}
