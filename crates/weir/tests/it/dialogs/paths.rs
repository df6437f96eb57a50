//! From target to file, and what must never be reached: RFC 3986 sections 2 and 5.2.4.

use crate::dialogs::row::Step::Get;
use crate::dialogs::row::{End, Row, ok, status};

/// Each of these is outside of the root, hidden, or no regular file; all are simply not there.
macro_rules! absent {
    ($($name:literal $cites:literal $target:literal,)*) => {
        &[$(&Row {
            name: $name,
            cites: $cites,
            send: &[Get($target, "")],
            expect: &[status(404).lacks(&["etag", "location"])],
            end: End::Open,
        },)*]
    };
}

/// The file at the second path is served for the first.
macro_rules! served {
    ($($name:literal $cites:literal $target:literal $path:literal,)*) => {
        &[$(&Row {
            name: $name,
            cites: $cites,
            send: &[Get($target, "")],
            expect: &[ok($path)],
            end: End::Open,
        },)*]
    };
}

/// Malformed: the connection stays, because the framing is not in doubt.
macro_rules! malformed {
    ($($name:literal $cites:literal $target:literal,)*) => {
        &[$(&Row {
            name: $name,
            cites: $cites,
            send: &[Get($target, "")],
            expect: &[status(400)],
            end: End::Open,
        },)*]
    };
}

pub(crate) const ABSENT: &[&Row] = absent! {
    "a dotfile is hidden" "dotfiles" "/.hidden",
    "a dotfile is hidden in its encoded form" "dotfiles" "/%2ehidden",
    "what lies in a hidden directory is hidden" "dotfiles" "/.git/config",
    "a hidden directory is not redirected to" "dotfiles" "/.git",
    "a dotfile deeper down is hidden" "dotfiles" "/dir/.htaccess",
    "a dotfile in .well-known is hidden" "dotfiles, 8615" "/.well-known/.secret",
    "a name that starts with two dots is hidden" "dotfiles" "/names/..double",
    "a link out of the root is not followed" "symlinks beneath the root" "/link-out",
    "a link to a directory out of the root is not followed" "symlinks beneath the root"
        "/link-out-dir/secret.txt",
    "a link to a directory out of the root is not redirected to" "symlinks beneath the root"
        "/link-out-dir",
    "an absolute link is not followed" "symlinks beneath the root" "/link-absolute",
    "a link into /proc is not followed" "symlinks beneath the root" "/link-proc/etc/passwd",
    "a link to itself ends" "symlinks beneath the root" "/link-loop",
    "a link to nothing is not there" "symlinks beneath the root" "/link-dangling",
    "a FIFO is not served and blocks nobody" "regular files only" "/fifo",
    "a socket is not served" "regular files only" "/socket",
    "a file is no directory" "9110 15.5.5" "/digits.txt/index.html",
    "an encoded percent sign is not decoded twice" "3986 2.4" "/%252e%252e/secret.txt",
    "dots beyond a hidden name do not hide it" "dotfiles" "/dir/../.git/config",
    "an encoded backslash does not lead out of the root" "3986 2.5" "/..%5csecret.txt",
    "overlong dots are no dots" "3986 2.5, 3629 3" "/%c0%ae%c0%ae/secret.txt",
    "octets that are not UTF-8 belong to the name" "3986 2.5" "/%ff",
    "an encoded line break belongs to the name" "3986 2.5" "/digits.txt%0d%0aX:y",
    "a system file behind many slashes is not there" "path translation" "///etc/passwd",
};

pub(crate) const SERVED: &[&Row] = served! {
    "dot segments are taken away" "3986 5.2.4" "/./deep/../digits.txt" "/digits.txt",
    "encoded dot segments are taken away" "3986 6.2.2" "/deep/%2e%2E/digits.txt" "/digits.txt",
    "empty segments are taken away" "path translation" "//deep//er/file.txt" "/deep/er/file.txt",
    "a space is encoded" "3986 2.1" "/names/a%20b.txt" "/names/a b.txt",
    "a percent sign is encoded" "3986 2.1" "/names/a%25b.txt" "/names/a%b.txt",
    "a plus is a plus" "3986 2.2" "/names/a+b.txt" "/names/a+b.txt",
    "an encoded question mark belongs to the name" "3986 2.2" "/names/q%3F.txt" "/names/q?.txt",
    "octets above ASCII are encoded" "3986 2.5" "/names/%C3%A4.txt" "/names/\u{e4}.txt",
    "hexadecimal digits in lower case" "3986 2.1" "/names/%c3%a4.txt" "/names/\u{e4}.txt",
    "an encoded backslash belongs to the name" "3986 2.5" "/names/a%5cb.txt" "/names/a\\b.txt",
    "letters may be encoded" "3986 6.2.2.2" "/%64igits.txt" "/digits.txt",
    "a semicolon belongs to the name" "3986 3.3" "/names/a;b.txt" "/names/a;b.txt",
    "sub-delimiters belong to the name" "3986 3.3" "/names/a&b=c.txt" "/names/a&b=c.txt",
    "a tilde is not reserved" "3986 2.3" "/names/%7ea~b.txt/../a~b.txt" "/names/a~b.txt",
    "three dots are a name" "3986 5.2.4" "/names/three...dots" "/names/three...dots",
    ".well-known is served" "8615" "/.well-known/security.txt" "/.well-known/security.txt",
    "a link within the root is followed" "symlinks beneath the root" "/link-file" "/digits.txt",
    "a link to a directory within the root is followed" "symlinks beneath the root"
        "/link-dir/other.txt" "/dir/other.txt",
    "a link with dots that stays within the root is followed" "symlinks beneath the root"
        "/deep/link-up" "/digits.txt",
};

pub(crate) const MALFORMED: &[&Row] = malformed! {
    "an encoded NUL is refused" "3986 7.3" "/digits.txt%00.html",
    "an encoded slash is refused" "3986 2.2, 6.2.2" "/deep%2fer/file.txt",
    "an encoded slash does not lead out of the root" "3986 2.2" "/..%2fsecret.txt",
    "a percent sign without digits is refused" "3986 2.1" "/digits%.txt",
    "a percent sign with one digit is refused" "3986 2.1" "/digits.txt%4",
    "a percent sign with other letters is refused" "3986 2.1" "/%zz",
    "dots that lead out of the root" "3986 5.2.4" "/../secret.txt",
    "dots that lead out of the root and back" "3986 5.2.4" "/../root/digits.txt",
    "dots that lead out of the root from deep within" "3986 5.2.4"
        "/deep/er/../../../secret.txt",
    "dots that lead into a directory beside the root with a like name" "3986 5.2.4"
        "/../root-evil/secret.txt",
    "encoded dots that lead out of the root" "3986 6.2.2.2" "/%2e%2E/secret.txt",
    "dots in absolute-form" "3986 5.2.4" "http://a/../secret.txt",
    "a backslash is refused, because browsers read it as a slash" "3986 2" "/names/a\\b.txt",
    "a backslash does not lead out of the root" "3986 2" "/..\\secret.txt",
};
