use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use os::users::TABLE_BYTES_MAX;

/// Where users are at home (passwd(5)). The table is read once and again when it has changed, so
/// that names which clients invent cost nothing. Accounts that only a network directory knows are
/// not found.
pub(crate) struct Homes {
    table: PathBuf,
    known: Mutex<Option<Known>>,
}

struct Known {
    version: Version,
    homes: Arc<HashMap<Vec<u8>, PathBuf>>,
}

/// Equal as long as the table is the same: device, inode, size, and when it was last changed.
type Version = (u64, u64, u64, i64, i64);

impl Homes {
    pub(crate) fn new(table: &Path) -> Self {
        Self { table: table.to_path_buf(), known: Mutex::new(None) }
    }

    /// The home of a user who is not the superuser. May block.
    pub(crate) fn of(&self, user: &[u8]) -> Option<PathBuf> {
        let version = version_of(&fs::metadata(&self.table).ok()?);
        let mut known = self.known.lock().expect("nobody panics while holding it");
        let homes = match &*known {
            Some(known) if known.version == version => Arc::clone(&known.homes),
            _ => match (os::read_file(&self.table, TABLE_BYTES_MAX), &*known) {
                (Ok(text), _) => {
                    let homes = Arc::new(parse(&text));
                    *known = Some(Known { version, homes: Arc::clone(&homes) });
                    homes
                }
                // A process that has confined itself reads only the table that was there then.
                (Err(_), Some(known)) => Arc::clone(&known.homes),
                (Err(_), None) => return None,
            },
        };
        drop(known);
        homes.get(user).cloned()
    }
}

fn version_of(stat: &Metadata) -> Version {
    (stat.dev(), stat.ino(), stat.size(), stat.ctime(), stat.ctime_nsec())
}

/// `name:password:UID:GID:comment:home:shell` on each line. The first of several lines for a name
/// holds. What the superuser has at home is for nobody else.
fn parse(text: &[u8]) -> HashMap<Vec<u8>, PathBuf> {
    let mut homes = HashMap::new();
    for line in text.split(|&byte| byte == b'\n') {
        let fields: Vec<_> = line.split(|&byte| byte == b':').collect();
        let &[name, _, uid, _, _, home, _] = &fields[..] else { continue };
        if name.is_empty() || uid == b"0" || !home.starts_with(b"/") {
            continue;
        }
        let home = PathBuf::from(std::ffi::OsStr::from_bytes(home));
        homes.entry(name.to_vec()).or_insert(home);
    }
    homes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_table() {
        let text = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\n\
            # comment\n\nbob:x:1001:1001::relative:/bin/sh\nann:x:1002:1::/other:/bin/sh\n\
            :x:1:1::/none:\nlast:x:7:7::/l:/bin/false";
        let homes = parse(text.as_bytes());
        let rows =
            [("ann", Some("/home/ann")), ("last", Some("/l")), ("root", None), ("bob", None)];
        for (name, home) in rows {
            assert_eq!(homes.get(name.as_bytes()).map(PathBuf::as_path), home.map(Path::new));
        }
        assert_eq!(homes.len(), 2);
    }

    #[test]
    fn the_table_is_read_again_when_it_has_changed() {
        let place = tempfile::TempDir::new().unwrap();
        let table = place.path().join("passwd");
        let homes = Homes::new(&table);
        assert_eq!(homes.of(b"ann"), None);
        for home in ["/one", "/another"] {
            fs::write(&table, format!("ann:x:1:1::{home}:\n")).unwrap();
            assert_eq!(homes.of(b"ann"), Some(home.into()));
        }
        fs::remove_file(&table).unwrap();
        assert_eq!(homes.of(b"ann"), None);
    }
}
