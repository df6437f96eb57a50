//! Rust text split into code, comments and literals, so that a rule about one of them is not
//! misled by the others: this program names forbidden words in strings without using them.

use std::ops::Range;

/// Three views of one file. Each has all of its lines and columns; what belongs to another view is
/// blank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) code: String,
    pub(crate) comments: String,
    pub(crate) literals: String,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Of the word `fn`, from 1.
    pub(crate) line: usize,
    /// From there to the closing brace, both included.
    pub(crate) lines: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

impl Source {
    pub(crate) fn split(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut source = Self {
            code: String::with_capacity(text.len()),
            comments: String::with_capacity(text.len()),
            literals: String::with_capacity(text.len()),
        };
        let mut at = 0;
        while at < chars.len() {
            let (part, end) = next_part(&chars, at);
            for &char in &chars[at..end] {
                source.push(part, char);
            }
            at = end;
        }
        source
    }

    /// The functions of the code, nested ones too, in the order of their beginnings.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let words: Vec<usize> = word_positions(&self.code, "fn").collect();
        words.into_iter().filter_map(|at| function(&self.code, at)).collect()
    }

    /// Names and bodies, as byte offsets in the code, of modules that are no files of their own.
    /// One that is around another comes first.
    pub(crate) fn inline_modules(&self) -> Vec<(String, Range<usize>)> {
        let words = word_positions(&self.code, "mod");
        let modules = words.filter_map(|at| {
            let after = self.code[at + 3..].trim_start();
            let name: String = after.chars().take_while(|&c| is_of_word(c)).collect();
            let opens = after[name.len()..].trim_start();
            let opens = self.code.len() - opens.strip_prefix('{')?.len() - 1;
            Some((name, opens..opens + brace_closes(&self.code[opens..])))
        });
        modules.collect()
    }

    fn push(&mut self, part: Part, char: char) {
        let views = [
            (Part::Code, &mut self.code),
            (Part::Comment, &mut self.comments),
            (Part::Literal, &mut self.literals),
        ];
        for (of, view) in views {
            view.push(if of == part || char == '\n' { char } else { ' ' });
        }
    }
}

/// Where `word` stands in `text` with no letter, digit or underscore beside it, as byte offsets.
pub(crate) fn word_positions<'t>(
    text: &'t str,
    word: &'t str,
) -> impl Iterator<Item = usize> + use<'t> {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
    })
}

/// The line of the byte at `at`, from 1.
pub(crate) fn line_at(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

fn is_of_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// What begins at `at`, and where it ends.
fn next_part(chars: &[char], at: usize) -> (Part, usize) {
    let rest = &chars[at..];
    let in_word = at > 0 && is_of_word(chars[at - 1]);
    let (part, length) = match rest {
        ['/', '/', ..] => (Part::Comment, until(rest, 0, |c| c == '\n')),
        ['/', '*', ..] => (Part::Comment, block_comment(rest)),
        ['"', ..] => (Part::Literal, quoted(rest, '"')),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => (Part::Literal, quoted(rest, '\'')),
        ['r', ..] if !in_word => raw_string(rest, 1),
        ['b' | 'c', 'r', ..] if !in_word => raw_string(rest, 2),
        _ => (Part::Code, 1),
    };
    (part, at + length)
}

fn until(rest: &[char], from: usize, ends: impl Fn(char) -> bool) -> usize {
    rest[from..].iter().position(|&c| ends(c)).map_or(rest.len(), |n| from + n)
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    rest.len().min(at + 1)
}

/// `r"…"`, `r#"…"#` and so on, whose prefix is `prefix` letters long; else it is code.
fn raw_string(rest: &[char], prefix: usize) -> (Part, usize) {
    let quote = until(rest, prefix, |c| c != '#');
    if rest.get(quote) != Some(&'"') {
        return (Part::Code, 1);
    }
    let hashes = quote - prefix;
    let mut at = quote + 1;
    while at < rest.len() {
        at = until(rest, at, |c| c == '"') + 1;
        if at + hashes <= rest.len() && rest[at..at + hashes].iter().all(|&c| c == '#') {
            return (Part::Literal, at + hashes);
        }
    }
    (Part::Literal, rest.len())
}

/// The function whose `fn` stands at `at`; nothing for a type like `fn(u8)` or a declaration.
fn function(code: &str, at: usize) -> Option<Function> {
    let after = code[at + 2..].trim_start();
    let name: String = after.chars().take_while(|&c| is_of_word(c)).collect();
    let opens = at + body_opens(&code[at..]).filter(|_| !name.is_empty())?;
    let closes = opens + brace_closes(&code[opens..]);
    let line = line_at(code, at);
    Some(Function { name, line, lines: line_at(code, closes) - line + 1 })
}

/// Where the body's brace is; nothing where a semicolon comes first, outside parentheses.
fn body_opens(signature: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in signature.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn brace_closes(body: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in body.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart() {
        let rows = [
            ("let x = 1;", "let x = 1;", "", ""),
            ("a // b", "a", "// b", ""),
            ("a /* b /* c */ d */ e", "a                   e", "/* b /* c */ d */", ""),
            (r#"f("a // b")"#, "f(        )", "", r#""a // b""#),
            (r#"f("\"", x)"#, "f(    , x)", "", r#""\"""#),
            ("r#\"a\"b\"# c", "         c", "", "r#\"a\"b\"#"),
            ("br\"\\\" c", "      c", "", "br\"\\\""),
            ("'\"' '\\'' 'a x", "         'a x", "", "'\"' '\\''"),
            ("for r in var\"a\"", "for r in var", "", "\"a\""),
            ("\"open", "", "", "\"open"),
        ];
        for (text, code, comments, literals) in rows {
            let source = Source::split(text);
            assert_eq!(source.code.trim_end(), code, "code of {text}");
            assert_eq!(source.comments.trim(), comments, "comments of {text}");
            assert_eq!(source.literals.trim(), literals, "literals of {text}");
        }
    }

    #[test]
    fn functions_are_measured() {
        type Expected = &'static [(&'static str, usize, usize)];
        let rows: [(&str, Expected); 5] = [
            ("fn a() {}", &[("a", 1, 1)]),
            (
                "\nfn a(\n    x: [u8; 2],\n) -> [u8; 3] {\n    fn b() {\n    }\n}\n",
                &[("a", 2, 6), ("b", 5, 2)],
            ),
            ("trait T { fn a(&self); }", &[]),
            ("type F = fn(u8) -> u8;", &[]),
            ("fn a() { f(\"}\"); // }\n}", &[("a", 1, 2)]),
        ];
        for (text, expected) in rows {
            let functions = Source::split(text).functions();
            let got: Vec<_> = functions.iter().map(|f| (&*f.name, f.line, f.lines)).collect();
            assert_eq!(got, expected, "{text}");
        }
    }
}
