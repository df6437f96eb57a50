//! Where a redirect leads: a path or a URI in which `$host`, `$path` and `$query` stand for what a
//! request asks for.

use h1::Status;

use crate::path;

/// A redirect's target, taken apart.
pub(crate) struct Redirect {
    /// Bytes of the rule's prefix, which the target takes the place of.
    prefix_bytes: usize,
    pub(crate) status: Status,
    /// Without query and fragment.
    to: Vec<Part>,
    /// These two, with their marks. The query of a request is put behind the target's own.
    end: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The name of the host that is asked for.
    Host,
    /// The whole path that is asked for.
    Path,
}

/// What other servers have, and what to write here.
const FOREIGN: [(&str, &str); 16] = [
    ("$request_uri", "`$path?$query`"),
    ("$uri", "`$path`"),
    ("$document_uri", "`$path`"),
    ("$args", "`$query`"),
    ("$query_string", "`$query`"),
    ("$is_args", "`?`"),
    ("$server_name", "`$host`"),
    ("$http_host", "`$host`"),
    ("$scheme", "`https` or `http`"),
    ("{host}", "`$host`"),
    ("{hostport}", "`$host`"),
    ("{http.request.host}", "`$host`"),
    ("{path}", "`$path`"),
    ("{query}", "`$query`"),
    ("{uri}", "`$path?$query`"),
    ("{scheme}", "`https` or `http`"),
];

impl Redirect {
    /// Reads the target of a rule whose prefix has so many bytes.
    ///
    /// # Errors
    /// What is wrong with it and what to write.
    pub(crate) fn new(prefix_bytes: usize, target: &str, status: Status) -> Result<Self, String> {
        if !matches!(status.0, 301 | 302 | 303 | 307 | 308) {
            let mend = "choose 301, 302, 303, 307 or 308";
            return Err(format!("{} does not lead elsewhere; {mend}", status.0));
        }
        // Browsers read a backslash as a slash, and two slashes as the beginning of a host.
        if target.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'\\') {
            return Err(format!("{target:?} holds what a URI cannot; encode that by %"));
        }
        let (to, end) = target.split_at(target.find(['?', '#']).unwrap_or(target.len()));
        let (to, end) = (parts(to)?, parts(&without_query(end))?);
        if !is_place(target) {
            let mend = "write a path that begins with a slash, or a whole URI";
            return Err(format!("{target} is no place; {mend}"));
        }
        let ends_before = |path: usize| match path.checked_sub(1).map(|before| &to[before]) {
            Some(Part::Text(text)) => !text.ends_with('/'),
            Some(Part::Path) => false,
            Some(Part::Host) | None => true,
        };
        let mut paths = (0..to.len()).filter(|at| to[*at] == Part::Path);
        if !paths.all(ends_before) {
            return Err("`$path` begins with a slash itself; leave out the one before it".into());
        }
        Ok(Self { prefix_bytes, status, to, end })
    }

    /// Whether it depends on the name of the host that is asked for.
    pub(crate) fn names_host(&self) -> bool {
        self.parts().any(|part| *part == Part::Host)
    }

    /// Where a path of a host leads, but for the query of its request.
    ///
    /// Without a `$path` the rest of the path goes along: what stands behind the prefix is empty or
    /// begins with one slash, and is put behind something that does not end with one. So does a
    /// `$path`: no path can name another host.
    pub(crate) fn location(&self, host: &[u8], path: &[u8]) -> Vec<u8> {
        let mut location = Vec::new();
        for part in &self.to {
            part.write(&mut location, host, || path::escape(path));
        }
        let rest = &path[self.prefix_bytes..];
        if !rest.is_empty() && self.parts().all(|part| *part != Part::Path) {
            while location.last() == Some(&b'/') {
                location.pop();
            }
            location.extend(path::escape(rest));
        }
        for part in &self.end {
            part.write(&mut location, host, || path::escape_as_value(path));
        }
        location
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.to.iter().chain(&self.end)
    }
}

impl Part {
    fn write(&self, location: &mut Vec<u8>, host: &[u8], path: impl FnOnce() -> Vec<u8>) {
        match self {
            // A path may end with a slash.
            Self::Text(text) if location.ends_with(b"/") => {
                location.extend_from_slice(text.strip_prefix('/').unwrap_or(text).as_bytes());
            }
            Self::Text(text) => location.extend_from_slice(text.as_bytes()),
            Self::Host => location.extend_from_slice(host),
            Self::Path => location.extend(path()),
        }
    }
}

