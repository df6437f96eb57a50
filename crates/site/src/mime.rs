//! Media types by the ending of a file's name: those that the operator sets, then a table (IANA's
//! registry of media types).

use std::borrow::Cow;
use std::sync::Arc;

use h1::Coding;

/// What is known of a kind of file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Media {
    /// For `Content-Type`.
    pub(crate) text: Cow<'static, str>,
    /// Whether it is worth compressing, so that precompressed siblings are looked for.
    pub(crate) compresses: bool,
}

/// Media types that the operator sets for the files of one place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Types(Arc<[(Vec<u8>, Media)]>);

impl Types {
    /// `written` holds the types of each rule, in the order of the rules: for an ending without its
    /// dot, or `*` for every name, a media type.
    pub(crate) fn new<'r>(written: impl Iterator<Item = &'r [(String, String)]>) -> Self {
        let mut types = Vec::new();
        for rule in written {
            let begin = types.len();
            types.extend(rule.iter().map(|(ending, text)| match &**ending {
                "*" => (Vec::new(), Media::written(text)),
                _ => ([b".", ending.as_bytes()].concat(), Media::written(text)),
            }));
            // The last one that fits a name holds.
            types[begin..].sort_by_key(|(ending, _)| ending.len());
        }
        Self(types.into())
    }

    /// The kind of the file with this name, or with this path.
    pub(crate) fn of(&self, name: &[u8]) -> Media {
        let fits = |ending: &[u8]| {
            let at = name.len().checked_sub(ending.len());
            at.is_some_and(|at| name[at..].eq_ignore_ascii_case(ending))
        };
        let set = self.0.iter().rev().find(|(ending, _)| fits(ending));
        set.map_or_else(|| in_table(name), |(_, media)| media.clone())
    }
}

impl Media {
    /// Of a type that the operator writes. Text is worth compressing (RFC 6839 names the suffixes).
    fn written(text: &str) -> Self {
        let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_lowercase();
        let kind = essence(text);
        let known = TABLE.iter().find(|(_, text, _)| essence(text) == kind);
        let is_text = |kind: &str| {
            kind.starts_with("text/") || kind.ends_with("+json") || kind.ends_with("+xml")
        };
        let compresses = known.map_or_else(|| is_text(&kind), |(.., compresses)| *compresses);
        Self { text: Cow::Owned(text.into()), compresses }
    }
}

/// The coding that a file with this name has by itself: `.svgz` names compressed SVG, which
/// browsers show only where the reply names the coding (SVG 1.1, section 1.2).
pub(crate) fn coding_of(name: &[u8]) -> Option<Coding> {
    let at = name.len().checked_sub(SVGZ.len())?;
    name[at..].eq_ignore_ascii_case(SVGZ).then_some(Coding::Gzip)
}

const SVGZ: &[u8] = b".svgz";

/// A name without a known ending is bytes that no client should guess at.
fn in_table(name: &[u8]) -> Media {
    let name = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
    let Some(dot) = name.iter().rposition(|&byte| byte == b'.') else { return UNKNOWN };
    let ending = &name[dot + 1..];
    let mut lower = [0; ENDING_BYTES_MAX];
    let Some(lower) = lower.get_mut(..ending.len()) else { return UNKNOWN };
    lower.copy_from_slice(ending);
    lower.make_ascii_lowercase();
    match TABLE.binary_search_by_key(&&*lower, |(ending, ..)| ending.as_bytes()) {
        Ok(place) => Media { text: Cow::Borrowed(TABLE[place].1), compresses: TABLE[place].2 },
        Err(_) => UNKNOWN,
    }
}

const UNKNOWN: Media = Media { text: Cow::Borrowed("application/octet-stream"), compresses: false };

/// Bytes of the longest ending in the table.
const ENDING_BYTES_MAX: usize = 11;

const COMPRESSES: bool = true;
const DENSE: bool = false;

