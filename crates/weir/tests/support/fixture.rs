//! The site that the tests are served from: made anew in a temporary directory, with every kind of
//! thing that can lie in a root.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

/// When every file was last changed: the date that RFC 9110 section 5.6.7 uses.
pub(crate) const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const MODIFIED_SECONDS: u64 = 784_111_777;

/// 36 bytes, each of which tells its place.
pub(crate) const DIGITS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Bytes of `/large.bin`: more than a window, not a multiple of anything.
pub(crate) const LARGE_BYTES: usize = (3 << 20) + 12_345;

pub(crate) struct Fixture {
    /// Holds the root and, beside it, what must never be served.
    home: TempDir,
}

/// Files of a few bytes whose content is of no interest, only that it is told apart.
const SMALL: &[&str] = &[
    ".hidden",
    ".git/config",
    ".well-known/security.txt",
    ".well-known/.secret",
    "bare/only.txt",
    "deep/er/file.txt",
    "dir/other.txt",
    "dir/.htaccess",
    "types/font.woff2",
    "types/image.avif",
    "types/image.jpeg",
    "types/image.png",
    "types/image.svg",
    "types/image.webp",
    "types/module.mjs",
    "types/noextension",
    "types/page.HTML",
    "types/program.wasm",
    "types/script.js",
    "types/style.css",
    "types/table.json",
    "types/text.md",
    "types/unknown.qqq",
    "odd %dir/index.html",
    "names/a b.txt",
    "names/a%b.txt",
    "names/a+b.txt",
    "names/a;b.txt",
    "names/a&b=c.txt",
    "names/a~b.txt",
    "names/a\\b.txt",
    "names/..double",
    "names/three...dots",
    "names/\u{e4}.txt",
    "names/q?.txt",
    "probe.txt",
];

impl Fixture {
    pub(crate) fn new() -> Self {
        let site = Self::small();
        let (home, root) = (site.home.path(), site.root());
        for name in SMALL {
            write(&root.join(name), format!("the content of {name}\n").as_bytes());
        }
        write(&root.join("empty.txt"), b"");
        write(&root.join("hundreds.bin"), &pattern(310));
        write(&root.join("coded/page.html"), b"the page itself, as it is");
        write(&root.join("coded/page.html.br"), b"page in br");
        write(&root.join("coded/page.html.zst"), b"page in zstd");
        write(&root.join("coded/page.html.gz"), b"page in gzip");
        write(&root.join("coded/style.css"), b"body { color: black }");
        write(&root.join("coded/style.css.gz"), b"style in gzip");
        write(&root.join("coded/orphan.txt.gz"), b"no file beside it");
        write(&root.join("coded/index.html"), b"the index itself");
        write(&root.join("coded/index.html.gz"), b"index in gzip");
        write(&root.join("coded/bare.txt"), b"without a sibling");
        write(&home.join("secret.txt"), b"SECRET");
        write(&home.join("root-evil/secret.txt"), b"SECRET");
        make_special(&root);
        make_links(&root);
        site
    }

    /// What most requests are for, made in a small part of the time that all takes.
    pub(crate) fn small() -> Self {
        let home = tempfile::Builder::new().prefix("weir-test-").tempdir().expect("a directory");
        let root = home.path().join("root");
        write(&root.join("index.html"), b"<!doctype html><title>weir</title>\n");
        write(&root.join("dir/index.html"), b"the index of a directory\n");
        write(&root.join("digits.txt"), DIGITS);
        write(&root.join("large.bin"), &pattern(LARGE_BYTES));
        Self { home }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.home.path().join("root")
    }

    /// A place beside the root, for whatever a test writes.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// What lies at `path`, which starts with a slash.
    pub(crate) fn content(&self, path: &str) -> Vec<u8> {
        let file = self.root().join(&path[1..]);
        fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }
}

/// Bytes without a short period, so that a part from the wrong place never looks right. At most
/// 20 MB.
pub(crate) fn pattern(count: usize) -> Vec<u8> {
    let byte = |at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8;
    static LONGEST: OnceLock<Vec<u8>> = OnceLock::new();
    LONGEST.get_or_init(|| (0..20 << 20).map(byte).collect())[..count].to_vec()
}

pub(crate) fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().expect("a file in a directory")).expect("its directory");
    fs::write(path, content).expect("a file");
    let file = File::options().write(true).open(path).expect("the file again");
    file.set_modified(UNIX_EPOCH + Duration::from_secs(MODIFIED_SECONDS)).expect("its date");
}

/// What is neither a file nor a directory. Opening the FIFO for reading would block for ever.
fn make_special(root: &Path) {
    let mode = Mode::from_raw_mode(0o644);
    mknodat(CWD, root.join("fifo"), FileType::Fifo, mode, 0).expect("a FIFO");
    drop(UnixListener::bind(root.join("socket")).expect("a socket"));
}

fn make_links(root: &Path) {
    for (name, target) in [
        ("link-file", "digits.txt"),
        ("link-dir", "dir"),
        ("deep/link-up", "../digits.txt"),
        ("link-out", "../secret.txt"),
        ("link-out-dir", ".."),
        ("link-absolute", "/etc/passwd"),
        ("link-loop", "link-loop"),
        ("link-dangling", "nowhere"),
        ("link-proc", "/proc/self/root"),
    ] {
        symlink(target, root.join(name)).expect("a symbolic link");
    }
}

/// Makes an empty file of settings in `directory`. With one, SIGHUP is a reload also where the
/// tests run in a terminal.
pub(crate) fn no_settings(directory: &Path) -> String {
    let file = directory.join("weir.toml");
    fs::write(&file, "").expect("written");
    file.to_str().expect("UTF-8").to_owned()
}