fn is_place(target: &str) -> bool {
    let is_uri = target.split_once("://").is_some_and(|(scheme, rest)| {
        !rest.is_empty() && !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    target.starts_with('/') || target.starts_with("$path") || is_uri
}

/// Query and fragment without the `$query` at the end of the query: that of a request is put there
/// in any case.
fn without_query(end: &str) -> String {
    let (query, fragment) = end.split_at(end.find('#').unwrap_or(end.len()));
    let bare = query.strip_suffix("?$query").or_else(|| query.strip_suffix("&$query"));
    [bare.unwrap_or(query), fragment].concat()
}

fn parts(mut text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    while let Some(at) = text.find(['$', '{', '}']) {
        literal.push_str(&text[..at]);
        let word = word(&text[at..]);
        text = &text[at + word.len()..];
        let part = match word {
            "$$" => {
                literal.push('$');
                continue;
            }
            "$host" => Part::Host,
            "$path" => Part::Path,
            _ => return Err(unknown(word)),
        };
        parts.extend([Part::Text(std::mem::take(&mut literal)), part]);
    }
    literal.push_str(text);
    parts.push(Part::Text(literal));
    parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
    Ok(parts)
}

/// The word that a text begins with: a dollar and a name, or what stands in braces, or both.
fn word(text: &str) -> &str {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = match text.as_bytes() {
        [b'$', b'$', ..] => 2,
        [b'$', b'{', ..] => text.find('}').map_or(2, |end| end + 1),
        [b'$', ..] => 1 + text[1..].find(|c| !is_of_name(c)).unwrap_or(text.len() - 1),
        _ => text.find('}').map_or(1, |end| end + 1),
    };
    &text[..end]
}

fn unknown(word: &str) -> String {
    let bare = word.strip_prefix("${").and_then(|word| word.strip_suffix('}'));
    let bare = bare.map_or_else(|| word.to_owned(), |name| format!("${name}"));
    let known = FOREIGN.iter().find(|(foreign, _)| *foreign == bare);
    let is_number = word.strip_prefix('$').is_some_and(|name| name.parse::<u8>().is_ok());
    let mend = match (word, known) {
        (_, Some((_, ours))) => format!("write {ours}"),
        ("$query", _) => "it stands at the end of a query, behind `?` or `&`".into(),
        _ if word != bare && parts(&bare).is_ok() => format!("write `{bare}`"),
        ("$", _) => "write `$$` for a dollar".into(),
        ("{" | "}", _) => "write %7B for {, and %7D for }".into(),
        _ if is_number => "the rest of the path goes along by itself".into(),
        _ => "write `$host`, `$path`, `?$query`, or `$$` for a dollar".into(),
    };
    format!("{word} stands for nothing here; {mend}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_made_of_host_and_path() {
        let rows = [
            // Without a `$path` the rest of the path goes along.
            ("https://$host", "/", "/a/b", "https://a.test/a/b"),
            ("https://$host", "/", "/", "https://a.test/"),
            ("https://$host:8443/x/", "/", "/b", "https://a.test:8443/x/b"),
            ("https://www.$host", "/old", "/old/b", "https://www.a.test/b"),
            ("https://$host?$query", "/", "/b", "https://a.test/b"),
            ("https://$host$path", "/old", "/old/b", "https://a.test/old/b"),
            ("https://$host$path?$query", "/", "/b", "https://a.test/b"),
            ("/x$path?v=1&$query#f", "/", "/b", "/x/b?v=1#f"),
            ("/login?next=$path", "/a", "/a/b&c=d", "/login?next=/a/b%26c%3Dd"),
            ("/x?h=$host&$query", "/", "/b", "/x/b?h=a.test"),
            ("/$$5?a=$$query", "/", "/b", "/$5/b?a=$query"),
            ("$path.html", "/a", "/a", "/a.html"),
            ("$path/b", "/", "/", "/b"),
            ("$path/b", "/", "/a", "/a/b"),
        ];
        for (target, prefix, path, expected) in rows {
            let bytes = prefix.trim_end_matches('/').len();
            let redirect = Redirect::new(bytes, target, Status(301)).expect(target);
            let location = redirect.location(b"a.test", path.as_bytes());
            assert_eq!(String::from_utf8(location).unwrap(), expected, "{target}");
            assert_eq!(redirect.names_host(), target.contains("$host"), "{target}");
        }
    }

    #[test]
    fn what_stands_for_nothing_is_refused() {
        let rows = [
            ("https://$hosts", "$hosts stands for nothing here; write `$host`"),
            ("https://$host$request_uri", "write `$path?$query`"),
            ("$scheme://a.test", "write `https` or `http`"),
            ("${host}/a", "write `$host`"),
            ("https://${request_uri}", "write `$path?$query`"),
            ("/a\\b", "what a URI cannot"),
            ("https://a.test/$1", "goes along by itself"),
            ("https://{host}{path}", "{host} stands for nothing here; write `$host`"),
            ("https://a.test/{", "write %7B for {"),
            ("https://a.test/}", "} stands for nothing"),
            ("https://a.test/?a={x}b", "{x} stands for nothing"),
            ("https://a.test/$", "`$$` for a dollar"),
            ("https://a.test/?$query&a=b", "behind `?` or `&`"),
            ("https://a.test$query", "behind `?` or `&`"),
            ("https://$host/$path/", "leave out the one before it"),
            ("/$path", "leave out the one before it"),
            ("$path$path", "leave out the one before it"),
            ("https://$path", "leave out the one before it"),
            ("$host/a", "no place"),
        ];
        for (target, expected) in rows {
            let said = Redirect::new(0, target, Status(301)).map(drop).expect_err(target);
            assert!(said.contains(expected), "{target}: {said}");
        }
    }
}
