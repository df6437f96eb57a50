use load::workload::{Workload, urls::Urls};

/// A list of URLs: whatever is read can be sent in a request line as it is, each file is there for
/// a line, and a list of the targets alone is read as the same files.
///
/// # Panics
/// Where one of these does not hold.
pub fn urls(data: &[u8]) {
    let Ok(list) = Urls::parse(data) else { return };
    let files = list.files();
    assert!(files.count() > 0 && files.count() <= data.len(), "a file for a line");
    let mut targets = String::new();
    for (_, file) in files.iter() {
        let is_plain = file.target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        assert!(is_plain && file.target.starts_with('/'), "{:?} cannot be sent", file.target);
        targets.push_str(&file.target);
        targets.push('\n');
    }
    let again = Urls::parse(targets.as_bytes()).expect("its own targets");
    assert_eq!(again.files(), files, "targets are read as they are");
    let shares: f64 = list.model().shares.iter().sum();
    assert!((shares - 1.0).abs() < 1e-6, "the shares add up to {shares}");
}