/// Sorted by ending. Everything that is text says so in UTF-8: a page in another charset names it
/// in itself, and a browser told nothing would guess.
#[rustfmt::skip]
const TABLE: &[(&str, &str, bool)] = &[
    ("3gp", "video/3gpp", DENSE),
    ("7z", "application/x-7z-compressed", DENSE),
    ("aac", "audio/aac", DENSE),
    ("apk", "application/vnd.android.package-archive", DENSE),
    ("apng", "image/apng", DENSE),
    ("atom", "application/atom+xml; charset=utf-8", COMPRESSES),
    ("avi", "video/x-msvideo", DENSE),
    ("avif", "image/avif", DENSE),
    ("bin", "application/octet-stream", DENSE),
    ("bmp", "image/bmp", COMPRESSES),
    ("br", "application/octet-stream", DENSE),
    ("bz2", "application/x-bzip2", DENSE),
    ("c", "text/plain; charset=utf-8", COMPRESSES),
    ("cjs", "text/javascript; charset=utf-8", COMPRESSES),
    ("conf", "text/plain; charset=utf-8", COMPRESSES),
    ("cpp", "text/plain; charset=utf-8", COMPRESSES),
    ("crt", "application/x-x509-ca-cert", COMPRESSES),
    ("css", "text/css; charset=utf-8", COMPRESSES),
    ("csv", "text/csv; charset=utf-8", COMPRESSES),
    ("cur", "image/vnd.microsoft.icon", COMPRESSES),
    ("deb", "application/vnd.debian.binary-package", DENSE),
    ("doc", "application/msword", DENSE),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", DENSE),
    ("eot", "application/vnd.ms-fontobject", COMPRESSES),
    ("eps", "application/postscript", COMPRESSES),
    ("epub", "application/epub+zip", DENSE),
    ("flac", "audio/flac", DENSE),
    ("geojson", "application/geo+json; charset=utf-8", COMPRESSES),
    ("gif", "image/gif", DENSE),
    ("glb", "model/gltf-binary", COMPRESSES),
    ("gltf", "model/gltf+json", COMPRESSES),
    ("gz", "application/gzip", DENSE),
    ("h", "text/plain; charset=utf-8", COMPRESSES),
    ("heic", "image/heic", DENSE),
    ("htm", "text/html; charset=utf-8", COMPRESSES),
    ("html", "text/html; charset=utf-8", COMPRESSES),
    ("ico", "image/vnd.microsoft.icon", COMPRESSES),
    ("ics", "text/calendar; charset=utf-8", COMPRESSES),
    ("ini", "text/plain; charset=utf-8", COMPRESSES),
    ("iso", "application/x-iso9660-image", DENSE),
    ("jar", "application/java-archive", DENSE),
    ("jfif", "image/jpeg", DENSE),
    ("jpeg", "image/jpeg", DENSE),
    ("jpg", "image/jpeg", DENSE),
    ("js", "text/javascript; charset=utf-8", COMPRESSES),
    ("json", "application/json; charset=utf-8", COMPRESSES),
    ("jsonld", "application/ld+json; charset=utf-8", COMPRESSES),
    ("jxl", "image/jxl", DENSE),
    ("kml", "application/vnd.google-earth.kml+xml", COMPRESSES),
    ("log", "text/plain; charset=utf-8", COMPRESSES),
    ("m3u8", "application/vnd.apple.mpegurl; charset=utf-8", COMPRESSES),
    ("m4a", "audio/mp4", DENSE),
    ("m4s", "video/iso.segment", DENSE),
    ("m4v", "video/mp4", DENSE),
    ("map", "application/json; charset=utf-8", COMPRESSES),
    ("markdown", "text/markdown; charset=utf-8", COMPRESSES),
    ("md", "text/markdown; charset=utf-8", COMPRESSES),
    ("mid", "audio/midi", COMPRESSES),
    ("midi", "audio/midi", COMPRESSES),
    ("mjs", "text/javascript; charset=utf-8", COMPRESSES),
    ("mkv", "video/matroska", DENSE),
    ("mov", "video/quicktime", DENSE),
    ("mp3", "audio/mpeg", DENSE),
    ("mp4", "video/mp4", DENSE),
    ("mpd", "application/dash+xml; charset=utf-8", COMPRESSES),
    ("mpeg", "video/mpeg", DENSE),
    ("mpg", "video/mpeg", DENSE),
    ("odp", "application/vnd.oasis.opendocument.presentation", DENSE),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet", DENSE),
    ("odt", "application/vnd.oasis.opendocument.text", DENSE),
    ("oga", "audio/ogg", DENSE),
    ("ogg", "audio/ogg", DENSE),
    ("ogv", "video/ogg", DENSE),
    ("opus", "audio/ogg", DENSE),
    ("otf", "font/otf", COMPRESSES),
    ("pdf", "application/pdf", DENSE),
    ("png", "image/png", DENSE),
    ("ppt", "application/vnd.ms-powerpoint", DENSE),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", DENSE),
    ("ps", "application/postscript", COMPRESSES),
    ("py", "text/plain; charset=utf-8", COMPRESSES),
    ("rar", "application/vnd.rar", DENSE),
    ("rpm", "application/x-rpm", DENSE),
    ("rs", "text/plain; charset=utf-8", COMPRESSES),
    ("rss", "application/rss+xml; charset=utf-8", COMPRESSES),
    ("rtf", "application/rtf", COMPRESSES),
    ("sh", "text/plain; charset=utf-8", COMPRESSES),
    ("shtml", "text/html; charset=utf-8", COMPRESSES),
    ("srt", "application/x-subrip; charset=utf-8", COMPRESSES),
    ("svg", "image/svg+xml; charset=utf-8", COMPRESSES),
    ("svgz", "image/svg+xml; charset=utf-8", DENSE),
    ("tar", "application/x-tar", DENSE),
    ("tgz", "application/gzip", DENSE),
    ("tif", "image/tiff", DENSE),
    ("tiff", "image/tiff", DENSE),
    ("toml", "application/toml; charset=utf-8", COMPRESSES),
    ("torrent", "application/x-bittorrent", DENSE),
    ("ts", "video/mp2t", DENSE),
    ("ttf", "font/ttf", COMPRESSES),
    ("txt", "text/plain; charset=utf-8", COMPRESSES),
    ("vtt", "text/vtt; charset=utf-8", COMPRESSES),
    ("wasm", "application/wasm", COMPRESSES),
    ("wav", "audio/wav", DENSE),
    ("weba", "audio/webm", DENSE),
    ("webm", "video/webm", DENSE),
    ("webmanifest", "application/manifest+json; charset=utf-8", COMPRESSES),
    ("webp", "image/webp", DENSE),
    ("woff", "font/woff", DENSE),
    ("woff2", "font/woff2", DENSE),
    ("xhtml", "application/xhtml+xml; charset=utf-8", COMPRESSES),
    ("xls", "application/vnd.ms-excel", DENSE),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", DENSE),
    ("xml", "text/xml; charset=utf-8", COMPRESSES),
    ("xsl", "text/xml; charset=utf-8", COMPRESSES),
    ("xz", "application/x-xz", DENSE),
    ("yaml", "application/yaml; charset=utf-8", COMPRESSES),
    ("yml", "application/yaml; charset=utf-8", COMPRESSES),
    ("zip", "application/zip", DENSE),
    ("zst", "application/zstd", DENSE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_searched() {
        assert!(TABLE.is_sorted_by(|(one, ..), (other, ..)| one < other));
        assert_eq!(TABLE.iter().map(|(ending, ..)| ending.len()).max(), Some(ENDING_BYTES_MAX));
        for (ending, text, _) in TABLE {
            assert_eq!(in_table(format!("/a.b/c.{ending}").as_bytes()).text, *text);
        }
    }

    #[test]
    fn types_of_the_operator_win_and_the_last_that_fits_holds() {
        let rule = |types: &[(&str, &str)]| -> Vec<(String, String)> {
            types.iter().map(|(ending, text)| ((*ending).into(), (*text).into())).collect()
        };
        let first = rule(&[("m4s", "a/b"), ("*", "text/x"), ("tar.gz", "a/tar"), ("gz", "a/gz")]);
        let second = rule(&[("json", "application/json"), ("geo", "application/geo+json")]);
        let types = Types::new([&first[..], &second[..]].into_iter());
        let rows = [
            ("/a/apple-app-site-association", "text/x", true),
            ("/a/b.M4S", "a/b", false),
            ("/a/b.tar.gz", "a/tar", false),
            ("/a/b.gz", "a/gz", false),
            ("/a/b.json", "application/json", true),
            ("/a/b.geo", "application/geo+json", true),
            ("/a/b.png", "text/x", true),
            ("/a/m4s", "text/x", true),
        ];
        for (name, text, compresses) in rows {
            let media = types.of(name.as_bytes());
            assert_eq!((&*media.text, media.compresses), (text, compresses), "{name}");
        }
        // What a later rule says of every name holds for all that an earlier one names.
        let types = Types::new([&rule(&[("css", "a/css")])[..], &first].into_iter());
        assert_eq!(types.of(b"a.css").text, "text/x");
    }

    #[test]
    fn names_have_kinds() {
        let rows = [
            ("/index.html", "text/html; charset=utf-8"),
            ("/INDEX.HTML", "text/html; charset=utf-8"),
            ("/a.min.js", "text/javascript; charset=utf-8"),
            ("/photo.Jpeg", "image/jpeg"),
            ("/archive.tar.gz", "application/gzip"),
            ("/README", "application/octet-stream"),
            ("/dir.html/README", "application/octet-stream"),
            ("/dot.", "application/octet-stream"),
            ("/a.verylongending", "application/octet-stream"),
        ];
        for (name, text) in rows {
            assert_eq!(Types::default().of(name.as_bytes()).text, text, "{name}");
        }
    }
}
