//! The page cache (Pariag07 table 1, `file system cache`).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::columns;
use crate::Failure;

/// The page cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Of the whole machine, when it began.
    pub page_cache_before_bytes: u64,
    /// Of the whole machine, at the end.
    pub page_cache_bytes: u64,
    /// Of the server's control group for memory, at the end; `None`: it has none.
    pub group_page_cache_bytes: Option<u64>,
}

impl Memory {
    pub(super) fn new(before: u64, now: u64, groups: &[PathBuf]) -> Self {
        let of_group = groups.iter().find_map(|group| {
            let text = std::fs::read_to_string(group.join("memory.stat")).ok()?;
            // Version 2, and version 1 with the groups below it.
            columns::line(&text, "file").or_else(|| columns::line(&text, "total_cache"))
        });
        Self {
            page_cache_before_bytes: before,
            page_cache_bytes: now,
            group_page_cache_bytes: of_group,
        }
    }
}

pub(super) fn page_cache_bytes() -> Result<u64, Failure> {
    let path = "/proc/meminfo";
    let text = std::fs::read_to_string(path).map_err(|e| Failure::machine(path, e))?;
    let kilobytes = columns::line(&text, "Cached");
    let kilobytes = kilobytes.ok_or_else(|| Failure::machine(path, "does not tell Cached"))?;
    Ok(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_read() {
        let home = tempfile::tempdir().unwrap();
        let rows = [
            ("cache 1\nrss 2\ntotal_cache 300\n", Some(300)),
            ("anon 4096\nfile 8192\nkernel 1\n", Some(8192)),
            ("anon 4096\n", None),
        ];
        for (text, expected) in rows {
            std::fs::write(home.path().join("memory.stat"), text).unwrap();
            let groups = ["/nowhere".into(), home.path().into()];
            assert_eq!(Memory::new(1, 2, &groups).group_page_cache_bytes, expected, "{text}");
        }
        assert!(page_cache_bytes().unwrap() > 0);
    }
}
